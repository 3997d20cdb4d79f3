"""The tools at work: arguments in, a text and data for the agent out.  Every adapter calls this and nothing else.

What is wrong with a call is a result that says so, since an agent can mend it; only cancelling raises.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, Protocol

from cdpfetch import project
from cdpfetch.adapters import definitions
from cdpfetch.adapters.definitions import Definition
from cdpfetch.adapters.fence import fenced, visible, visible_data
from cdpfetch.answers import checked_question
from cdpfetch.asyncapi import AsyncClient
from cdpfetch.delivery import digest
from cdpfetch.errors import CdpFetchError, ConfigError, InvalidRequest
from cdpfetch.known import KnownStore
from cdpfetch.search import tool
from cdpfetch.search.running import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from cdpfetch.config import Config
    from cdpfetch.wire import Message

# Keys of a document that an agent has use for; the whole is in metadata.json beside the bodies.
_SHOWN = (
    "url ok kind link title facts excerpt answer outline status content_type bytes verdict coverage warnings "
    "fetch_id dir bodies error"
).split()
_OUTLINE_LIMIT = 40
# Lines of a search's report that are shown at once.
_REPORT_LINES = 200
# Arguments of web_fetch that are options of the fetch, and those that choose a first page.
_OPTIONS = ("format", "prompt", "screenshot", "wait_for")
_PAGING = ("section", "offset", "limit")


class ToolResult(NamedTuple):
    """What an agent gets: ``text`` to read, with what came from the web fenced; ``data`` by the output schema."""

    text: str
    data: dict[str, Any]
    is_error: bool = False


class Answerer(Protocol):
    """Who answers a prompt where the settings name no model."""

    def earlier(self) -> list[dict[str, Any]] | None:
        """The documents of this call, when an earlier round of it has fetched them."""
        ...

    async def answer(self, documents: list[dict[str, Any]], question: str) -> None:
        """Put ``answer`` into each document that was fetched, as ``answers.answer_all`` does."""
        ...


class Toolset:
    """The tools of one home.

    Args:
        client: what fetches; the caller opens and closes it.
        confirm: asks the user whether a window may be opened at a URL (or at none); default: yes, since the window
            itself is in the user's hands.
        answerer: answers prompts where the settings name no model; default: the answer is that there is none.
        require_known: fetch known addresses only (see ``cdpfetch.known``), whatever the settings say.
    """

    def __init__(
        self,
        client: AsyncClient,
        confirm: Callable[[str | None], Awaitable[bool]] | None = None,
        *,
        answerer: Answerer | None = None,
        require_known: bool = False,
    ) -> None:
        self.client = client
        self.confirm = confirm
        self.answerer = answerer
        self.require_known = require_known
        self._calls = {
            definitions.FETCH.name: self._fetch,
            definitions.READ.name: self._read,
            definitions.SEARCH: self._search,
            definitions.OPEN_BROWSER.name: self._open_browser,
        }

    def definitions(self) -> list[Definition]:
        """The tools that this home can serve: without a search provider, or with settings in disorder, no search."""
        try:
            described = tool.described(self._settings())
        except ConfigError:
            described = None
        search = [definitions.search(*described)] if described is not None else []
        return [definitions.FETCH, definitions.READ, *search, definitions.OPEN_BROWSER]

    def _settings(self) -> Config:
        """The settings as they are now.  Raises ConfigError."""
        return project.load(self.client.home, self.client.environment)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        on_progress: Callable[[str], None] | None = None,
    ) -> ToolResult:
        """Run one tool; ``on_progress`` hears of its stages in a few words each."""
        try:
            known = {one.name: one for one in await asyncio.to_thread(self.definitions)}
            if name not in known:
                raise InvalidRequest(f"there is no tool {name!r}", "tools: " + ", ".join(known))
            # A search is checked by its provider's words, which say better what it lacks.
            given = dict(arguments or {}) if name == definitions.SEARCH else checked(known[name], arguments)
            return await self._calls[name](given, on_progress or _unheard)
        except CdpFetchError as error:
            return failure(error)

    async def _fetch(self, given: dict[str, Any], on_progress: Callable[[str], None]) -> ToolResult:
        urls = ([given["url"]] if "url" in given else []) + given.get("urls", [])
        if not urls:
            raise InvalidRequest("web_fetch got no URL", "pass url, or urls")

        documents = await self._documents(urls, given, on_progress)
        parts = [fenced(digest(documents))]
        data: dict[str, Any] = {"documents": [visible_data(_shown(document)) for document in documents]}
        ids = [document["fetch_id"] for document in documents if document["ok"]]
        if ids:
            parts.append(f"To read on: web_fetch_read with fetch_id {' or '.join(ids)}\n")
        if any(name in given for name in _PAGING):
            pages = [await self._first_page(fetch_id, given) for fetch_id in ids]
            parts += [page.text for page in pages]
            data["pages"] = [page.data for page in pages if not page.is_error]
        return ToolResult("".join(parts), data, not any(document["ok"] for document in documents))

    async def _documents(
        self, urls: list[str], given: dict[str, Any], on_progress: Callable[[str], None]
    ) -> list[dict[str, Any]]:
        """The documents of a call, with answers where it has a prompt."""

        def status(url: str, event: Message) -> None:
            on_progress(_stage(url, event))

        options: dict[str, Any] = {name: given[name] for name in _OPTIONS if name in given}
        options["require_known"] = self.require_known or None
        max_age = given.get("max_age", definitions.MAX_AGE)
        answerer = self.answerer
        if "prompt" not in given or answerer is None or await asyncio.to_thread(self._has_model):
            return await self.client.fetch_routed(urls, on_status=status, max_age=max_age, **options)
        question = checked_question(options.pop("prompt"))
        documents = answerer.earlier()
        if documents is None:
            documents = await self.client.fetch_routed(urls, on_status=status, max_age=max_age, **options)
        await answerer.answer(documents, question)
        return documents

    def _has_model(self) -> bool:
        llm = self._settings().llm
        return bool(llm.base_url or llm.model)

    async def _first_page(self, fetch_id: str, given: dict[str, Any]) -> ToolResult:
        chosen = {name: given[name] for name in (*_PAGING, "format") if name in given}
        try:
            return await self._read({"fetch_id": fetch_id, **chosen}, _unheard)
        except CdpFetchError as error:
            return failure(error)

    async def _read(self, given: dict[str, Any], on_progress: Callable[[str], None]) -> ToolResult:
        page = (await self.client.read(**given)).to_dict()
        where = f"{page['name']}, from line {page['offset']} of {page['total_lines']}"
        following = page["next_offset"]
        rest = f"To read on: offset {following}\n" if following else "That is the end.\n"
        kept = ("fetch_id", "format", "name", "text", "offset", "next_offset", "total_lines", "section", "matches")
        data = visible_data({name: page[name] for name in kept if name in page})
        return ToolResult(f"{where}\n{fenced(page['text'])}{rest}", data)

    async def _search(self, given: dict[str, Any], on_progress: Callable[[str], None]) -> ToolResult:
        on_progress("searching")
        result = await run(self.client.home, given, environ=self.client.environment)
        await asyncio.to_thread(self._make_known, result.urls)
        shown = "".join(result.text.splitlines(keepends=True)[:_REPORT_LINES])
        rest = f"The report is {result.data['report_path']}\nTo read it again: fetch_id {result.data['fetch_id']}\n"
        if len(shown) < len(result.text):
            rest += f"To read on: web_fetch_read with that fetch_id, offset {_REPORT_LINES + 1}\n"
        return ToolResult(fenced(shown) + rest, visible_data(result.data))

    def _make_known(self, urls: list[str]) -> None:
        """In strict mode, what a search found may be fetched."""
        network = self._settings().network
        if self.require_known or network.require_known_url:
            KnownStore(self.client.home.known_urls, network.known_urls).learn(urls)

    async def _open_browser(self, given: dict[str, Any], on_progress: Callable[[str], None]) -> ToolResult:
        url = given.get("url")
        if self.confirm is not None and not await self.confirm(url):
            return ToolResult("The user does not want a window now.\n", {"opened": False})
        await self.client.open_browser(url)
        return ToolResult(
            "A browser window is open on the user's screen. Ask the user to sign in there and to quit that browser; "
            "until then fetches fail with interactive_open.\n",
            {"opened": True},
        )


def checked(definition: Definition, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments, when they fit the tool's schema; null stands for a parameter that is not given.

    Raises InvalidRequest, naming the parameter and what it takes.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    given = {name: value for name, value in dict(arguments or {}).items() if value is not None}
    found = best_match(Draft202012Validator(definition.input_schema).iter_errors(given))
    if found is None:
        return given
    where = ".".join(str(part) for part in found.absolute_path)
    parameters = ", ".join(definition.input_schema["properties"])
    reason = f"{definition.name}: {where + ': ' if where else ''}{found.message[:300]}"
    raise InvalidRequest(reason, f"parameters: {parameters}")


def failure(error: CdpFetchError) -> ToolResult:
    """The result of a call that failed as a whole."""
    hint = f"\nhint: {visible(error.hint)}" if error.hint else ""
    return ToolResult(f"{error.code}: {visible(error.reason)}{hint}\n", {"error": visible_data(error.to_json())}, True)


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    shown = {name: document[name] for name in _SHOWN if name in document}
    shown["outline"] = shown["outline"][:_OUTLINE_LIMIT]
    return shown


def _stage(url: str, event: Message) -> str:
    """A status event in a few words."""
    stage = str(event.get("stage"))
    received = event.get("receivedBytes")
    more = f" {received:,} bytes" if isinstance(received, int) else ""
    return visible(f"{stage}{more}: {url}")


def _unheard(text: str) -> None:
    pass
