"""What the tests of the chain share: fetchers that do what they were told, and calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from cdpfetch import artifacts
from cdpfetch.config import Config
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.paths import Home

Deliver = Callable[[Request, "dict[str, Any] | CdpFetchError"], None]


def call_of(home: Home, config: Config | None = None, environ: dict[str, str] | None = None, **options: Any) -> Call:
    """A call with the home's artifacts as its root."""
    return Call(home, config or Config(), home.artifacts, options, environ or {}, lambda request, event: None)


def saved(
    request: Request, call: Call, text: str = "# Text\n", source: str = "local", **changes: Any
) -> dict[str, Any]:
    """A committed document."""
    with artifacts.Draft(call.root, artifacts.new_fetch_id(request.url)) as draft:
        draft.write("content.md", "content", text, "text/markdown")
        document = {**artifacts.new_document(request.url), "ok": True, "source": source, **changes}
        return draft.commit(document, index_root=call.home.artifacts)


class Scripted:
    """A fetcher.  ``answer(request, call)`` gives a document or an error, or raises; ``takes`` says what it claims."""

    def __init__(
        self,
        name: str,
        answer: Callable[[Request, Call], Any] | None = None,
        takes: Callable[[Request], bool] = lambda request: True,
    ) -> None:
        self.name = name
        self.answer = answer or (lambda request, call: saved(request, call, source=name))
        self.takes = takes
        self.batches: list[list[str]] = []
        self.calls: list[Call] = []
        self.cancelled = 0
        self.held: asyncio.Event | None = None  # what a fetch waits for before it answers

    @property
    def asked(self) -> list[str]:
        return [url for batch in self.batches for url in batch]

    def can_fetch(self, request: Request, call: Call) -> bool:
        return self.takes(request)

    async def fetch(self, requests: Sequence[Request], call: Call, deliver: Deliver) -> None:
        self.batches.append([request.url for request in requests])
        self.calls.append(call)
        try:
            if self.held is not None:
                await self.held.wait()
            for request in requests:
                outcome = self.answer(request, call)
                if outcome is not None:
                    deliver(request, outcome)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
