"""Hostile spellings of URLs: what is judged is what Chrome opens, told by Chrome's own parser."""

from __future__ import annotations

import json
from itertools import product

import pytest

from cdpfetch import addresses
from cdpfetch.cdp.browser import Browser
from cdpfetch.errors import CdpFetchError
from cdpfetch.policy import Policy
from cdpfetch.urls import Url, parse_url

pytestmark = pytest.mark.chrome

_HOSTS = """
127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7F.1 0177.0.0.1 017700000001 0x7f.0x0.0x0.0x1 00000177.0.0.01 0 0x
0.0.0.0 127.0.0.1. 127.0.0.1.. 127.0.0.1.example 1.2.3.4.5 256.1.1.1 4294967296 4294967295 0x100000000 1.0x
08.8.8.8 1..2 .1 0x7f.1. 127.0.0.0x1 %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.1%00 127.0.0.1%20 127.0.0.1%2f
%6cocalhost local%68ost %c2%ad %e3%80%82 \uff11\uff12\uff17.0.0.1 127\u30020\u30020\u30021 127\uff0e0\uff0e0\uff0e1
127\uff610\uff610\uff611 \u2460\u2461\u2466.0.0.1 \u0661\u0662\u0667.0.0.1 127.0.0.\u00b9 l\u00adocalhost
lo\u200bcalhost lo\u200dcalhost lo\u2060calhost \ufeff127.0.0.1 LOCALHOST localhost. localhost.. loc\u212ahost
\u2112ocalhost \uff4c\uff4f\uff43alhost x.localhost xn--localhost xn-- xn--a xn--mnchen-3ya.example
m\u00fcnchen.example M\u00dcNCHEN.example fa\u00df.example fass.example \u03c3\u03c2.example \u0130stanbul.example
\u1e9e.example xn--fa-hia.example xn--ls8h.example \U0001f4a9.example a\u0301.example \u00e1.example [::1] [::]
[0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::10.0.0.1] [2002:a00:1::] [1::2::3]
[::ffff:127.1] [::ffff:0x7f.0.0.1] [fe80::1%25eth0] [fe80::1%eth0] [::1 ::1] [::1]. [127.0.0.1] [v1.x]
[::FFFF:A9FE:A9FE] [2001:0:4136:e378:8000:63bf:3f57:fdf2] [0000:0000::0001] [00000::1] [::1%] ::1 169.254.169.254
0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518 metadata.google.internal 10.0.0.1 0xa.1 012.1 192.168.257
3232235777 198.18.0.1 100.64.0.1 a_b.example -a.example a-.example a..b example.com example.com. EXAMPLE.com
exa%6Dple.com ex%41mple.com exa%mple.com exa^mple.com exa|mple.com exa<mple.com ex*mple.com ex'mple.com
ex\"mple.com ex`mple.com ex{mple.com ex~mple.com ex!mple.com ex$mple.com ex&mple.com ex+mple.com ex,mple.com
ex;mple.com ex=mple.com 1.2.3.4x x1.2.3.4 1.2.3.0x4g 0xg.1 09 0x0x 1e3 +1 1_000 \u2488.com a\u2024b.example
127.0.0.1\u2044x a\u2105b.example
""".split()
_FORMS = [
    "http://{}/",
    "https://{}:443/a",
    "http://{}:80",
    "http:\\\\{}\\x",
    "http:{}/x",
    "http:/{}",
    "http:////{}/",
    "HTTP://{}?x",
    "https://{}#y",
    "http://{}:00080/",
    "http://{}:8080/%2e%2e/a/../b",
    "http://a.example@{}/",
    "http://{}@a.example/",
    "http://{}\\@a.example/",
    "http://a.example\\@{}/",
    "http://{}:/",
    "http://{}:65536/",
    "http://a.example#@{}/",
    "http://a.example?@{}/",
    "{}",
]
_ASK = (
    "(%s).map((text) => { try { const u = new URL(text);"
    "return [u.protocol, u.hostname, u.port, u.username + u.password] } catch (e) { return null } })"
)


async def canonical(browser: Browser, texts: list[str]) -> list[list[str] | None]:
    """What Chrome's parser makes of each: scheme, host, port, credentials; None for no URL."""
    tab = await browser.new_tab()
    try:
        params = {"expression": _ASK % json.dumps(texts), "returnByValue": True}
        answer = await tab.session.execute("Runtime.evaluate", params)
        found: list[list[str] | None] = answer["result"]["value"]
        return found
    finally:
        await tab.close()


def differs(url: Url, chrome: list[str] | None) -> bool:
    """Whether Chrome opens something else than what is judged."""
    if chrome is None:
        return True
    scheme, host, port, credentials = chrome
    mine = f"[{url.host}]" if ":" in url.host else url.host
    same_port = int(port or {"http:": 80, "https:": 443}[scheme]) == url.port
    return (scheme, host.removesuffix("."), same_port, credentials) != (f"{url.scheme}:", mine, True, "")


async def test_what_is_judged_is_what_chrome_opens(browser: Browser) -> None:
    texts = [form.format(host) for form, host in product(_FORMS, _HOSTS)]
    parsed: list[tuple[str, Url]] = []
    for text in texts:
        try:
            parsed.append((text, parse_url(text)))
        except CdpFetchError as error:
            assert error.code in ("invalid_url", "unsupported_scheme"), text
    assert len(parsed) > 800, "most of them are URLs"
    # What was given, where it has a scheme; and what Chrome is told, in any case.
    given = [text if text.lower().startswith("http") else "https://" + text for text, _ in parsed]
    as_given = await canonical(browser, given)
    as_told = await canonical(browser, [url.href for _, url in parsed])
    wrong = [
        (text, url.href, first, second)
        for (text, url), first, second in zip(parsed, as_given, as_told, strict=True)
        if differs(url, first) or differs(url, second)
    ]
    assert wrong == []


async def test_no_spelling_of_this_machine_is_taken_for_another(browser: Browser) -> None:
    """Where Chrome sees an address that is not public, so does the policy."""
    texts = [f"http://{host}/" for host in _HOSTS]
    policy, missed = Policy(), []
    for text, chrome in zip(texts, await canonical(browser, texts), strict=True):
        literal = addresses.parse(chrome[1]) if chrome is not None else None
        if literal is None or addresses.classify(literal).public:
            continue
        try:
            url = parse_url(text)
        except CdpFetchError:
            continue
        if policy.judge_host(url).allowed and policy.judge_addresses(url, [str(literal)]).allowed:
            missed.append(text)
    assert missed == []
