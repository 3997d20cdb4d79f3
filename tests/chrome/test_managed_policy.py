"""A managed policy takes the guard out of the real Chrome: nothing is served, before and after the start.

Policies are files below /etc.  The browser gets a folder of the test's own in their place, in a mount namespace.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from daemons import DEFAULTS, daemon
from testsite import Site

pytestmark = pytest.mark.chrome

# Where the browsers look, by a word in the name that they give themselves.
_PLACES = {"Chromium": "/etc/chromium", "Google Chrome": "/etc/opt/chrome", "Microsoft Edge": "/etc/opt/edge"}
DIRECT = {"ProxyMode": "direct"}
DIRECT_SETTINGS = {"ProxySettings": {"ProxyMode": "direct"}}
FOREIGN = {"ProxySettings": {"ProxyMode": "fixed_servers", "ProxyServer": "socks5://127.0.0.1:9"}}


class Managed:
    """A browser whose managed policies are the test's."""

    def __init__(self, executable: str, folder: Path) -> None:
        self.executable = executable
        self._file = folder / "policies" / "managed" / "test.json"
        self._file.parent.mkdir(parents=True)

    def set(self, policy: dict[str, Any] | None) -> None:
        """What the administrator wants from now on; the file appears whole."""
        if policy is None:
            self._file.unlink()
        else:
            made = self._file.with_suffix(".new")
            made.write_text(json.dumps(policy), encoding="utf-8")
            made.replace(self._file)


@pytest.fixture
def managed(chrome: str, tmp_path: Path) -> Managed:
    version = subprocess.run([chrome, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    place = next((place for word, place in _PLACES.items() if version.startswith(word)), None)
    if place is None or not Path(place).is_dir():
        pytest.skip(f"no folder of policies for {version.strip()!r} on this machine")
    folder = tmp_path / "etc"
    shutil.copytree(place, folder)
    shutil.rmtree(folder / "policies", ignore_errors=True)
    inside = f'unshare --mount sh -c \'mount --bind "{folder}" {place} && exec "$@"\' sh'
    if subprocess.run([*("sh", "-c", f"{inside} true")], check=False, capture_output=True, timeout=30).returncode != 0:
        pytest.skip("this user may not make a mount namespace")
    wrapper = tmp_path / "chrome"
    wrapper.write_text(f'#!/bin/sh\nexec {inside} {chrome} "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    return Managed(str(wrapper), folder)


@pytest.fixture
def serving(managed: Managed, tmp_path: Path, site: Site) -> Callable[[], Any]:
    settings = DEFAULTS._replace(
        browser=DEFAULTS.browser._replace(executable_path=managed.executable),
        fetch=DEFAULTS.fetch._replace(navigation_timeout=45.0),
    )
    return lambda: daemon(tmp_path, site, site, site.netloc, settings=settings)


@pytest.mark.parametrize("policy", [DIRECT, DIRECT_SETTINGS, FOREIGN], ids=["direct", "direct-settings", "foreign"])
async def test_nothing_is_served_from_the_start(
    managed: Managed, serving: Callable[[], Any], site: Site, policy: dict[str, Any]
) -> None:
    managed.set(policy)
    async with serving() as d:
        document = await d.fetch("http://mail.test/page")
        assert document["error"]["code"] == "browser_failed", document
        assert "does not pass the guard" in document["error"]["reason"]
        assert "managed policy" in document["error"]["hint"]
        assert d.app.supervisor.state == "closed"
        assert site.asked("/page") == 0
        managed.set(None)
        assert (await d.fetch("http://mail.test/page"))["ok"], "the next start proves again"


async def test_a_policy_that_comes_later_ends_the_browser(
    managed: Managed, serving: Callable[[], Any], site: Site
) -> None:
    async with serving() as d:
        assert (await d.fetch("http://mail.test/page"))["ok"]
        before = d.app.supervisor.browser
        await d.app.watch.look()
        assert d.app.supervisor.browser is before, "nothing is wrong yet"
        proved = {lane["name"]: lane["proved"] for lane in d.app.guard.status()["lanes"]}
        assert proved["profile"] is not None
        held = asyncio.create_task(d.fetch("http://mail.test/hang"))
        async with asyncio.timeout(40):
            while not site.asked("/hang"):
                await asyncio.sleep(0.02)
            loop = asyncio.get_running_loop()
            told = 0.0
            while d.app.supervisor.browser is before:  # Chrome takes it over in its own time, or at the next word
                if loop.time() - told > 8.0:
                    managed.set(DIRECT)
                    told = loop.time()
                await asyncio.sleep(0.2)
                await d.app.watch.look()
        document = await held
        assert document["error"]["code"] == "browser_failed", document
        assert "does not pass the guard" in document["error"]["reason"]
        managed.set(None)
        assert (await d.fetch("http://mail.test/page"))["ok"]
        assert d.app.supervisor.restarts == 0
