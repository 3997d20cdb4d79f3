"""Sanitised builds of cdpf and of the driver of its parts."""

from __future__ import annotations

from pathlib import Path

import pytest
import twins


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver, with the address and undefined-behaviour sanitisers."""
    parts = [path for path in sorted(twins.NATIVE.glob("*.c")) if path.name != "main.c"]
    output = tmp_path_factory.mktemp("native") / "driver"
    flags = [*twins.SANITISERS, f"-DCDPF_SILENCE={twins.SILENCE}"]
    return twins.build(output, *flags, sources=[Path(__file__).with_name("driver.c"), *parts])


@pytest.fixture(scope="session")
def sanitised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, sanitised, which takes a daemon for wedged early."""
    output = tmp_path_factory.mktemp("native") / "cdpf"
    return twins.build(output, *twins.SANITISERS, f"-DCDPF_SILENCE={twins.SILENCE}")
