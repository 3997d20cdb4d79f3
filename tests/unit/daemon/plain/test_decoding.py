"""Content codings: undone exactly, in bounded steps, and refused where they are not what was asked for."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdpfetch.daemon.plain.decoding import STEP, BadCoding, Decoder


def packed(coding: str, data: bytes) -> bytes:
    if coding == "gzip":
        return gzip.compress(data)
    bits = {"deflate": 15, "raw deflate": -15}[coding]
    packer = zlib.compressobj(wbits=bits)
    return packer.compress(data) + packer.flush()


@given(
    st.binary(max_size=5000),
    st.integers(1, 700),
    st.integers(1, 40),
    st.sampled_from(["gzip", "deflate", "raw deflate"]),
)
def test_what_is_packed_comes_out_whole(data: bytes, cut: int, times: int, coding: str) -> None:
    body = packed(coding, data * times)
    decoder = Decoder(coding.removeprefix("raw "))
    out = b"".join(piece for at in range(0, len(body), cut) for piece in decoder.feed(body[at : at + cut]))
    assert out == data * times
    assert decoder.whole


def test_no_step_is_larger_than_it_may_be_though_a_thousandth_unpacks_to_it() -> None:
    decoder = Decoder("gzip")
    sizes = [len(piece) for piece in decoder.feed(gzip.compress(b"\0" * (3 * STEP + 5)))]
    assert sizes == [STEP, STEP, STEP, 5]
    assert decoder.whole


@pytest.mark.parametrize("size", [STEP, 2 * STEP])
def test_a_body_that_ends_with_a_step_is_whole(size: int) -> None:
    decoder = Decoder("x-gzip")
    assert sum(len(piece) for piece in decoder.feed(gzip.compress(b"\0" * size))) == size
    assert decoder.whole


def test_several_members_are_one_body_and_what_follows_them_is_ignored() -> None:
    decoder = Decoder("GZIP")
    assert b"".join(decoder.feed(gzip.compress(b"one ") + gzip.compress(b"two") + b"trailing")) == b"one two"
    assert b"".join(decoder.feed(b"more of that")) == b""


def test_a_body_that_breaks_off_is_not_whole() -> None:
    decoder = Decoder("gzip")
    assert decoder.whole  # an empty body needs no end
    list(decoder.feed(gzip.compress(b"x" * 100)[:20]))
    assert not decoder.whole


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "zstd", "compress", "gzip,br"])
def test_what_was_not_asked_for_is_refused(coding: str) -> None:
    with pytest.raises(BadCoding, match="not asked for"):
        Decoder(coding)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_not_packed_is_refused(coding: str) -> None:
    with pytest.raises(BadCoding, match=f"Content-Encoding \\({coding}\\)"):
        list(Decoder(coding).feed(b"<p>not packed</p>"))


@pytest.mark.parametrize("coding", [None, "", "identity"])
def test_what_is_not_coded_passes(coding: str | None) -> None:
    assert list(Decoder(coding).feed(b"plain")) == [b"plain"]
