"""Real pages in the real browser: readiness, capture, traps."""

from __future__ import annotations

import asyncio
import time

import pytest
from testsite import Site
from visits import OpenRouter, visit

from cdpfetch.cdp.browser import Browser
from cdpfetch.cdp.errors import SessionClosed
from cdpfetch.cdp.landing import NavigationFailed, NavigationTimeout
from cdpfetch.cdp.lifecycle import Limits


async def test_a_static_page(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/page?word=tide"))
    assert landing.capture is not None and landing.head is not None
    assert landing.head.status == 200
    assert landing.capture.title == "About tide"
    assert "<h1>The tide</h1>" in landing.capture.html
    assert landing.capture.url == site.url("/page?word=tide")
    assert landing.partial == ()
    assert landing.capture.content_type == "text/html"


async def test_a_page_made_by_a_script(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/script?delay=300"))
    assert landing.capture is not None
    assert "<h1>Made by script</h1>" in landing.capture.html
    assert landing.partial == ()


@pytest.mark.parametrize("path", ["/polling", "/hanging-image"])
async def test_what_never_ends_is_not_waited_for(browser: Browser, site: Site, path: str) -> None:
    start = time.monotonic()
    landing = await visit(browser, site.url(path), limits=Limits(navigation=30, settle=30))
    assert landing.capture is not None and "The keeper counted" in landing.capture.html
    assert time.monotonic() - start < 15, "it must not be the limits that ended it"


async def test_a_body_that_stalls_is_taken_as_far_as_it_came(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/hang-body"), limits=Limits(navigation=1.5, settle=1))
    assert landing.capture is not None and "<h1>Half a page</h1>" in landing.capture.html
    assert landing.partial == ("the document was still loading after 1.5 s",)


async def test_a_server_that_says_nothing(browser: Browser, site: Site) -> None:
    with pytest.raises(NavigationTimeout, match=r"page load timed out after 1 s"):
        await visit(browser, site.url("/hang"), limits=Limits(navigation=1, settle=1))


async def test_scripts_that_hold_the_page_are_ended(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/busy"))
    assert landing.capture is not None and "<h1>Busy</h1>" in landing.capture.html
    assert [code for code, _ in landing.notes] == ["scripts_stopped"]
    assert landing.partial == ("its scripts were ended",)


async def test_endless_dialogs_are_answered_and_then_stopped(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/alerts"))
    assert landing.capture is not None and "<h1>Alerts</h1>" in landing.capture.html


async def test_popups_are_closed(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/popups"))
    assert landing.capture is not None and "<h1>Popups</h1>" in landing.capture.html


async def test_closed_shadow_roots_are_read(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/closed-shadow"))
    assert landing.capture is not None
    assert "Closed words OYSTER-5" in landing.capture.html
    assert "Deeper words OYSTER-6" in landing.capture.html


async def test_every_hop_is_judged_before_it_is_asked_for(browser: Browser, site: Site) -> None:
    router = OpenRouter()
    landing = await visit(browser, site.url("/redirect?left=2"), router)
    assert landing.capture is not None and landing.capture.url == site.url("/page?word=end")
    assert router.judged == [site.url(p) for p in ("/redirect?left=2", "/redirect?left=1", "/page?word=end")]
    assert router.redirects == [(302, "/redirect?left=1"), (302, "/page?word=end")]


async def test_a_refused_hop_is_never_asked_for(browser: Browser, site: Site) -> None:
    class Refusing(OpenRouter):
        async def judge(self, url: str) -> None:
            if "forbidden" in url:
                raise PermissionError(url)

    for path in (f"/redirect?left=1&to={'/page?word=forbidden'}", "/script-redirect?to=/page%3Fword=forbidden"):
        with pytest.raises(PermissionError):
            await visit(browser, site.url(path), Refusing())
    assert site.asked("/page") == 0


async def test_a_script_redirect_is_followed(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/script-redirect"))
    assert landing.capture is not None and landing.capture.title == "About landed"


async def test_net_errors_come_by_name(browser: Browser, site: Site) -> None:
    for path, error in (
        ("/redirect-loop", "net::ERR_TOO_MANY_REDIRECTS"),
        ("/reset", "net::ERR_EMPTY_RESPONSE"),
        ("/bad-gzip", "net::ERR_CONTENT_DECODING_FAILED"),
        ("/redirect-out?to=file:///etc/passwd", "net::ERR_UNSAFE_REDIRECT"),
    ):
        with pytest.raises(NavigationFailed) as caught:
            await visit(browser, site.url(path))
        assert caught.value.error == error


async def test_a_crashed_renderer_costs_its_own_fetch_only(browser: Browser, site: Site) -> None:
    tab = await browser.new_tab()
    try:
        # What a page that breaks its renderer does, on command: CDP has a method for it.
        tab.session.on("Page.loadEventFired", lambda event: tab.session.send("Page.crash", timeout=5.0) and None)
        from cdpfetch.cdp.navigation import Navigation

        with pytest.raises(SessionClosed) as caught:
            await Navigation(tab, OpenRouter(), Limits()).run(site.url("/crash"))
        assert caught.value.kind == "crashed"
    finally:
        await tab.close()
    landing = await visit(browser, site.url("/page"))
    assert landing.capture is not None


async def test_a_page_of_many_nodes_is_captured_whole(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/many?rows=20000"))
    assert landing.capture is not None
    assert landing.capture.html.count("<tr>") == 20000
    assert landing.capture.truncated is None


async def test_frames_stand_in_their_places(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/frames"))
    assert landing.capture is not None
    html = landing.capture.html
    # One frame of the same origin, one of another host (its own process), one that is refused.
    assert (
        html.index("Before the frames")
        < html.index("The inner")
        < html.index("The outer")
        < html.index("After the frames")
    )


async def test_what_is_not_shown_is_marked(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/hidden"))
    assert landing.capture is not None
    html = landing.capture.html
    assert '<p class="off" data-cdpfetch-hidden="">by a rule</p>' in html
    assert '<p hidden="" data-cdpfetch-hidden="">by attribute</p>' in html
    assert '<p data-cdpfetch-hidden="">by visibility</p>' in html.replace(' style="visibility:hidden"', "")
    assert "<p>inside details</p>" in html
    assert '<span class="row" data-cdpfetch-block="">a row</span>' in html
    assert "a comment" not in html and "let script" not in html
    assert landing.capture.visible == len("Seensummaryinsidedetailsarow")


@pytest.mark.parametrize("how", ["body{visibility:hidden}", "body{display:none}", "html{visibility:hidden}"])
async def test_a_page_that_hides_itself_as_a_whole_is_read(browser: Browser, site: Site, how: str) -> None:
    landing = await visit(browser, site.url(f"/veiled?how={how}"))
    assert landing.capture is not None
    assert landing.capture.visible > 200
    assert '<p style="display:none" data-cdpfetch-hidden="">' in landing.capture.html


async def test_what_stands_behind_a_script_that_never_comes_is_read_without_it(browser: Browser, site: Site) -> None:
    end = asyncio.get_running_loop().time() + 30
    landing = await visit(browser, site.url("/blocked"), limits=Limits(navigation=1.0, settle=1.0, end=end))
    assert landing.capture is not None
    assert "<h1>Behind a script</h1>" in landing.capture.html
    assert landing.partial == ("the page showed nothing until its time was over, and was read without its scripts",)
    assert site.asked("/blocked") == 2
    # Without the time for it there is nothing to give.
    soon = asyncio.get_running_loop().time() + 2
    landing = await visit(browser, site.url("/blocked"), limits=Limits(navigation=1.0, settle=1.0, end=soon))
    assert landing.capture is not None
    assert landing.capture.visible == 0


async def test_a_document_that_a_script_holds_up_is_read_to_its_end(browser: Browser, site: Site) -> None:
    end = asyncio.get_running_loop().time() + 40
    landing = await visit(browser, site.url("/held-up"), limits=Limits(navigation=20.0, settle=1.0, end=end))
    assert landing.capture is not None
    assert "<h2>Second part</h2>" in landing.capture.html
    assert landing.partial == ("scripts that do not come held up the document, which was read without them",)
    # What scripts had made of the first part may be more than all that the server has written.
    landing = await visit(browser, site.url("/held-up?grows=1"), limits=Limits(navigation=20.0, settle=1.0, end=end))
    assert landing.capture is not None
    assert "grown grown" in landing.capture.html
    assert landing.partial[0].startswith("the document was held up by scripts that do not come")


async def test_the_browser_s_own_error_page_in_a_frame_is_no_content(browser: Browser, site: Site) -> None:
    landing = await visit(browser, site.url("/dead-frame"))
    assert landing.capture is not None
    assert "<h1>Around a frame</h1>" in landing.capture.html
    assert "127.0.0.1:9" not in landing.capture.html.replace('data-cdpfetch-frame="http://127.0.0.1:9/film"', "")
    assert 'src="http://' in landing.capture.html.partition("<video")[2], "the source of a film is its address"
