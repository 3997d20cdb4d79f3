"""One browser for all tests of this folder, in one loop; each test must leave it as it found it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import leaks
import pytest
from testsite import Site

from cdpfetch.cdp import flags
from cdpfetch.cdp.browser import Browser

LIMIT = 50.0
_runner: asyncio.Runner | None = None


def runner() -> asyncio.Runner:
    """The loop of this folder's tests."""
    global _runner
    if _runner is None:
        _runner = asyncio.Runner(debug=True)
        _runner.get_loop().slow_callback_duration = 10.0
    return _runner


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run ``async def`` tests in the folder's loop, so that they can share the browser."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def guarded() -> None:
        before = asyncio.all_tasks()
        async with asyncio.timeout(LIMIT):
            await pyfuncitem.obj(**arguments)
        left = [task for task in asyncio.all_tasks() - before if not task.done()]
        assert not left, f"tasks are left: {left}"

    runner().run(guarded())
    return True


def command(chrome: str, profile: Path, *extra: str) -> list[str]:
    """The command line of a test's own browser."""
    return flags.headless(chrome, str(profile), no_sandbox=os.geteuid() == 0, extra=extra, platform=sys.platform)


@pytest.fixture(scope="session")
def shared_browser(chrome: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The browser that the tests share."""
    root = tmp_path_factory.mktemp("shared")
    (root / "downloads").mkdir()
    browser = runner().run(Browser.launch(command(chrome, root / "profile"), os.environ, str(root / "downloads")))
    yield browser
    runner().run(browser.close())
    process = browser.process
    assert process is not None and process.returncode is not None
    runner().close()


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """The leak check, for tests that share a browser and a site: both are started before it looks."""
    pid = None
    runner().get_loop()  # its own descriptors are no test's
    if "browser" in request.fixturenames:
        process = request.getfixturevalue("shared_browser").process
        request.getfixturevalue("shared_site")
        pid = process.pid
    before = leaks.snapshot(pid)
    yield
    found = leaks.leaked(before, apart_from=pid)
    assert not found, "left behind: " + "; ".join(found)


@pytest.fixture
def browser(shared_browser: Browser) -> Iterator[Browser]:
    """The shared browser; the test must close its tabs, answer its calls and end its downloads."""
    yield shared_browser

    async def pages() -> list[str]:
        only = {"filter": [{"type": "page"}]}
        targets = await shared_browser.connection.root.execute("Target.getTargets", only)
        return [f"page {info['url']}" for info in targets["targetInfos"]]

    async def settled() -> list[str]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                while _left(shared_browser) or await pages():
                    await asyncio.sleep(0.02)
        assert shared_browser.download_dir is not None
        found = _left(shared_browser) + await pages()
        return found + [f"file {name}" for name in os.listdir(shared_browser.download_dir)]

    found = runner().run(settled())
    assert not found, f"left in the browser: {found}"


def _left(browser: Browser) -> list[str]:
    found = [repr(tab) for tab in browser.tabs.values()] + [repr(one) for one in browser.downloads.values()]
    if browser.connection.sessions:
        found.append(f"{browser.connection.sessions} sessions")
    if browser.connection.pending:
        found.append(f"{browser.connection!r}")
    return found


@pytest.fixture(scope="session")
def shared_site() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def site(shared_site: Site) -> Site:
    shared_site.requests.clear()
    return shared_site
