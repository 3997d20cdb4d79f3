"""A GitHub on loopback: REST answers in GitHub's documented shapes, with pages, raw files, and anything a test adds.

``async with github() as hub`` serves ``hub.url`` (the pages' host), whose API is ``hub.api``.  What is not there is
404, as GitHub says it.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from fake_http import Answer, Fake, Seen, answer, serving

API = "/api/v3"
MISSING = {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}
Json = dict[str, Any]
Route = Callable[[Seen], Any]


class Github:
    """The answers by path of the API; ``seen`` are the requests."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.fake: Fake | None = None

    def __call__(self, seen: Seen) -> Any:
        path = unquote(urlsplit(seen.target).path)
        route = self.routes.get(path) or self.routes.get("*")
        return route(seen) if route else reply(MISSING, 404)

    @property
    def url(self) -> str:
        assert self.fake is not None
        return self.fake.url

    @property
    def api(self) -> str:
        return self.url + API

    @property
    def seen(self) -> list[Seen]:
        assert self.fake is not None
        return self.fake.seen

    @property
    def targets(self) -> list[str]:
        """What was asked for, below the API's address where it is there."""
        return [seen.target.removeprefix(API) for seen in self.seen]

    def add(self, path: str, data: Any, status: int = 200, **headers: str) -> None:
        """An answer at a path of the API."""
        self.routes[API + path] = lambda seen: reply(data, status, **headers)

    def add_list(self, path: str, items: list[Json], key: str | None = None, last: bool = True) -> None:
        """A list in pages, with the ``Link`` header that GitHub gives; ``last``: it tells the last page's number."""

        def page(seen: Seen) -> bytes:
            query = query_of(seen)
            size, number = int(query.get("per_page", "30")), int(query.get("page", "1"))
            shown = items[(number - 1) * size : number * size]
            pages = -(-len(items) // size)
            links = []
            if number < pages:
                links.append(f'<{self.api}{path}?per_page={size}&page={number + 1}>; rel="next"')
                if last:
                    links.append(f'<{self.api}{path}?per_page={size}&page={pages}>; rel="last"')
            data = shown if key is None else {"total_count": len(items), key: shown}
            return reply(data, **({"link": ", ".join(links)} if links else {}))

        self.routes[API + path] = page

    def add_by_accept(self, path: str, answers: dict[str, Any]) -> None:
        """Answers by the ``Accept`` header; bytes are sent as they are."""

        def choose(seen: Seen) -> bytes:
            data = answers.get(seen.headers["accept"], (406, {"message": "Unsupported 'Accept' header"}))
            if isinstance(data, tuple):
                return reply(data[1], data[0])
            return (
                answer(200, data, content_type="text/plain; charset=utf-8") if isinstance(data, bytes) else reply(data)
            )

        self.routes[API + path] = choose

    def add_file(self, path: str, data: bytes, ref: str = "main", name: str = "octo/demo") -> None:
        """A file at one ref, by the contents API and on the raw host; over 1 MB the API holds no content."""
        raw = f"/raw/{name}/{ref}/{path}"
        self.routes[raw] = lambda seen: answer(200, data, content_type="text/plain; charset=utf-8")
        self._at_ref(f"/repos/{name}/contents/{path}", ref, content_file(self, path, data, ref, name))

    def add_folder(self, path: str, entries: list[Json], ref: str = "main", name: str = "octo/demo") -> None:
        """A folder at one ref."""
        self._at_ref(f"/repos/{name}/contents/{path}", ref, entries)

    def _at_ref(self, path: str, ref: str, data: Any) -> None:
        before = self.routes.get(API + path)

        def choose(seen: Seen) -> Any:
            asked = query_of(seen).get("ref", "main")
            if asked == ref:
                return reply(data)
            missing = {**MISSING, "message": f"No commit found for the ref {asked}"}
            return before(seen) if before else reply(missing, 404)

        self.routes[API + path] = choose


@contextlib.asynccontextmanager
async def github() -> AsyncIterator[Github]:
    """A GitHub for the time of a ``with``."""
    hub = Github()
    answers: Answer = hub
    async with serving(answers) as fake:
        hub.fake = fake
        yield hub


def reply(data: Any, status: int = 200, **headers: str) -> bytes:
    """A JSON answer."""
    return answer(status, json.dumps(data).encode(), content_type="application/json; charset=utf-8", **headers)


def query_of(seen: Seen) -> dict[str, str]:
    """The parameters of a request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(seen.target).query).items()}


def user(login: str) -> Json:
    """REST ``simple-user``."""
    return {"login": login, "id": 1, "type": "User", "html_url": f"https://github.com/{login}"}


def reactions(**found: int) -> Json:
    """REST ``reaction-rollup``; ``plus`` is ``+1``."""
    counts = {"+1": 0, "-1": 0, "laugh": 0, "hooray": 0, "confused": 0, "heart": 0, "rocket": 0, "eyes": 0}
    counts |= {"+1" if name == "plus" else name: amount for name, amount in found.items()}
    return {"url": "https://api.github.com/reactions", "total_count": sum(counts.values()), **counts}


def label(name: str) -> Json:
    """REST ``label``."""
    return {"id": 7, "name": name, "color": "d73a4a", "default": True, "description": None}


def repository(name: str = "octo/demo", **more: Any) -> Json:
    """REST ``full-repository``."""
    owner, _, repo = name.partition("/")
    return {
        "id": 1296269,
        "name": repo,
        "full_name": name,
        "private": False,
        "owner": user(owner),
        "html_url": f"https://github.com/{name}",
        "description": "Lanterns for long coasts",
        "fork": False,
        "created_at": "2019-05-01T08:00:00Z",
        "updated_at": "2026-11-01T08:00:00Z",
        "pushed_at": "2026-11-29T17:45:12Z",
        "homepage": "https://demo.example/",
        "size": 108,
        "stargazers_count": 4321,
        "watchers_count": 4321,
        "language": "Python",
        "forks_count": 87,
        "archived": False,
        "disabled": False,
        "open_issues_count": 12,
        "license": {
            "key": "mit",
            "name": "MIT License",
            "spdx_id": "MIT",
            "url": "https://api.github.com/licenses/mit",
        },
        "topics": ["lighthouse", "coast"],
        "visibility": "public",
        "default_branch": "main",
        **more,
    }


def content_file(hub: Github, path: str, data: bytes, ref: str = "main", name: str = "octo/demo") -> Json:
    """REST ``content-file``: base64 up to 1 MB, empty and ``none`` above it."""
    small = len(data) <= 1_000_000
    encoded = base64.encodebytes(data).decode() if small else ""
    return {
        "type": "file",
        "encoding": "base64" if small else "none",
        "size": len(data),
        "name": path.rpartition("/")[2],
        "path": path,
        "content": encoded,
        "sha": "3d21ec53a331a6f037a91c368710b99387d012c1",
        "url": f"{hub.api}/repos/{name}/contents/{path}?ref={ref}",
        "git_url": f"{hub.api}/repos/{name}/git/blobs/3d21ec53a331a6f037a91c368710b99387d012c1",
        "html_url": f"{hub.url}/{name}/blob/{ref}/{path}",
        "download_url": f"{hub.url}/raw/{name}/{ref}/{path}?token=SIGNED",
        "_links": {},
    }


def entry(name: str, kind: str = "file", size: int = 0, path: str | None = None) -> Json:
    """One entry of REST ``content-directory``."""
    return {
        "type": kind,
        "size": size,
        "name": name,
        "path": path or name,
        "sha": "a84d88e7554fc1fa21bcbc4efae3c782a70d2b9d",
        "url": f"https://api.github.com/repos/octo/demo/contents/{name}?ref=main",
        "git_url": "https://api.github.com/repos/octo/demo/git/blobs/a84d88e",
        "html_url": f"https://github.com/octo/demo/blob/main/{name}",
        "download_url": f"https://raw.githubusercontent.com/octo/demo/main/{name}" if kind == "file" else None,
    }


def issue(number: int = 12, **more: Any) -> Json:
    """REST ``issue``."""
    return {
        "id": 1,
        "number": number,
        "html_url": f"https://github.com/octo/demo/issues/{number}",
        "state": "open",
        "state_reason": None,
        "title": "The lamp goes out at dawn",
        "body": "When the sun rises, the lamp goes out **before** the keeper has left the gallery.",
        "user": user("alice"),
        "author_association": "CONTRIBUTOR",
        "labels": [label("bug"), label("help wanted")],
        "assignee": user("bob"),
        "assignees": [user("bob")],
        "milestone": {"number": 1, "title": "v2.0", "state": "open"},
        "locked": False,
        "active_lock_reason": None,
        "comments": 2,
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-02-03T04:05:06Z",
        "closed_at": None,
        "closed_by": None,
        "reactions": reactions(plus=3, heart=1),
        **more,
    }


def comment(number: int, body: str, login: str | None = "bob", **more: Any) -> Json:
    """REST ``issue-comment``."""
    stamp = f"2026-01-03T{number // 60 % 24:02}:{number % 60:02}:00Z"
    return {
        "id": number,
        "html_url": f"https://github.com/octo/demo/issues/12#issuecomment-{number}",
        "body": body,
        "user": user(login) if login else None,
        "created_at": stamp,
        "updated_at": stamp,
        "author_association": "MEMBER",
        "reactions": reactions(),
        **more,
    }


def cross_reference(number: int, title: str, *, pull: bool = True) -> Json:
    """REST ``timeline-cross-referenced-event``."""
    other = issue(number, title=title, state="closed", html_url=f"https://github.com/octo/demo/pull/{number}")
    other["repository"] = {"full_name": "octo/demo"}
    if pull:
        other["pull_request"] = {"url": "…", "merged_at": "2026-02-01T00:00:00Z"}
    return {"event": "cross-referenced", "actor": user("carol"), "source": {"type": "issue", "issue": other}}


def pull(number: int = 34, **more: Any) -> Json:
    """REST ``pull-request``."""
    return {
        "id": 2,
        "number": number,
        "html_url": f"https://github.com/octo/demo/pull/{number}",
        "state": "open",
        "locked": False,
        "draft": False,
        "title": "Keep the lamp lit until the keeper leaves",
        "body": "Waits for the door before it puts out the lamp, and fixes the dawn.",
        "user": user("carol"),
        "author_association": "MEMBER",
        "labels": [label("bug")],
        "milestone": None,
        "assignees": [],
        "requested_reviewers": [user("dave")],
        "requested_teams": [{"id": 1, "name": "Keepers", "slug": "keepers"}],
        "created_at": "2026-01-10T10:00:00Z",
        "updated_at": "2026-01-12T10:00:00Z",
        "closed_at": None,
        "merged_at": None,
        "merged": False,
        "merged_by": None,
        "mergeable": True,
        "mergeable_state": "clean",
        "head": {"label": "carol:keep-lit", "ref": "keep-lit", "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e"},
        "base": {"label": "octo:main", "ref": "main", "sha": "c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c"},
        "comments": 1,
        "review_comments": 3,
        "commits": 2,
        "additions": 104,
        "deletions": 4,
        "changed_files": 2,
        **more,
    }


def review(number: int, state: str, body: str = "", login: str = "dave", hour: int = 12) -> Json:
    """REST ``pull-request-review``."""
    return {
        "id": number,
        "user": user(login),
        "body": body,
        "state": state,
        "html_url": f"https://github.com/octo/demo/pull/34#pullrequestreview-{number}",
        "submitted_at": f"2026-01-11T{hour:02}:00:00Z",
        "commit_id": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "author_association": "COLLABORATOR",
    }


def inline(number: int, body: str, path: str = "lamp.py", login: str = "dave", **more: Any) -> Json:
    """REST ``pull-request-review-comment``."""
    return {
        "id": number,
        "pull_request_review_id": 80,
        "diff_hunk": "@@ -1,3 +1,4 @@\n import time\n+import door\n def dawn():",
        "path": path,
        "position": 2,
        "commit_id": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "user": user(login),
        "body": body,
        "created_at": "2026-01-11T12:00:00Z",
        "updated_at": "2026-01-11T12:00:00Z",
        "html_url": f"https://github.com/octo/demo/pull/34#discussion_r{number}",
        "author_association": "COLLABORATOR",
        "reactions": reactions(),
        "start_line": None,
        "original_start_line": None,
        "line": 2,
        "original_line": 2,
        "side": "RIGHT",
        "subject_type": "line",
        **more,
    }


def changed(filename: str, status: str = "modified", additions: int = 1, deletions: int = 0, **more: Any) -> Json:
    """REST ``diff-entry``."""
    return {
        "sha": "bbcd538c8e72b8c175046e27cc8f907076331401",
        "filename": filename,
        "status": status,
        "additions": additions,
        "deletions": deletions,
        "changes": additions + deletions,
        "blob_url": f"https://github.com/octo/demo/blob/6dcb09b/{filename}",
        "patch": "@@ -1 +1,2 @@\n import time\n+import door",
        **more,
    }


def commit(sha: str, message: str = "Light the lamp\n\nIt was dark.", **more: Any) -> Json:
    """REST ``commit``; lists have it without ``stats`` and ``files``."""
    person = {"name": "Alice Keeper", "email": "alice@example.com", "date": "2026-03-04T05:06:07Z"}
    return {
        "sha": sha,
        "node_id": "MDY6Q29tbWl0",
        "html_url": f"https://github.com/octo/demo/commit/{sha}",
        "commit": {
            "author": person,
            "committer": person,
            "message": message,
            "comment_count": 0,
            "verification": {"verified": True, "reason": "valid", "signature": None, "payload": None},
        },
        "author": user("alice"),
        "committer": user("alice"),
        "parents": [{"sha": "1" * 40, "html_url": "https://github.com/octo/demo/commit/1"}],
        **more,
    }


def asset(number: int, name: str, data: bytes, **more: Any) -> Json:
    """REST ``release-asset``."""
    return {
        "id": number,
        "name": name,
        "label": None,
        "state": "uploaded",
        "content_type": "application/zip",
        "size": len(data),
        "digest": None,
        "download_count": 1234,
        "url": f"https://api.github.com/repos/octo/demo/releases/assets/{number}",
        "browser_download_url": f"https://github.com/octo/demo/releases/download/v1.0/{name}",
        "uploader": user("alice"),
        **more,
    }


def release(tag: str = "v1.0", **more: Any) -> Json:
    """REST ``release``."""
    return {
        "id": 1,
        "tag_name": tag,
        "target_commitish": "main",
        "name": "First light",
        "draft": False,
        "prerelease": False,
        "created_at": "2026-04-01T00:00:00Z",
        "published_at": "2026-04-02T10:00:00Z",
        "author": user("alice"),
        "html_url": f"https://github.com/octo/demo/releases/tag/{tag}",
        "body": "## Changed\n\nThe lamp is brighter by half, and the door no longer creaks.",
        "assets": [],
        **more,
    }


def run(number: int = 900, **more: Any) -> Json:
    """REST ``workflow-run``."""
    return {
        "id": number,
        "name": "CI",
        "display_title": "Light the lamp",
        "run_number": 77,
        "run_attempt": 1,
        "event": "push",
        "status": "completed",
        "conclusion": "failure",
        "head_branch": "main",
        "head_sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "html_url": f"https://github.com/octo/demo/actions/runs/{number}",
        "run_started_at": "2026-05-01T10:00:00Z",
        "created_at": "2026-05-01T10:00:00Z",
        "updated_at": "2026-05-01T10:05:00Z",
        "actor": user("alice"),
        **more,
    }


def job(number: int, name: str, conclusion: str = "success") -> Json:
    """REST ``job``."""
    stamps = {"started_at": "2026-05-01T10:00:10Z", "completed_at": "2026-05-01T10:04:00Z"}
    steps = [
        {"name": "Set up job", "status": "completed", "conclusion": "success", "number": 1, **stamps},
        {"name": "Run tests", "status": "completed", "conclusion": conclusion, "number": 2, **stamps},
    ]
    return {
        "id": number,
        "run_id": 900,
        "workflow_name": "CI",
        "head_branch": "main",
        "head_sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "html_url": f"https://github.com/octo/demo/actions/runs/900/job/{number}",
        "status": "completed",
        "conclusion": conclusion,
        "name": name,
        "labels": ["ubuntu-latest"],
        "runner_name": "runner 4",
        "steps": steps,
        **stamps,
    }


def gist(files: dict[str, Json], **more: Any) -> Json:
    """REST ``gist-simple``."""
    return {
        "id": "aa5a315d61ae9438b18d",
        "html_url": "https://gist.github.com/alice/aa5a315d61ae9438b18d",
        "public": True,
        "created_at": "2026-06-01T00:00:00Z",
        "updated_at": "2026-06-02T00:00:00Z",
        "description": "How the tide is counted",
        "comments": 0,
        "owner": user("alice"),
        "truncated": False,
        "files": files,
        **more,
    }


def gist_file(name: str, text: str, **more: Any) -> Json:
    """One file of a gist."""
    return {
        "filename": name,
        "type": "text/plain",
        "language": "Python" if name.endswith(".py") else None,
        "raw_url": f"https://gist.githubusercontent.com/alice/aa5a315d61ae9438b18d/raw/1/{name}",
        "size": len(text.encode()),
        "truncated": False,
        "content": text,
        "encoding": "utf-8",
        **more,
    }


def discussion_comment(number: int, body: str, login: str = "bob", **more: Any) -> Json:
    """GraphQL ``DiscussionComment``, as far as it is asked for."""
    return {
        "author": {"login": login},
        "body": body,
        "createdAt": "2026-07-02T00:00:00Z",
        "url": f"https://github.com/octo/demo/discussions/56#discussioncomment-{number}",
        "reactionGroups": [{"content": "HEART", "reactors": {"totalCount": 2}}],
        "isAnswer": False,
        "upvoteCount": 1,
        "replies": {"totalCount": 0, "nodes": []},
        **more,
    }


def discussion(comments: list[Json], total: int, cursor: str | None = None) -> Json:
    """A GraphQL answer with a ``Discussion``."""
    return {
        "data": {
            "repository": {
                "discussion": {
                    "number": 56,
                    "title": "Which oil burns longest?",
                    "closed": False,
                    "isAnswered": True,
                    "upvoteCount": 9,
                    "author": {"login": "alice"},
                    "body": "Our barrels are empty by midnight, and the winter is long.",
                    "createdAt": "2026-07-01T00:00:00Z",
                    "url": "https://github.com/octo/demo/discussions/56",
                    "reactionGroups": [{"content": "THUMBS_UP", "reactors": {"totalCount": 4}}],
                    "category": {"name": "Q&A"},
                    "labels": {"nodes": [{"name": "oil"}]},
                    "comments": {
                        "totalCount": total,
                        "pageInfo": {"hasNextPage": cursor is not None, "endCursor": cursor},
                        "nodes": comments,
                    },
                }
            }
        }
    }
