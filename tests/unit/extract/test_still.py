"""What a page shows before its scripts: text, what it seems to be, and whether a browser would show more."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdpfetch.extract import still

PROSE = "The keeper counted the lamps twice before the tide came in, and wrote the number down. "
SCRIPT = "<script>go()</script>"


def look(body: str, head: str = "") -> dict[str, object]:
    return still.look(f"<!doctype html><html lang=de><head><title> A \n page </title>{head}</head><body>{body}</body>")


def test_the_text_that_shows() -> None:
    seen = look(
        "<h1>Tide</h1><p>one <b>t</b>wo</p><p hidden>no</p><div style='color:red; display : none'>no</div>"
        "<noscript>no</noscript><template>no</template><style>no</style><script type=a/b>no</script>"
        "<p hidden=until-found>three</p><textarea>no</textarea>"
    )
    assert (seen["title"], seen["lang"]) == ("A page", "de")
    assert seen["signals"]["head"] == "Tide one two three no"  # what a field holds shows
    assert seen["signals"]["text"] == 21
    assert seen["visible"] == 17
    assert seen["signals"]["heading"] == "Tide"
    assert seen["shell"] is None


def test_a_sign_in_page() -> None:
    seen = look(
        "<h1>Sign in</h1><form><label>Name <input name=username></label><input type=password>"
        "<input type=password style='display:none'><input type=hidden name=user></form>"
    )["signals"]
    assert (seen["passwords"], seen["names"], seen["form_text"]) == (1, 1, 4)


def test_a_field_without_a_form_has_the_box_around_it() -> None:
    seen = look(f"<main><div><input type=email></div><p>{PROSE}</p></main><footer>{PROSE * 3}</footer>")["signals"]
    assert seen["form_text"] == len(PROSE.strip())


@pytest.mark.parametrize(
    ("markup", "vendor"),
    [
        ("<div id=challenge-form></div>", "cloudflare"),
        ("<div class='a cf-turnstile'></div>", "turnstile"),
        ("<iframe src='https://geo.captcha-delivery.com/x'></iframe>", "datadome"),
        ("<script src=/cdn-cgi/challenge-platform/h/b/orchestrate/x></script>", "cloudflare"),
        ("<form id=captcha-form action=index></form>", "google"),
        ("<script src=/.within.website/x/cmd/anubis/static/js/main.mjs></script>", "anubis"),
    ],
)
def test_marks_of_walls(markup: str, vendor: str) -> None:
    assert look(markup)["signals"]["walls"] == [vendor]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (SCRIPT, "shows only 0 characters"),
        ("<p>Loading</p><script type=module src=a.js></script>", "shows only 7 characters"),
        (f"<p>{PROSE * 5}</p><noscript>Please enable JavaScript to go on.</noscript>{SCRIPT}", "says that it needs"),
        (f"<p>You need to turn on your JavaScript.</p><p>{PROSE * 5}</p>{SCRIPT}", "says that it needs"),
        (f"<header>{PROSE * 5}</header><div id=__next></div>{SCRIPT}", "empty place"),
        ("<frameset><frame src=a></frameset>", "made of frames"),
    ],
)
def test_shells(body: str, words: str) -> None:
    assert words in str(look(body)["shell"])


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{PROSE * 5}</p>{SCRIPT}",
        f"<p>{PROSE * 25}</p><noscript>Please enable JavaScript.</noscript><div id=root></div>{SCRIPT}",
        "<p>Short, and no script.</p>",
        "<p>Short.</p><script type='application/ld+json'>{}</script>",
        f"<div id=root><p>{PROSE * 5}</p></div>{SCRIPT}",
    ],
)
def test_what_is_no_shell(body: str) -> None:
    assert look(body)["shell"] is None


@pytest.mark.parametrize(
    ("content", "leads_on"),
    [("0; url=/a", True), ("5,/a", True), ("0", False), ("600; url=/a", False), ("x; url=/a", False), ("", False)],
)
def test_a_refresh(content: str, leads_on: bool) -> None:
    shell = look(f"<p>{PROSE}</p>", f'<meta http-equiv=Refresh content="{content}">')["shell"]
    assert (shell == "the page leads on to another address") is leads_on


@pytest.mark.parametrize("html", ["", "\0", "<", "<!---->", "&#0;", "</p>"])
def test_hardly_a_page(html: str) -> None:
    assert still.look(html)["visible"] in (0, 1)


def test_a_deep_page_and_a_wide_one() -> None:
    assert look("<div>" * 20000 + "WHELK" + "</div>" * 20000)["visible"] == 5
    assert look("<div id=root></div>" * 20000 + SCRIPT)["shell"] is not None


@pytest.mark.parametrize(
    ("data", "label", "codec"),
    [
        ("<meta charset=koi8-r><p>Ж".encode("koi8-r"), None, "koi8_r"),
        ("<meta charset=koi8-r><p>Ж".encode(), "utf-8", "utf_8"),
        ("<p>Ж".encode(), None, "utf_8"),
        ("\ufeff<p>Ж".encode("utf-16"), "utf-8", "utf_16_le"),
    ],
)
def test_a_document_is_decoded_as_its_bytes_say(tmp_path: Path, data: bytes, label: str | None, codec: str) -> None:
    (tmp_path / "in").write_bytes(data)
    seen = still.observe(str(tmp_path / "in"), label, str(tmp_path))
    assert codecs_name(seen["charset"]) == codecs_name(codec)
    assert (tmp_path / "page.html").read_text("utf-8").endswith("<p>Ж")
    assert seen["visible"] == 1
    with pytest.raises(FileExistsError):
        still.observe(str(tmp_path / "in"), label, str(tmp_path))


def codecs_name(name: str) -> str:
    return name.replace("-", "_")
