"""A daemon inside the test's own process, in a world where public names lead to sites of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from guards import Names, Network
from testsite import Site

from cdpfetch import config, paths
from cdpfetch.daemon.app import App
from cdpfetch.daemon.fetch import FetchFailed
from cdpfetch.daemon.guard.dialler import Dialler
from cdpfetch.daemon.guard.guard import Guard
from cdpfetch.daemon.options import FetchOptions
from cdpfetch.resolver import Resolver

# Public addresses, for names that lead to the test's own sites.
MAIL, OTHER = "93.184.216.34", "151.101.1.69"
DEFAULTS = config.Config()


class Daemon:
    """A daemon without its socket, in a world where two public hosts are this machine's sites."""

    def __init__(self, app: App, directory: str, names: Names, network: Network) -> None:
        self.app = app
        self.directory = directory
        self.names = names
        self.network = network

    async def fetch(self, url: str, **options: Any) -> dict[str, Any]:
        """The document, whether it is ok or not."""
        asked = FetchOptions.parse({"url": url, "downloadDir": self.directory, **options}, self.app._config)
        try:
            return await self.app.fetches.fetch(asked, "test", lambda stage, **fields: None)
        except FetchFailed as failed:
            return failed.document


@contextlib.asynccontextmanager
async def daemon(
    tmp_path: Path, mail: Site, other: Site, *allow: str, settings: config.Config = DEFAULTS
) -> AsyncIterator[Daemon]:
    """``mail.test``, which has a profile, and ``other.test`` are sites; ``allow`` are entries of ``network.allow``."""
    names, network = Names(), Network()
    names.known = {"mail.test": [MAIL], "other.test": [OTHER]}
    network.leads = {MAIL: mail.server_address[1], OTHER: other.server_address[1]}
    guard = Guard(resolver=Resolver(names, keep=0), dialler=Dialler(network))
    settings = settings._replace(
        network=settings.network._replace(allow=allow), fetch=settings.fetch._replace(profile_sites=("mail.test",))
    )
    home = paths.Home(str(tmp_path / "home"))
    for directory in (home.root, home.run):
        paths.ensure_private_dir(directory)
    app = App(home, settings, guard)
    try:
        await app.start()
        yield Daemon(app, home.artifacts, names, network)
    finally:
        await app.close()
