"""``network.ca_bundle``: an authority that is believed by everything but Chrome."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import certs
import pytest
from guards import PUBLIC, world
from testsite import TlsSite

from cdpfetch import certificates
from cdpfetch.config import Config, NetworkAccess
from cdpfetch.daemon.app import App
from cdpfetch.daemon.guard.lane import Lane
from cdpfetch.daemon.lanes import ANONYMOUS
from cdpfetch.daemon.plain.connections import Connections
from cdpfetch.errors import CdpFetchError, ConfigError
from cdpfetch.httpclient import open_client
from cdpfetch.paths import Home
from cdpfetch.policy import Policy
from cdpfetch.urls import parse_url


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certs.make(tmp_path_factory.mktemp("tls"), "IP:127.0.0.1", "DNS:site.example")


@pytest.fixture
def site(certificate: tuple[Path, Path]) -> Iterator[TlsSite]:
    with TlsSite(*map(str, certificate)) as made:
        yield made


def test_the_usual_authorities_stay(certificate: tuple[Path, Path]) -> None:
    usual, more = certificates.context(None), certificates.context(str(certificate[0]))
    assert len(more.get_ca_certs()) == len(usual.get_ca_certs()) + 1
    assert more.verify_mode == ssl.CERT_REQUIRED and more.check_hostname


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_without_certificates_is_an_error_at_the_start(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"network\.ca_bundle: .*ca\.pem can't be used: "):
        App(Home("/nonexistent"), Config(network=NetworkAccess(ca_bundle=str(path))))


@pytest.mark.parametrize("named", [True, False])
async def test_clients_of_services_believe_it(certificate: tuple[Path, Path], site: TlsSite, named: bool) -> None:
    settings = Config(network=NetworkAccess(ca_bundle=str(certificate[0]) if named else None))
    async with open_client(settings, base_url=site.url("/")) as client:
        if named:
            assert (await client.get("/page")).status_code == 200
            return
        with pytest.raises(CdpFetchError) as caught:
            await client.get("/page")
    assert caught.value.code == "tls_failed"
    assert "network.ca_bundle" in str(caught.value.hint)


@pytest.mark.parametrize("named", [True, False])
async def test_the_engine_without_a_browser_believes_it(
    certificate: tuple[Path, Path], site: TlsSite, named: bool
) -> None:
    async with world(more=(Lane(ANONYMOUS, Policy()),)) as w:
        w.names.known = {"site.example": [PUBLIC]}
        w.network.leads = {PUBLIC: site.server_address[1]}
        connections = Connections(w.guard, str(certificate[0]) if named else None)
        getting = connections.get(
            parse_url("https://site.example/page"), ANONYMOUS, [("Host", "site.example")], insecure=False
        )
        if named:
            async with getting as got:
                assert got.head.status == 200
            return
        with pytest.raises(CdpFetchError) as caught:
            async with getting:
                pass
    assert caught.value.code == "tls_failed"
