"""Verdicts on hosts and addresses: the table, the allow and deny lists, and the vectors of hostile URLs."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdpfetch import addresses
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.policy import Policy, Verdict, is_private, parse_url, refusal

VECTORS = json.loads((Path(__file__).parents[1] / "fixtures" / "address_vectors.json").read_text(encoding="utf-8"))


def decide(url: str, allow: list[str], resolves: dict[str, list[str]]) -> bool:
    """What a fetch would do with ``url``: parse, judge the host, then every address that it resolves to."""
    policy = Policy(allow)
    try:
        parsed = parse_url(url)
    except CdpFetchError:
        return False
    if not policy.judge_host(parsed).allowed:
        return False
    literal = addresses.parse(parsed.host)
    return policy.judge_addresses(parsed, [str(literal)] if literal else resolves.get(parsed.host, [])).allowed


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_a_vector_is_decided_as_expected(vector: dict[str, Any]) -> None:
    decided = decide(vector["url"], vector.get("allow", []), vector.get("resolves", {}))
    assert decided is (vector["expected"] == "allow")


@pytest.mark.parametrize(
    ("address", "kind", "what"),
    [
        ("0.0.0.0", "unspecified", "unspecified (this host)"),
        ("0.1.2.3", "unspecified", "of this network (RFC 791)"),
        ("10.1.2.3", "private", "private (RFC 1918)"),
        ("100.64.0.1", "carrier-grade NAT", "shared address space of carrier-grade NAT (RFC 6598)"),
        ("127.8.8.8", "loopback", "loopback"),
        ("169.254.1.1", "link-local", "link-local"),
        ("169.254.169.254", "metadata", "the metadata service of AWS, Azure, Google and others"),
        ("172.31.255.255", "private", "private (RFC 1918)"),
        ("192.0.0.8", "reserved", "reserved for IETF protocols (RFC 6890)"),
        ("192.0.0.192", "metadata", "the metadata service of Oracle Cloud"),
        ("192.0.2.1", "documentation", "reserved for documentation (RFC 5737)"),
        ("192.88.99.1", "tunnel", "a 6to4 relay (RFC 7526)"),
        ("192.168.0.1", "private", "private (RFC 1918)"),
        ("198.19.255.255", "benchmarking", "reserved for benchmarking (RFC 2544)"),
        ("224.0.0.251", "multicast", "multicast"),
        ("240.0.0.1", "reserved", "reserved (RFC 1112)"),
        ("255.255.255.255", "broadcast", "broadcast"),
        ("100.100.100.200", "metadata", "the metadata service of Alibaba Cloud"),
        ("::", "unspecified", "unspecified (this host)"),
        ("::1", "loopback", "loopback"),
        ("::127.0.0.1", "tunnel", "IPv4-compatible (RFC 4291), leading to 127.0.0.1"),
        ("::ffff:0:10.0.0.1", "tunnel", "IPv4-translated (RFC 2765), leading to 10.0.0.1"),
        ("64:ff9b::10.0.0.1", "tunnel", "NAT64 of 10.0.0.1, which is private (RFC 1918)"),
        (
            "64:ff9b::169.254.169.254",
            "metadata",
            "NAT64 of 169.254.169.254, which is the metadata service of AWS, Azure, Google and others",
        ),
        ("64:ff9b::93.184.216.34", "public", "public"),
        ("64:ff9b:1::1", "tunnel", "local-use NAT64 (RFC 8215), leading to 0.0.0.1"),
        ("2002:a00:1::", "tunnel", "6to4 (RFC 3056), leading to 10.0.0.1"),
        ("2001:0:4136:e378:8000:63bf:3f57:fdf2", "tunnel", "Teredo (RFC 4380), leading to 192.168.2.13"),
        ("2606:4700::5efe:a00:1", "tunnel", "ISATAP of 10.0.0.1, which is private (RFC 1918)"),
        ("2606:4700::200:5efe:a00:1", "tunnel", "ISATAP of 10.0.0.1, which is private (RFC 1918)"),
        ("2606:4700::5efe:808:808", "public", "public"),
        ("2001:2::1", "benchmarking", "reserved for benchmarking (RFC 5180)"),
        ("2001:20::1", "reserved", "an ORCHID, not a host (RFC 7343)"),
        ("2001:1ff::1", "reserved", "reserved for IETF protocols (RFC 2928)"),
        ("2001:200::1", "public", "public"),
        ("2001:db8::1", "documentation", "reserved for documentation (RFC 3849)"),
        ("3fff:fff::1", "documentation", "reserved for documentation (RFC 9637)"),
        ("fc00::1", "unique local", "unique local, thus private (RFC 4193)"),
        ("fd00:ec2::254", "metadata", "the metadata service of AWS"),
        ("fe80::1%eth0", "link-local", "link-local"),
        ("fec0::1", "site-local", "site-local, thus private (RFC 3879)"),
        ("ff02::1", "multicast", "multicast"),
        ("4000::1", "reserved", "outside global unicast (RFC 4291)"),
        ("8.8.8.8", "public", "public"),
        ("2606:4700:4700::1111", "public", "public"),
    ],
)
def test_the_address_table(address: str, kind: str, what: str) -> None:
    parsed = addresses.parse(address)
    assert parsed is not None
    found = addresses.classify(parsed)
    assert (found.kind, found.what, found.public) == (kind, what, kind == "public")


@settings(deadline=None)  # a loaded machine is no defect
@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_no_more_public_in_another_form(address: ipaddress.IPv4Address) -> None:
    number = int(address)
    plain = addresses.classify(address).public
    for prefix in (0xFFFF << 32, 0x64FF9B << 96, (0x26064700 << 96) | (0x5EFE << 32)):
        form = addresses.parse(str(ipaddress.IPv6Address(prefix | number)))
        assert form is not None
        assert addresses.classify(form).public == plain
    for prefix in (0, 0xFFFF << 48):
        form = addresses.parse(str(ipaddress.IPv6Address(prefix | number)))
        assert form is not None
        assert not addresses.classify(form).public


def verdict(
    url: str, address: str | None = None, *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = ()
) -> Verdict:
    policy = Policy(allow, deny)
    parsed = parse_url(url)
    return policy.judge_host(parsed) if address is None else policy.judge_address(parsed, address)


def test_a_refusal_says_what_the_address_is() -> None:
    assert verdict("http://127.0.0.1/") == (False, "127.0.0.1 is loopback", "loopback")
    assert verdict("http://wiki.example/", "10.0.0.5") == (
        False,
        "wiki.example is at 10.0.0.5, which is private (RFC 1918)",
        "private",
    )
    assert verdict("http://localhost/").reason == "localhost is at 127.0.0.1, which is loopback"
    assert verdict("http://metadata.google.internal/") == (
        False,
        "metadata.google.internal is a metadata service",
        "metadata",
    )
    assert verdict("http://wiki.example/", "nonsense") == (False, "'nonsense' is not an IP address", "address")
    assert verdict("http://example.com:22/") == (False, "port 22 is one that browsers refuse for HTTP", "port")


def test_a_public_name_waits_for_its_addresses() -> None:
    assert verdict("http://example.com/") == (True, "example.com is judged by its addresses", "name")
    assert verdict("http://example.com/", "93.184.216.34") == (
        True,
        "example.com is at 93.184.216.34, which is public",
        "public",
    )


@pytest.mark.parametrize(
    ("allow", "url", "address", "allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:81/", None, True),
        ("127.0.0.1:81", "http://127.0.0.1:81/", None, True),
        ("127.0.0.1:81", "http://127.0.0.1:82/", None, False),
        ("127.0.0.1:81", "http://[::ffff:127.0.0.1]:81/", None, True),
        ("[::1]:81", "http://[::1]:81/", None, True),
        ("[::1]", "http://[::1]/", None, True),
        ("::1", "http://[::1]/", None, True),
        ("::1", "http://localhost/", None, True),
        ("::1", "http://127.0.0.1/", None, False),
        ("127.0.0.0/8", "http://127.3.2.1/", None, True),
        ("fd00::/8", "http://[fd12::1]/", None, True),
        ("localhost", "http://localhost:99/", None, True),
        ("localhost", "http://localhost:99/", "127.0.0.1", True),
        ("localhost:98", "http://localhost:99/", "127.0.0.1", False),
        ("localhost", "http://app.localhost/", "127.0.0.1", False),
        ("*.localhost", "http://app.localhost/", "127.0.0.1", True),
        ("localhost", "http://localhost/", "10.0.0.1", True),
        ("localhost", "http://localhost/", "169.254.169.254", False),
        ("wiki.corp.example", "http://wiki.corp.example/", "10.0.0.1", True),
        ("wiki.corp.example", "http://wiki.corp.example/", "127.0.0.1", False),
        ("wiki.corp.example", "http://wiki.corp.example/", "169.254.1.1", False),
        ("wiki.corp.example", "http://wiki.corp.example/", "0.0.0.0", False),
        ("WIKI.corp.example.", "http://wiki.CORP.example./", "10.0.0.1", True),
        ("*.corp.example", "http://a.b.corp.example/", "fd00::1", True),
        ("*.corp.example:443", "http://a.corp.example/", "10.0.0.1", False),
        ("*.corp.example:443", "https://a.corp.example/", "10.0.0.1", True),
        ("bücher.example", "http://xn--bcher-kva.example/", "10.0.0.1", True),
        ("0.0.0.0/0", "http://169.254.169.254/", None, False),
        ("169.254.0.0/16", "http://169.254.169.254/", None, False),
        ("169.254.169.254/32", "http://169.254.169.254/", None, True),
        ("169.254.169.254", "http://169.254.169.254/", None, True),
        ("169.254.169.254", "http://metadata.google.internal/", None, True),
        ("169.254.169.254", "http://metadata.google.internal/", "169.254.169.254", True),
        ("metadata.google.internal", "http://metadata.google.internal/", None, False),
        ("metadata.google.internal", "http://metadata.google.internal/", "169.254.169.254", False),
    ],
)
def test_what_an_allow_entry_opens(allow: str, url: str, address: str | None, allowed: bool) -> None:
    assert verdict(url, address, allow=(allow,)).allowed is allowed


def test_an_allowed_name_that_leads_here_says_why_it_is_refused() -> None:
    refused = verdict("http://wiki.example/", "127.0.0.1", allow=("wiki.example",))
    assert refused.reason == (
        "wiki.example is at 127.0.0.1, which is loopback; the allowed name wiki.example opens private addresses only, "
        "this one needs to be allowed itself"
    )


@pytest.mark.parametrize(
    ("deny", "url", "address"),
    [
        ("example.com", "https://example.com/", None),
        ("*.example.com", "https://www.example.com/", None),
        ("example.com:443", "https://example.com/", None),
        ("93.184.216.0/24", "https://example.com/", "93.184.216.34"),
        ("93.184.216.34", "https://93.184.216.34/", None),
        ("localhost", "http://localhost/", "127.0.0.1"),
    ],
)
def test_deny_wins(deny: str, url: str, address: str | None) -> None:
    refused = verdict(url, address, allow=("0.0.0.0/0", "localhost", "example.com"), deny=(deny,))
    assert (refused.allowed, refused.rule) == (False, f"deny {deny}")


def test_deny_leaves_the_rest() -> None:
    assert verdict("https://example.com/", deny=("*.example.com", "example.com:80")).allowed


def test_all_addresses_of_a_name_count() -> None:
    policy = Policy(["10.0.0.1"])
    url = parse_url("http://both.example/")
    assert policy.judge_addresses(url, ["93.184.216.34", "10.0.0.1"]).allowed
    assert policy.judge_addresses(url, ["93.184.216.34", "10.0.0.2"]).rule == "private"
    assert policy.judge_addresses(url, []) == (False, "both.example has no address", "address")


def test_one_allowed_address_is_enough_for_localhost() -> None:
    url = parse_url("http://localhost:81/")
    assert Policy(["127.0.0.1:81"]).judge_addresses(url, ["::1", "127.0.0.1"]).allowed
    assert not Policy(["127.0.0.1:82"]).judge_addresses(url, ["::1", "127.0.0.1"]).allowed


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ",
        "*",
        "*.",
        "http://x.example",
        "a b",
        "x.example:0",
        "x.example:65536",
        "x.example:http",
        "x.example/p",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "*.10.0.0.1",
        "127.1",
        "2130706433",
        "user@x.example",
        "a..b",
        "[::1",
        "::1:99999",
    ],
)
def test_a_malformed_entry_is_named(entry: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Policy(allow=[entry])
    assert caught.value.reason.startswith("network.allow: ")
    assert repr(entry) in caught.value.reason
    with pytest.raises(ConfigError, match=r"network\.deny"):
        Policy(deny=[entry])


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("http://example.com/", False),
        ("http://8.8.8.8/", False),
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1/", True),
        ("http://[::1]/", True),
        ("http://10.0.0.1/", True),
        ("http://localhost/", True),
        ("http://a.localhost/", True),
        ("http://printer.local/", True),
        ("http://wiki/", True),
        ("http://git.internal/", True),
        ("http://metadata.goog/", True),
        ("http://router.lan/", True),
    ],
)
def test_what_shows_itself_as_private(url: str, private: bool) -> None:
    assert is_private(parse_url(url)) is private


@pytest.mark.parametrize(
    ("url", "address", "entry"),
    [
        ("http://127.0.0.1:8000/", None, "127.0.0.1:8000"),
        ("http://localhost/", None, "127.0.0.1:80"),
        ("https://[::1]/", None, "[::1]:443"),
        (
            "https://w.example/",
            "10.0.0.1",
            "w.example:443",
        ),
        ("http://169.254.169.254/", None, None),
        ("http://224.0.0.1/", None, None),
        ("http://example.com:25/", None, None),
        ("http://denied.example/", None, "deny"),
    ],
)
def test_a_refusal_names_the_setting(url: str, address: str | None, entry: str | None) -> None:
    refused = verdict(url, address, deny=("denied.example",))
    hint = f"to reach it, pass --allow {entry}, or add that to network.allow (cdpfetch config path)" if entry else None
    if entry == "deny":
        hint = "it is in network.deny: cdpfetch config get network.deny"
    error = refusal(parse_url(url), refused)
    assert (error.code, error.reason, error.hint) == ("blocked_address", refused.reason, hint)
