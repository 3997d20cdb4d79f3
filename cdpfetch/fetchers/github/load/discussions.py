"""Discussions, which only GraphQL has."""

from __future__ import annotations

from typing import Any

from cdpfetch.fetchers.github import fields
from cdpfetch.fetchers.github.failures import TOKEN_HINT, NotFound
from cdpfetch.fetchers.github.load.threads import MAX_COMMENTS
from cdpfetch.fetchers.github.markdown import Rendered
from cdpfetch.fetchers.github.render import discussions as render
from cdpfetch.fetchers.github.work import Work

_PAGE = 50
_GROUPS = "reactionGroups{content reactors{totalCount}}"
_SAID = f"author{{login}} body createdAt url {_GROUPS}"
_COMMENTS = f"""comments(first:{_PAGE},after:$after){{
  totalCount pageInfo{{hasNextPage endCursor}}
  nodes{{{_SAID} isAnswer upvoteCount replies(first:20){{totalCount nodes{{{_SAID}}}}}}}
}}"""
_QUERY = f"""query($owner:String!,$repo:String!,$number:Int!,$after:String){{
 repository(owner:$owner,name:$repo){{
  discussion(number:$number){{
   number title closed isAnswered upvoteCount {_SAID}
   category{{name}} labels(first:20){{nodes{{name}}}}
   {_COMMENTS}
  }}
 }}
}}"""


async def discussion(work: Work) -> Rendered:
    """``/discussions/N``, with up to 200 comments and 20 replies to each.  Needs a token."""
    shape = work.shape
    variables: dict[str, Any] = {"owner": shape.owner, "repo": shape.repo, "number": shape.number, "after": None}
    comments: list[dict[str, Any]] = []
    first: dict[str, Any] = {}
    while len(comments) < MAX_COMMENTS:
        found = await work.api.graphql(_QUERY, variables)
        data = fields.record(found, "repository", "discussion")
        if not data:
            reason = f"GitHub knows no discussion {shape.number} of {shape.name}"
            raise NotFound("http_error", reason, f"if it is private: {TOKEN_HINT}")
        first = first or data
        nodes = fields.records(data, "comments", "nodes")
        comments += nodes
        cursor = fields.text(data, "comments", "pageInfo", "endCursor")
        if not nodes or not cursor or not fields.flag(data, "comments", "pageInfo", "hasNextPage"):
            break
        variables["after"] = cursor
    return render.discussion(first, comments[:MAX_COMMENTS], shape.name)
