"""Which targets are permitted, and by which addresses."""

from __future__ import annotations

import pytest
from guards import PUBLIC, Names

from cdpfetch.errors import CdpFetchError
from cdpfetch.judge import Judge, Route, target_of
from cdpfetch.policy import Policy
from cdpfetch.resolver import Resolver


@pytest.fixture
def names() -> Names:
    names = Names()
    names.known = {
        "x.example": [PUBLIC, "2606:4700::1"],
        "mixed.example": [PUBLIC, "10.0.0.1"],
        "wiki.corp.example": ["10.0.0.1"],
        "fake.example": ["198.18.0.7"],
        "localhost": ["::1", "127.0.0.1"],
    }
    return names


async def judge(names: Names, host: str, port: int = 80, policy: Policy | None = None, **options: bool) -> Route:
    keeper = Judge(Resolver(names, keep=0), {7777})
    return await keeper.judge(policy or Policy(), target_of(host, port), **options)


async def refused(
    names: Names, host: str, port: int = 80, policy: Policy | None = None, **options: bool
) -> CdpFetchError:
    with pytest.raises(CdpFetchError) as caught:
        await judge(names, host, port, policy, **options)
    return caught.value


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("Example.COM.", "example.com"),
        ("127.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("a_b.example", "a_b.example"),
    ],
)
def test_a_target_is_known_by_one_name(host: str, canonical: str) -> None:
    assert target_of(host, 8080).host == canonical
    assert target_of(host, 8080).port == 8080


@pytest.mark.parametrize(
    "host", ["", "a/b", "a@b", "a b", "a:b", "a%2eb", "a?b", "a#b", "a\\b", "..", "b\x00c", "x" * 64]
)
def test_what_is_no_host_is_no_target(host: str) -> None:
    with pytest.raises(CdpFetchError) as caught:
        target_of(host, 80)
    assert caught.value.code == "invalid_url"


async def test_a_public_name_leads_to_its_addresses(names: Names) -> None:
    assert (await judge(names, "X.example")).addresses == (PUBLIC, "2606:4700::1")


async def test_one_private_address_refuses_the_name(names: Names) -> None:
    error = await refused(names, "mixed.example")
    assert (error.code, error.reason) == (
        "blocked_address",
        "mixed.example is at 10.0.0.1, which is private (RFC 1918)",
    )


async def test_literals_are_judged_and_not_resolved(names: Names) -> None:
    assert (await judge(names, "1.1.1.1")).addresses == ("1.1.1.1",)
    assert (await refused(names, "10.0.0.1")).code == "blocked_address"
    assert (await refused(names, "0x0a000001")).reason == "10.0.0.1 is private (RFC 1918)"
    assert names.asked == []


async def test_of_this_machine_only_what_is_allowed_is_dialled(names: Names) -> None:
    assert (await judge(names, "localhost", 8000, Policy(["127.0.0.1:8000"]))).addresses == ("127.0.0.1",)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "::1"])
async def test_the_guards_own_ports_are_nobodys(names: Names, host: str) -> None:
    wide = Policy(["127.0.0.0/8", "0.0.0.0", "::1", "localhost"])
    assert (await judge(names, host, 7778, wide)).addresses
    error = await refused(names, host, 7777, wide)
    assert (error.code, error.reason) == ("blocked_address", "port 7777 of this machine is the guard's own")


async def test_an_own_port_of_another_machine_is_none(names: Names) -> None:
    assert (await judge(names, "x.example", 7777)).addresses


async def test_invalid_names_are_never_asked_for(names: Names) -> None:
    assert (await refused(names, "a.invalid")).code == "dns_failed"
    assert names.asked == []


async def test_fake_addresses_of_proxy_tools_are_named_with_the_setting(names: Names) -> None:
    error = await refused(names, "fake.example", 443)
    assert error.reason == "fake.example is at 198.18.0.7, which is reserved for benchmarking (RFC 2544)"
    assert error.hint is not None
    assert "add 198.18.0.0/15 to network.allow" in error.hint
    assert (await judge(names, "fake.example", 443, Policy(["198.18.0.0/15"]))).addresses == ("198.18.0.7",)


class TestBehindAProxy:
    async def test_public_names_go_by_name(self, names: Names) -> None:
        assert (await judge(names, "x.example", by_name=True)).addresses == ()
        assert (await judge(names, "only-the-proxy.example", by_name=True)).addresses == ()
        assert (await judge(names, "1.1.1.1", by_name=True)).addresses == ()

    @pytest.mark.parametrize(
        "host", ["10.0.0.1", "127.0.0.1", "mixed.example", "wiki.corp.example", "localhost", "metadata.google.internal"]
    )
    async def test_what_is_private_here_is_refused(self, names: Names, host: str) -> None:
        assert (await refused(names, host, by_name=True)).code == "blocked_address"

    @pytest.mark.parametrize("host", ["printer", "nas.local", "git.internal", "wiki.corp"])
    async def test_names_that_are_not_public_are_refused_though_they_do_not_resolve(
        self, names: Names, host: str
    ) -> None:
        error = await refused(names, host, by_name=True)
        assert error.code == "blocked_address"
        assert error.reason == f"{host} does not resolve here, and its name is not one of the public web"
        assert (await judge(names, host, 80, Policy([host]), by_name=True)).addresses == ()

    async def test_this_machine_is_reached_directly(self, names: Names) -> None:
        route = await judge(names, "localhost", 8000, Policy(["127.0.0.1:8000"]), by_name=True)
        assert route.addresses == ("127.0.0.1",)

    async def test_a_denied_name_is_refused(self, names: Names) -> None:
        assert (
            await refused(names, "x.example", 80, Policy([], ["x.example"]), by_name=True)
        ).code == "blocked_address"


@pytest.mark.parametrize(
    ("policy", "address", "allowed"),
    [
        (Policy(), "10.0.0.1", False),
        (Policy(["wiki.corp.example"]), "10.0.0.1", True),
        (Policy(["wiki.corp.example"], ["10.0.0.0/8"]), "10.0.0.1", False),
        (Policy(), None, True),
        (Policy([], ["wiki.corp.example"]), None, False),
    ],
)
def test_a_live_connection_is_judged_again(policy: Policy, address: str | None, allowed: bool) -> None:
    keeper = Judge(Resolver(Names()), set())
    assert keeper.still_allowed(policy, target_of("wiki.corp.example", 80), address) is allowed
