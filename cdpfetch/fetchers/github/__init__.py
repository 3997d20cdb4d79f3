"""GitHub through its API: what a URL names there becomes a document without a browser.

Light: ``can_fetch`` is asked on the way to every fetch; httpx and asyncio come with the first ``fetch``.
"""

from __future__ import annotations

from cdpfetch.fetchers.github.hosts import hosts_of
from cdpfetch.fetchers.github.shapes import FILES, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from cdpfetch.errors import CdpFetchError
    from cdpfetch.fetchers.contract import Call, Request
    from cdpfetch.fetchers.github.shapes import Shape

# Options that only a browser (or a request of the caller's own making) can honour.
_LOCAL_ONLY = ("screenshot", "wait_for", "headers", "insecure", "keep_page")


class GithubFetcher:
    """The fetcher of what a GitHub, github.com or the one of ``github.api_url``, shows at its URLs."""

    name = "github"

    def can_fetch(self, request: Request, call: Call) -> bool:
        """Whether the URL has a shape that the API serves, and no option asks for a page as a browser shows it."""
        shape = shape_of(request.href, call.config.github.api_url)
        return shape is not None and accepts(shape, call.options)

    async def fetch(
        self,
        requests: Sequence[Request],
        call: Call,
        deliver: Callable[[Request, dict[str, Any] | CdpFetchError], None],
    ) -> None:
        """Fetch the requests at once, through one client."""
        from cdpfetch.fetchers.github.serving import serve

        await serve(requests, call, deliver)


def shape_of(href: str, api_url: str | None = None) -> Shape | None:
    """What a canonical URL names on GitHub, or None."""
    return parse(href, hosts_of(api_url))


def accepts(shape: Shape, options: Mapping[str, Any]) -> bool:
    """Whether the API can give a shape as the options want it."""
    if any(options.get(name) for name in _LOCAL_ONLY) or options.get("extractor") not in (None, "auto"):
        return False
    wanted = options.get("format")
    return wanted in (None, "markdown", "text") or (wanted == "source" and shape.kind in FILES)
