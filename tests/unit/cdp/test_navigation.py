"""One visit of a tab, against a scripted Chrome: pages, files, refusals, silence, and cancelling in every phase."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fake_chrome import FakeChrome, Refusal

from cdpfetch.cdp import downloads
from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.connection import Connection
from cdpfetch.cdp.errors import CdpError, ConnectionClosed, SessionClosed
from cdpfetch.cdp.landing import DownloadFailed, NavigationFailed, NavigationTimeout, PageTooLarge, ResponseHead, Route
from cdpfetch.cdp.lifecycle import Limits
from cdpfetch.cdp.navigation import Navigation
from cdpfetch.cdp.tab import MAX_DIALOGS, Tab
from cdpfetch.cdp.transport import PipeTransport
from cdpfetch.daemon.faults import public_error

URL = "http://x.example/page"
LIMITS = Limits(navigation=5.0, settle=1.0)
HTML = "<html><body>hello</body></html>"
PULSE = {
    "readyState": "complete",
    "scripted": False,
    "still": 1.0,
    "length": 1000,
    "waiting": False,
    "matched": True,
    "refresh": None,
    "contentType": "text/html",
    "head": "hello",
    "height": 100,
    "tall": False,
    "atRest": False,
}
PAGE = {
    "html": HTML,
    "visible": 5,
    "url": URL,
    "title": "Hello",
    "contentType": "text/html",
    "charset": "UTF-8",
    "declared": True,
    "signals": None,
    "lang": "en",
    "truncated": None,
    "frames": 0,
    "suspects": 0,
}


class Decisions:
    """A router that notes what it is asked; each answer can be an exception to raise."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.redirects: list[tuple[str, str]] = []
        self.heads: list[ResponseHead] = []
        self.received: list[int] = []
        self.verdict: Exception | None = None
        self.redirect: Exception | None = None
        self.answer: Route | Exception = Route("render")
        self.limit: int | None = None

    async def judge(self, url: str) -> None:
        self.judged.append(url)
        if self.verdict is not None:
            raise self.verdict

    def redirected(self, head: ResponseHead, location: str) -> None:
        self.redirects.append((head.url, location))
        if self.redirect is not None:
            raise self.redirect

    def route(self, head: ResponseHead) -> Route:
        self.heads.append(head)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    max_bytes = 100_000_000

    def patience(self, head: object, capture: object) -> float:
        return 0.0

    def progress(self, received: int, total: int) -> None:
        self.received.append(received)
        if self.limit is not None and received > self.limit:
            raise Stop("too large")


class Stop(Exception):
    """What a router raises."""


class Visit:
    """A tab of a scripted Chrome, and what its site says next."""

    def __init__(self, chrome: FakeChrome, browser: Browser, tab: Tab) -> None:
        self.chrome = chrome
        self.browser = browser
        self.tab = tab
        self.router = Decisions()
        self.stages: list[str] = []
        self.evaluated: dict[str, Any] = {"look(": PULSE, "serialize(": PAGE}
        chrome.answer("Page.navigate", {"frameId": tab.target_id, "loaderId": "loader-1"})
        chrome.answer("Page.createIsolatedWorld", {"executionContextId": 7})
        chrome.answer("Runtime.evaluate", self._evaluate)

    def go(self, limits: Limits = LIMITS) -> asyncio.Task[Any]:
        navigation = Navigation(self.tab, self.router, limits, on_stage=self.stages.append)
        return asyncio.create_task(navigation.run(URL))

    def event(self, method: str, **params: Any) -> None:
        self.chrome.event(method, {"frameId": self.tab.target_id, **params}, self.tab.session.session_id)

    def ask(self, url: str = URL, request_id: str = "request") -> None:
        """Chrome is about to ask for a document."""
        self.event("Fetch.requestPaused", requestId=request_id, request={"url": url})

    def respond(self, status: int = 200, *, url: str = URL, **headers: str) -> None:
        """The server has answered; nothing is rendered yet."""
        pairs = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
        self.event(
            "Fetch.requestPaused",
            requestId="response",
            request={"url": url},
            responseStatusCode=status,
            responseHeaders=pairs,
        )

    def commit(self, url: str = URL) -> None:
        """The new document is shown, parsed and loaded."""
        self.event("Page.frameNavigated", frame={"id": self.tab.target_id, "loaderId": "loader-1", "url": url})
        self.event("Page.domContentEventFired")
        self.event("Page.loadEventFired")

    def download(self, state: str | None, received: int = 0, total: int = 0, guid: str = "guid") -> None:
        """A progress report; state None is the beginning."""
        params: dict[str, Any] = {"guid": guid, "frameId": self.tab.target_id, "url": URL, "suggestedFilename": "f"}
        if state is None:
            self.chrome.event("Browser.downloadWillBegin", params)
        else:
            progress = {"guid": guid, "receivedBytes": received, "totalBytes": total, "state": state}
            self.chrome.event("Browser.downloadProgress", progress)

    def _evaluate(self, params: dict[str, Any]) -> dict[str, Any]:
        for word, answer in self.evaluated.items():
            if word in params["expression"]:
                if isinstance(answer, list):
                    answer = answer.pop(0)
                if isinstance(answer, Exception):
                    raise answer
                return {"result": {"type": "object", "value": answer}}
        return {"result": {"type": "undefined"}}


@asynccontextmanager
async def visiting(directory: Path | None = None) -> AsyncIterator[Visit]:
    chrome, ours = await FakeChrome.open()
    browser = Browser(Connection(await PipeTransport.open(ours)), None)
    await browser._prepare(str(directory) if directory else None)
    try:
        yield Visit(chrome, browser, await browser.new_tab())
    finally:
        await browser.close()
        chrome.die()
        await chrome.gone


# pages


async def test_a_page_is_judged_answered_settled_and_captured() -> None:
    async with visiting() as visit:
        going = visit.go()
        await visit.chrome.saw("Page.navigate")
        visit.ask()
        await visit.chrome.saw("Fetch.continueRequest")
        visit.respond(200, Content_Type="text/html")
        await visit.chrome.saw("Fetch.continueResponse")
        visit.commit()
        landing = await going
        assert visit.router.judged == [URL]
        assert [head.status for head in visit.router.heads] == [200]
        assert landing.capture.html == HTML
        assert (landing.path, landing.received, landing.partial, landing.notes) == (None, 0, (), ())
        assert landing.head.header("content-type") == "text/html"
        assert list(landing.times) == ["committed", "settled", "captured"]
        assert visit.stages == ["navigating", "settling"]


async def test_nothing_is_asked_for_before_the_verdict() -> None:
    async with visiting() as visit:
        visit.router.verdict = Stop("127.0.0.1 is loopback")
        going = visit.go()
        visit.ask("http://127.0.0.1/")
        with pytest.raises(Stop, match="loopback"):
            await going
        assert visit.chrome.count("Fetch.continueRequest") == 0


async def test_each_hop_of_a_redirect_is_judged() -> None:
    async with visiting() as visit:
        going = visit.go()
        visit.ask("http://x.example/1")
        visit.respond(302, url="http://x.example/1", location="http://y.example/2")
        visit.ask("http://y.example/2")
        visit.respond(200, url="http://y.example/2")
        visit.commit("http://y.example/2")
        landing = await going
        assert visit.router.judged == ["http://x.example/1", "http://y.example/2"]
        assert visit.router.redirects == [("http://x.example/1", "http://y.example/2")]
        assert landing.head.url == "http://y.example/2"


async def test_a_redirect_may_be_stopped() -> None:
    async with visiting() as visit:
        visit.router.redirect = Stop("too many redirects")
        going = visit.go()
        visit.ask()
        visit.respond(301, location="/again")
        with pytest.raises(Stop, match="too many redirects"):
            await going
        assert visit.chrome.count("Fetch.continueResponse") == 0


@pytest.mark.parametrize(
    "error", ["net::ERR_NAME_NOT_RESOLVED", "net::ERR_CONNECTION_REFUSED", "net::ERR_CERT_DATE_INVALID"]
)
async def test_a_network_error_is_chromes_own_word(error: str) -> None:
    async with visiting() as visit:
        visit.chrome.answer("Page.navigate", {"frameId": visit.tab.target_id, "errorText": error})
        with pytest.raises(NavigationFailed, match=f"^{error} at {URL}$"):
            await visit.go()


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with visiting() as visit:
        visit.chrome.plan("Page.navigate", "drop")
        going = visit.go(Limits(0.05, 1.0))
        visit.ask()
        with pytest.raises(NavigationTimeout, match=r"page load timed out after 0\.05 s"):
            await going


async def test_a_page_whose_document_changes_under_the_probe_is_asked_again() -> None:
    async with visiting() as visit:
        gone = Refusal("Cannot find context with specified id")
        visit.evaluated["look("] = [gone, PULSE, PULSE, PULSE]
        going = visit.go()
        visit.commit()
        assert (await going).capture.title == "Hello"


async def test_the_agent_is_put_where_it_is_missing() -> None:
    async with visiting() as visit:
        visit.evaluated["look("] = ["cdpfetch: no agent", PULSE, PULSE]
        going = visit.go()
        visit.commit()
        assert (await going).capture.visible == 5


async def test_a_viewer_of_chromes_own_means_a_file(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.evaluated["look("] = {**PULSE, "contentType": "application/pdf"}
        going = visit.go()
        visit.commit()
        await visit.chrome.saw("Page.navigate", 2)
        visit.respond(200, Content_Type="application/pdf")
        await visit.chrome.saw("Fetch.continueResponse")
        visit.download(None)
        visit.download("completed", 7, 7)
        landing = await going
        assert (landing.capture, landing.path, landing.received) == (None, str(tmp_path / "guid"), 7)


# files


async def test_a_file_is_saved_by_chrome_and_its_bytes_never_come_here(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.router.answer = Route("download")
        going = visit.go()
        visit.ask()
        visit.respond(404, Content_Type="application/zip", content_disposition='inline; filename="a.zip"')
        continued = await visit.chrome.saw("Fetch.continueResponse")
        assert continued["params"]["responseCode"] == 200  # Chrome saves no body of an error
        assert continued["params"]["responseHeaders"] == [
            {"name": "Content-Type", "value": "application/zip"},
            {"name": "Content-Disposition", "value": "attachment"},
        ]
        visit.download(None)
        visit.download("inProgress", 4, 10)
        visit.download("completed", 10, 10)
        landing = await going
        assert landing.path == str(tmp_path / "guid")
        assert landing.received == 10
        assert landing.head.status == 404
        assert visit.router.received[-1] == 10
        assert visit.stages == ["navigating", "downloading"]
        assert visit.browser.downloads == {}


async def test_a_file_over_the_limit_is_stopped_and_removed(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.router.answer, visit.router.limit = Route("download"), 5
        going = visit.go()
        visit.respond(200)
        visit.download(None)
        (tmp_path / "guid").write_bytes(b"partial")
        visit.download("inProgress", 6, 0)
        with pytest.raises(Stop, match="too large"):
            await going
        assert (await visit.chrome.saw("Browser.cancelDownload"))["params"] == {"guid": "guid"}
        assert list(tmp_path.iterdir()) == []
        assert visit.browser.downloads == {}


async def test_a_file_that_grows_is_stopped_before_chrome_tells_of_it(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.router.answer, visit.router.limit = Route("download"), 5
        going = visit.go()
        visit.respond(200)
        visit.download(None)
        (tmp_path / "guid.crdownload").write_bytes(b"partial")
        with pytest.raises(Stop, match="too large"):
            await going
        assert (await visit.chrome.saw("Browser.cancelDownload"))["params"] == {"guid": "guid"}
        assert list(tmp_path.iterdir()) == []


async def test_a_document_that_unpacks_to_too_much_is_given_up(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        going = visit.go(LIMITS._replace(document_bytes=1000))
        visit.respond(200)
        visit.event("Page.frameNavigated", frame={"id": visit.tab.target_id, "loaderId": "loader-1", "url": URL})
        for _ in range(11):
            visit.event("Network.dataReceived", requestId="loader-1", dataLength=100, encodedDataLength=1)
        with pytest.raises(PageTooLarge, match="unpacks to more than the limit of 1,000 bytes") as caught:
            await going
        assert caught.value.head.status == 200
        assert public_error(caught.value).code == "too_large"


async def test_a_page_that_loads_without_end_is_taken_as_it_is(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.evaluated["look("] = {**PULSE, "scripted": True, "still": 0.0}
        going = visit.go(Limits(60.0, 60.0, document_bytes=1000, page_bytes=1000))
        visit.respond(200)
        visit.commit()
        for number in range(11):
            visit.event("Network.dataReceived", requestId=f"other-{number}", dataLength=100, encodedDataLength=1)
        landing = await going
        assert landing.capture.html == HTML
        assert landing.partial == ("it loads more than 1,000 bytes; loading was stopped",)
        await visit.chrome.saw("Page.stopLoading")


async def test_a_file_that_breaks_off_is_said_with_its_figures(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.router.answer = Route("download")
        going = visit.go()
        visit.respond(200, Content_Length="50000")
        visit.download(None)
        visit.download("inProgress", 1000, 50000)
        visit.download("canceled", 1000, 50000)
        with pytest.raises(DownloadFailed, match="the connection was closed after 1000 bytes of the declared 50000"):
            await going


async def test_a_file_that_stalls_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "STALL_TIMEOUT", 0.05)
    async with visiting(tmp_path) as visit:
        visit.router.answer = Route("download")
        going = visit.go()
        visit.respond(200)
        visit.download(None)
        visit.download("inProgress", 10, 0)
        with pytest.raises(NavigationTimeout, match=r"10 bytes.* timed out after 0\.05 s"):
            await going
        await visit.chrome.saw("Browser.cancelDownload")


async def test_a_download_that_a_page_starts_by_itself_is_stopped(tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        visit.evaluated["look("] = {**PULSE, "scripted": True, "still": 0.0}
        going = visit.go(Limits(5.0, 0.2))
        visit.respond(200)
        visit.commit()
        visit.download(None, guid="unwanted")
        landing = await going
        assert landing.capture.html == HTML
        assert landing.notes == (("download_ignored", f"the page started a download by itself: {URL}"),)
        assert (await visit.chrome.saw("Browser.cancelDownload"))["params"] == {"guid": "unwanted"}


@pytest.mark.parametrize("endless", [False, True])
async def test_a_body_without_an_end_is_read_for_a_while(tmp_path: Path, endless: bool) -> None:
    async with visiting(tmp_path) as visit:
        chunks = [base64.b64encode(b"one").decode(), base64.b64encode(b"two").decode()]

        def read(params: dict[str, Any]) -> dict[str, Any]:
            return {"data": chunks.pop(0) if chunks else "", "base64Encoded": True, "eof": not endless and not chunks}

        visit.router.answer = Route("stream", 0.1 if endless else 10.0)
        visit.chrome.answer("Fetch.takeResponseBodyAsStream", {"stream": "handle"})
        visit.chrome.answer("IO.read", read)
        visit.chrome.plan("IO.read", "drop", 3)
        going = visit.go()
        visit.respond(200, Content_Type="text/event-stream")
        landing = await going
        assert Path(landing.path).read_bytes() == b"onetwo"
        assert landing.received == 6
        whole = () if not endless else ("the answer has no end; these are its first 0.1 s (6 bytes)",)
        assert landing.partial == whole
        assert (await visit.chrome.saw("IO.close"))["params"] == {"handle": "handle"}


# faults in every phase


async def at_request(visit: Visit) -> None:
    await visit.chrome.saw("Page.navigate")


async def at_response(visit: Visit) -> None:
    visit.ask()
    await visit.chrome.saw("Fetch.continueRequest")


async def at_probe(visit: Visit) -> None:
    visit.chrome.plan("Runtime.evaluate", "drop")
    visit.commit()
    await visit.chrome.saw("Runtime.evaluate")


async def at_capture(visit: Visit) -> None:
    visit.chrome.plan("Runtime.evaluate", "drop", 2)
    visit.commit()
    await visit.chrome.saw("Runtime.evaluate", 2)


async def at_download(visit: Visit) -> None:
    visit.router.answer = Route("download")
    visit.respond(200)
    visit.download(None)
    visit.download("inProgress", 3, 9)
    await visit.browser.connection.root.execute("A.round-trip")


async def at_stream(visit: Visit) -> None:
    visit.router.answer = Route("stream", 20.0)
    visit.chrome.answer("Fetch.takeResponseBodyAsStream", {"stream": "handle"})
    visit.chrome.plan("IO.read", "drop")
    visit.respond(200)
    await visit.chrome.saw("IO.read")


PHASES = [at_request, at_response, at_probe, at_capture, at_download, at_stream]


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
async def test_cancelling_in_any_phase_leaves_nothing(phase: Any, tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        going = visit.go()
        await phase(visit)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        await visit.tab.close()
        await visit.browser.connection.root.execute("A.round-trip")
        assert visit.browser.downloads == {}
        assert visit.browser.tabs == {}
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
async def test_a_crash_in_any_phase_ends_the_visit_at_once(phase: Any, tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        going = visit.go(Limits(60.0, 60.0))
        await phase(visit)
        visit.chrome.event("Target.targetCrashed", {"targetId": visit.tab.target_id, "status": "crashed"})
        with pytest.raises(SessionClosed, match=r"the target is gone \(crashed"):
            await going
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: phase.__name__)
async def test_the_end_of_chrome_in_any_phase_ends_the_visit_at_once(phase: Any, tmp_path: Path) -> None:
    async with visiting(tmp_path) as visit:
        going = visit.go(Limits(60.0, 60.0))
        await phase(visit)
        visit.chrome.die()
        with pytest.raises(CdpError) as caught:
            await going
        assert isinstance(caught.value, ConnectionClosed)
        assert list(tmp_path.iterdir()) == []


# dialogs


@pytest.mark.parametrize(
    ("kind", "accept"), [("alert", False), ("confirm", False), ("prompt", False), ("beforeunload", True)]
)
async def test_a_dialog_is_answered_at_once(kind: str, accept: bool) -> None:
    async with visiting() as visit:
        visit.event("Page.javascriptDialogOpening", type=kind, message="?", url=URL)
        answered = await visit.chrome.saw("Page.handleJavaScriptDialog")
        assert answered["params"] == {"accept": accept}


async def test_a_page_that_shows_dialogs_without_end_is_silenced() -> None:
    async with visiting() as visit:
        for _ in range(MAX_DIALOGS - 1):
            visit.event("Page.javascriptDialogOpening", type="alert", message="?", url=URL)
        await visit.chrome.saw("Page.handleJavaScriptDialog", MAX_DIALOGS - 1)
        assert visit.chrome.count("Emulation.setScriptExecutionDisabled") == 0
        visit.event("Page.javascriptDialogOpening", type="alert", message="?", url=URL)
        assert (await visit.chrome.saw("Emulation.setScriptExecutionDisabled"))["params"] == {"value": True}
        await visit.chrome.saw("Runtime.terminateExecution")
