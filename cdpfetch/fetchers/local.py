"""The user's own browser, by the daemon: the last of the chain, which takes every URL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cdpfetch.aclient import AsyncClient
from cdpfetch.calls import FETCH_OPTIONS
from cdpfetch.document import fetch_error
from cdpfetch.errors import CdpFetchError
from cdpfetch.fetchers.contract import Call, Request
from cdpfetch.wire import Message


class LocalFetcher:
    """Asks the daemon, over a client that others may use, too; its owner closes it."""

    name = "local"

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def can_fetch(self, request: Request, call: Call) -> bool:
        """Always: the daemon judges."""
        return True

    async def fetch(
        self,
        requests: Sequence[Request],
        call: Call,
        deliver: Callable[[Request, dict[str, Any] | CdpFetchError], None],
    ) -> None:
        """See the contract.  A daemon is started where none runs."""

        def status(index: int, event: Message) -> None:
            call.on_status(requests[index], event)

        def done(index: int, document: dict[str, Any]) -> None:
            deliver(requests[index], document if document["ok"] else fetch_error(document))

        options = {name: value for name, value in call.options.items() if name in FETCH_OPTIONS}
        options["output_dir"] = call.root
        if not call.options.get("fresh"):
            options["share"] = True  # with other processes that fetch the same at the moment
        urls = [request.url for request in requests]
        await self._client.fetch_documents(urls, on_status=status, on_document=done, **options)
