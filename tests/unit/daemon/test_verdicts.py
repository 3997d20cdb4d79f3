"""What a page really is, by tables of what it shows."""

from __future__ import annotations

import pytest

from cdpfetch.cdp.capture import Capture, Signals
from cdpfetch.cdp.landing import ResponseHead
from cdpfetch.daemon.verdicts import judge, wall_of

URL = "https://quay.example/members"


def head(status: int = 200, **headers: str) -> ResponseHead:
    return ResponseHead(URL, status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), False)


def page(url: str = URL, title: str = "", *, visible: int | None = None, **seen: object) -> Capture:
    signals = Signals(**{"text": 5000, **seen})  # type: ignore[arg-type]
    shown = signals.text if visible is None else visible
    return Capture("<html>", shown, url, title, "text/html", "UTF-8", True, "en", None, 0, signals)


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        (head(403, cf_mitigated="challenge"), page(text=9000)),
        (head(200, cf_mitigated="challenge"), page()),
        (head(202, x_amzn_waf_action="challenge"), page()),
        (head(405, x_amzn_waf_action="captcha"), page()),
        (head(403, x_dd_b="2"), page()),
        (head(429, x_kpsdk_ct="0a1b2c"), page()),
        (head(405, x_amzn_waf_action="captcha"), page()),
        (head(403), page(title="Just a moment...", text=120, head="quay.example Verifying you are human.")),
        (head(503), page(text=300, head="DDoS protection by Somebody")),
        (head(200), page(text=150, walls=("datadome",))),
        (head(403), page(text=400, walls=("turnstile",))),
        (head(200), page(title="Are you a robot?", text=200, head="Are you a robot?", scripted=True)),
    ],
)
def test_a_wall_is_a_challenge(answer: ResponseHead, taken: Capture) -> None:
    verdict = judge(answer, taken, URL)
    assert verdict.word == "challenge"
    assert verdict.error is not None
    assert verdict.error.code == "challenge"
    assert verdict.error.hint == f"pass it once by hand: cdpfetch open-browser {URL}"


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        (head(), page(title="Verify you are human: why walls annoy", text=4000, head="just a moment", scripted=True)),
        (head(), page(title="Contact", text=700, walls=("recaptcha",), head="Write to us")),
        (head(), page(title="Security check lists for boats", text=900, head="security check", scripted=True)),
        (head(403), page(title="Forbidden", text=80, head="You may not see this")),
        (head(), page(title="Sign in", text=200, walls=("turnstile",), passwords=1, names=1, form_text=80)),
        (head(200, x_datadome="protected"), page()),
    ],
)
def test_what_is_no_wall(answer: ResponseHead, taken: Capture) -> None:
    assert wall_of(answer, taken) is None


@pytest.mark.parametrize(
    "taken",
    [
        page(title="Sign in", text=120, passwords=1, names=1, form_text=70),
        page("https://quay.example/login?next=/members", "Quay", text=120, passwords=1, names=1, form_text=70),
        page("https://id.example/oauth/authorize", "Anmelden", text=300, names=1, form_text=90),
        page(title="Quay", heading="Log in to your account", text=500, passwords=1, form_text=200),
        page(title="ログイン", text=90, passwords=1, names=1, form_text=40),
    ],
)
def test_a_sign_in_page_is_told_with_its_origin_and_the_command(taken: Capture) -> None:
    verdict = judge(head(), taken, URL)
    assert verdict.word == "login_required"
    assert verdict.error is not None
    assert verdict.error.code == "login_required"
    assert "https://" in verdict.error.reason
    assert verdict.error.hint == f"sign in once: cdpfetch open-browser {URL}"


@pytest.mark.parametrize(
    "taken",
    [
        page(title="News", text=4000, passwords=1, names=1, form_text=70),
        page(title="Sign in for boats", text=1100, passwords=1, form_text=70),
        page(title="Create an account", heading="Register", text=300, passwords=2, names=1, form_text=200),
        page(title="Newsletter", text=300, names=1, form_text=100),
        page(title="How to sign in", text=900),
    ],
)
def test_a_box_beside_content_is_no_sign_in_page(taken: Capture) -> None:
    assert judge(head(), taken, URL).word == "ok"


@pytest.mark.parametrize(
    "taken",
    [
        page(title="404", heading="Page not found", text=300),
        page(title="Quay", heading="The document you asked for does not exist", text=500),
        page(title="Seite nicht gefunden", text=200),
        page(title="Quay", heading="Error 404", text=200),
        page(title="Internal Server Error", text=60),
    ],
)
def test_an_error_in_disguise_is_said(taken: Capture) -> None:
    verdict = judge(head(), taken, URL)
    assert (verdict.word, verdict.error) == ("error_page", None)
    assert verdict.warning is not None
    assert verdict.warning[0] == "soft_error"


@pytest.mark.parametrize(
    "taken",
    [
        page(title="How we handle 404 pages", heading="How we handle 404 pages", text=6000),
        page(title="Route 404", heading="Along route 404", text=900),
        page(title="Lost and found", heading="What was found", text=500),
    ],
)
def test_an_article_about_errors_is_none(taken: Capture) -> None:
    assert judge(head(), taken, URL).word == "ok"


def test_a_shell_is_thin_and_a_short_page_is_not() -> None:
    assert judge(head(), page(text=20, visible=20, scripted=True), URL).word == "thin"
    assert judge(head(), page(text=20, visible=20, scripted=False), URL).word == "ok"
    assert judge(head(), page(text=20, visible=900, scripted=True), URL).word == "ok", "its text is in shadow roots"


def test_a_page_whose_data_holds_its_content_is_not_thin() -> None:
    assert judge(head(), page(text=0, visible=0, scripted=True), URL, recovered=True).word == "ok"
