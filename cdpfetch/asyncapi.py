"""The library's asyncio client: the daemon's, whose fetches go along the whole chain of fetchers."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

from cdpfetch import aclient, answers, calls, chain, config
from cdpfetch.document import Outcome, outcome_of
from cdpfetch.fetchers.contract import Call, Fetcher, Request
from cdpfetch.fetchers.github import GithubFetcher
from cdpfetch.fetchers.jina import JinaFetcher
from cdpfetch.fetchers.local import LocalFetcher
from cdpfetch.fetchers.parallel import ParallelFetcher
from cdpfetch.paths import Home
from cdpfetch.router import Router, Routing
from cdpfetch.search.calling import Queries, SearchOptions, asearch
from cdpfetch.search.running import SearchResult
from cdpfetch.wire import Message

T = TypeVar("T")


def compose(daemon: aclient.AsyncClient) -> list[Fetcher]:
    """The chain, in the order of ``chain.SOURCES``."""
    return [GithubFetcher(), ParallelFetcher(), JinaFetcher(), LocalFetcher(daemon)]


class AsyncClient(aclient.AsyncClient):
    """Fetches from whichever source serves a URL, the user's own browser being the last; see the base class.

    Any number of tasks may use one client; identical fetches of theirs at one time are one.
    """

    def __init__(
        self, home: Home | str | None = None, *, start: bool = True, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(home, start=start, environment=environment)
        self._router = Router(compose(self))

    async def fetch_many(
        self,
        urls: Iterable[str],
        *,
        on_status: Callable[[str, Message], None] | None = None,
        **options: Unpack[chain.ChainOptions],
    ) -> list[Outcome]:
        """Fetch URLs at once; one outcome each, in order.  Raises only when the call itself is wrong.

        Beside the daemon's options: ``source`` (one fetcher and no other), ``max_age`` (seconds: what was fetched
        within them comes from disk), ``fresh`` (never from a cache), ``objective`` (what the content is for) and
        ``prompt`` (a question, which the model of ``[llm]`` answers for each document: ``Document.answer``).
        """
        asked = list(urls)
        return [outcome_of(data) for data in await self.fetch_routed(asked, on_status=on_status, **options)]

    async def fetch_routed(
        self,
        urls: Sequence[str],
        *,
        on_status: Callable[[str, Message], None] | None = None,
        on_document: Callable[[int, dict[str, Any]], None] | None = None,
        **options: Unpack[chain.ChainOptions],
    ) -> list[dict[str, Any]]:
        """Fetch URLs along the chain as plain document dicts, in order; the callbacks as the blocking client's.

        With ``prompt`` each document that was fetched has ``answer``, and ``on_document`` gets it then.
        """
        plain, own = chain.split(options)
        prompt = answers.checked_question(own["prompt"]) if "prompt" in own else None
        # Raises for what is wrong, before anything leaves.
        root = calls.fetch_fields(self.home, plain)["downloadDir"]
        environ = os.environ if self.environment is None else self.environment

        def status(request: Request, event: Message) -> None:
            if on_status is not None:
                on_status(request.url, event)

        call = Call(
            home=self.home,
            config=await asyncio.to_thread(config.load, self.home, environ),
            root=root,
            options={**_named(plain), **{name: own[name] for name in ("objective", "fresh") if own.get(name)}},
            environ=environ,
            on_status=status,
        )
        routing = Routing(own.get("source"), float(own.get("max_age", 0.0)), bool(own.get("fresh", False)))
        if prompt is None:
            return await self._router.fetch(urls, call, routing, on_document)
        documents = await self._router.fetch(urls, call, routing)

        def answered(index: int) -> None:
            if on_document is not None:
                on_document(index, documents[index])

        await answers.answer_all(call.config, documents, prompt, environ, answered)
        return documents

    async def search(self, queries: Queries, **options: Unpack[SearchOptions]) -> SearchResult:
        """Search the web; see ``cdpfetch.search.calling.search`` for the options and the errors."""
        return await asearch(queries, home=self.home, environ=self.environment, **options)


def _named(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The daemon's options without the directory, which a call has by another name."""
    return {name: value for name, value in plain.items() if name != "output_dir"}


def fetch_documents(
    home: Home,
    urls: Sequence[str],
    on_status: Callable[[str, Message], None] | None,
    on_document: Callable[[int, dict[str, Any]], None] | None,
    options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """``AsyncClient.fetch_routed`` for callers that block."""

    async def work() -> list[dict[str, Any]]:
        async with AsyncClient(home) as client:
            return await client.fetch_routed(urls, on_status=on_status, on_document=on_document, **options)

    return run(work())


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where a loop of the caller's runs in this thread already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()
