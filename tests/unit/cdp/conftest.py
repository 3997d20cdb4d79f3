"""Coroutine tests of the cdp package: each has a loop of its own, a time limit, and may leave no task behind."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

# Seconds for one test; nothing here waits for anything but this process and its children.
LIMIT = 30.0


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run ``async def`` tests."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with asyncio.Runner(debug=True) as runner:
        runner.run(_guarded(pyfuncitem.obj, arguments))
    return True


async def _guarded(test: Any, arguments: dict[str, Any]) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(LIMIT):
        await test(**arguments)
    left = [task for task in asyncio.all_tasks() - before if not task.done()]
    assert not left, f"tasks are left: {left}"
