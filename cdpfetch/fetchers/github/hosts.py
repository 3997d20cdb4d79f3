"""Where a GitHub is: the hosts that belong to the API's address, and what of them gets the token.

Pure, and light: the command asks on its way to every fetch whether a URL is GitHub's.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PUBLIC_API = "https://api.github.com"
_API_PATH = "/api/v3"  # of an Enterprise Server


class Hosts:
    """The base addresses of one GitHub, none with a slash at its end.

    ``api`` REST and ``graphql``; ``web`` the pages, ``raw`` files by ``/owner/repo/ref/path``, ``gist`` the pages of
    gists and ``gist_raw`` their files; ``name`` is the host as ``gh`` knows it.
    """

    __slots__ = ("api", "gist", "gist_raw", "graphql", "name", "raw", "web")

    def __init__(self, api: str, graphql: str, web: str, raw: str, gist: str, gist_raw: str) -> None:
        self.api = api
        self.graphql = graphql
        self.web = web
        self.raw = raw
        self.gist = gist
        self.gist_raw = gist_raw
        self.name = authority_of(web)

    @property
    def is_public(self) -> bool:
        """Whether it is github.com."""
        return self.api == PUBLIC_API

    def bases(self) -> Iterator[tuple[str, str]]:
        """``(part, base address)``, a base that lies below another one first."""
        yield "gist_raw", self.gist_raw
        yield "gist", self.gist
        yield "raw", self.raw
        yield "api", self.api
        yield "web", self.web

    @property
    def is_secure(self) -> bool:
        """Whether a token may travel to the API: never in the clear, but to this machine itself."""
        return self.api.startswith("https://") or _is_loopback(authority_of(self.api))

    def service(self) -> tuple[str, ...]:
        """The addresses, beside the API, that are the same service: they get the token, and may be private."""
        if self.is_public:
            return (self.raw,)
        scheme, _, web = self.web.partition("://")
        extra = () if has_port(web) else (f"{scheme}://raw.{web}",)  # an Enterprise Server's, on a host of their own
        return (self.graphql, self.raw, *extra)

    def is_own(self, url: str) -> bool:
        """Whether a URL out of an answer is one of this GitHub's files, which may be fetched as such."""
        return origin_of(url) in {origin_of(base) for base in (self.api, self.gist_raw, *self.service())}


def hosts_of(api_url: str | None) -> Hosts:
    """The hosts of a GitHub by the address of its REST API (default: github.com's).

    ``https://HOST/api/v3`` (Enterprise Server) has its pages at ``https://HOST``, ``https://api.HOST`` at
    ``https://HOST``; any other address is taken for both.
    """
    api = (api_url or PUBLIC_API).rstrip("/")
    if api == PUBLIC_API:
        return PUBLIC
    origin = origin_of(api)
    path = api[len(api.partition("://")[0]) + 3 + len(authority_of(api)) :]
    scheme, _, name = origin.partition("://")
    if not path and name.startswith("api."):
        web = f"{scheme}://{name[4:]}"
        return Hosts(api, f"{api}/graphql", web, f"{web}/raw", f"{scheme}://gist.{name[4:]}", f"{web}/gist/raw")
    graphql = f"{api[: -len(_API_PATH)]}/api/graphql" if api.endswith(_API_PATH) else f"{api}/graphql"
    return Hosts(api, graphql, origin, f"{origin}/raw", f"{origin}/gist", f"{origin}/gist/raw")


def origin_of(url: str) -> str:
    """``scheme://host[:port]`` of a canonical URL."""
    return f"{url.partition('://')[0]}://{authority_of(url)}"


def authority_of(url: str) -> str:
    """``host[:port]`` of a canonical URL, without credentials."""
    rest = url.partition("://")[2]
    for mark in "/?#":
        rest = rest.partition(mark)[0]
    return rest.rpartition("@")[2].lower()


def has_port(authority: str) -> bool:
    """Whether a host is followed by a port."""
    return authority.rpartition(":")[2].isdigit() and not authority.endswith("]")


def _is_loopback(authority: str) -> bool:
    host = authority.rpartition(":")[0] if has_port(authority) else authority
    return host in ("localhost", "[::1]") or (host.startswith("127.") and host.replace(".", "").isdigit())


PUBLIC = Hosts(
    PUBLIC_API,
    f"{PUBLIC_API}/graphql",
    "https://github.com",
    "https://raw.githubusercontent.com",
    "https://gist.github.com",
    "https://gist.githubusercontent.com",
)
