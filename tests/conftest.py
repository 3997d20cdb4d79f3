"""What all tests share: coroutine tests, the leak check, and the rule about Chrome."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from typing import Any

import leaks
import pytest

from cdpfetch.cdp.discovery import find_chrome
from cdpfetch.errors import CdpFetchError

# Seconds for one coroutine test; the runner's own limit is above it, so that this one names the place.
LIMIT = 50.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run ``async def`` tests, each in a loop of its own, in asyncio's debug mode."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with asyncio.Runner(debug=True) as runner:
        runner.run(_guarded(pyfuncitem.obj, arguments))
    return True


async def _guarded(test: Any, arguments: dict[str, Any]) -> None:
    """A test that may leave no task behind: a pending one fails it, though the runner would cancel it."""
    asyncio.get_running_loop().slow_callback_duration = 10.0  # a loaded machine is no defect
    before = asyncio.all_tasks()
    async with asyncio.timeout(LIMIT):
        await test(**arguments)
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    assert not left, f"tasks are left: {left}"


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail a test that leaves a descriptor or a child process behind."""
    before = leaks.snapshot()
    yield
    found = leaks.leaked(before)
    assert not found, "left behind: " + "; ".join(found)


@pytest.fixture(scope="session")
def chrome() -> str:
    """The browser's path; without one the test is skipped, or fails where ``CDPFETCH_REQUIRE_CHROME=1``."""
    try:
        return find_chrome(os.environ.get("CDPFETCH_CHROME"))
    except CdpFetchError as error:
        if os.environ.get("CDPFETCH_REQUIRE_CHROME") == "1":
            pytest.fail(f"Chrome is required here: {error}")
        pytest.skip(f"no Chrome on this machine: {error.reason}")
