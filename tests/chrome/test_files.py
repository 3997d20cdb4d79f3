"""What Chrome does not render, in the real browser: exact bytes, caps, broken transfers."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from testsite import PDF, Site
from visits import OpenRouter, visit

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.landing import DownloadFailed, Landing, NavigationTimeout
from cdpfetch.daemon import routing
from cdpfetch.errors import CdpFetchError


def taken(landing: Landing) -> bytes:
    """The file's bytes; the file is removed."""
    assert landing.path is not None
    with open(landing.path, "rb") as file:
        data = file.read()
    os.unlink(landing.path)
    return data


@pytest.mark.parametrize(
    "path", ["/file.pdf", "/pdf-as-html", "/redirect?left=1&to=/file.pdf", "/script-redirect?to=/file.pdf"]
)
async def test_a_pdf_comes_as_its_bytes(browser: Browser, site: Site, path: str) -> None:
    landing = await visit(browser, site.url(path))
    assert taken(landing) == PDF
    assert landing.head is not None and landing.head.status == 200


async def test_text_and_json_come_as_their_bytes(browser: Browser, site: Site) -> None:
    assert taken(await visit(browser, site.url("/data.json"))).startswith(b'{"id":9007199254740993,')
    assert taken(await visit(browser, site.url("/notes.txt"))) == b"one\n\ttwo <b> &amp;\n\n\n    four\n"


async def test_a_large_file_never_crosses_the_pipe(browser: Browser, site: Site) -> None:
    size = 20_000_000
    router = OpenRouter()
    landing = await visit(browser, site.url(f"/blob?size={size}"), router)
    assert landing.path is not None and os.path.getsize(landing.path) == size == landing.received
    with open(landing.path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    os.unlink(landing.path)
    chunk = b"0123456789abcdef" * 4096
    assert digest == hashlib.sha256((chunk * (size // len(chunk) + 1))[:size]).hexdigest()


async def test_a_declared_length_over_the_cap_is_refused_unread(browser: Browser, site: Site) -> None:
    with pytest.raises(CdpFetchError, match="declared size 5,000,000 bytes exceeds the limit of 1,000,000") as caught:
        await visit(browser, site.url("/blob?size=5000000"), OpenRouter(1_000_000))
    assert caught.value.code == "too_large"


async def test_an_undeclared_body_over_the_cap_is_stopped(browser: Browser, site: Site) -> None:
    with pytest.raises(CdpFetchError) as caught:
        await visit(browser, site.url("/blob?size=50000000&declared=none&rate=20000000"), OpenRouter(1_000_000))
    assert caught.value.code == "too_large"


async def test_a_broken_transfer_is_no_file(browser: Browser, site: Site) -> None:
    with pytest.raises((DownloadFailed, NavigationTimeout), match="20000 bytes of the declared 50000"):
        await visit(browser, site.url("/blob?size=50000&sent=20000"))


async def test_a_stalled_transfer_is_given_up(browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdpfetch.cdp.downloads.STALL_TIMEOUT", 1.0)
    with pytest.raises(NavigationTimeout, match="incomplete download"):
        await visit(browser, site.url("/blob?size=900000&sent=4096&then=hang"))


async def test_a_stream_without_end_gives_its_beginning(
    browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(routing._ENDLESS, "application/x-ndjson", 1.5)
    landing = await visit(browser, site.url("/endless.ndjson"))
    numbers = [json.loads(line)["line"] for line in taken(landing).splitlines()[:3]]
    assert numbers == [1, 2, 3]
    assert len(landing.partial) == 1 and "the answer has no end" in landing.partial[0]


@pytest.mark.parametrize("path", ["/status/204", "/status/205"])
async def test_statuses_without_a_body(browser: Browser, site: Site, path: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        await visit(browser, site.url(path))
    assert caught.value.code == "empty_response"


async def test_a_file_with_an_error_status_is_kept(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/error.json"))
    assert landing.head is not None and landing.head.status == 422
    assert taken(landing) == b'{"problem": "the tide"}'
