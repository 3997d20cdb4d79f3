"""What the tests of extraction share."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdpfetch.extract import extract_file


@pytest.fixture(scope="session", autouse=True)
def warm_converter() -> None:
    """The document library keeps its threads and their descriptors for good: not a leak of the test that is first."""
    extract_file(Path(__file__).resolve().parents[2] / "fixtures" / "extract" / "memo.docx")
