import contextlib
import resource
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import MalformedContent
from appliance.inference.gguf import read_header
from tests.unit.inference.making import LLAMA, gguf, text, value_of

ARRAY_OF_ARRAYS = struct.pack("<IIQ", 9, 9, 1)
HUGE_ARRAY = struct.pack("<IIQ", 9, 8, 1 << 60)
HUGE_NUMBERS = struct.pack("<IIQ", 9, 10, 1 << 62)
MANY_STRINGS = struct.pack("<IIQ", 9, 8, 3_000_000) + b"\0" * 24_000_000
LONG_TEXT = struct.pack("<IQ", 8, 1 << 40)

HOSTILE = {
    "empty": b"",
    "not GGUF": b"PK\x03\x04" + b"x" * 100,
    "only magic": b"GGUF",
    "old version": gguf(LLAMA, version=1),
    "big-endian version": gguf(LLAMA, version=0x03000000),
    "a billion keys": gguf(LLAMA, keys=1 << 30),
    "more keys than there are": gguf(LLAMA, keys=len(LLAMA) + 1),
    "array of arrays": gguf({"a": ARRAY_OF_ARRAYS}),
    "array without end": gguf({"a": HUGE_ARRAY}),
    "numbers without end": gguf({"a": HUGE_NUMBERS}),
    "millions of strings": gguf({"a": MANY_STRINGS}),
    "text without end": gguf({"a": LONG_TEXT}),
    "unknown type": gguf({"a": struct.pack("<I", 77)}),
    "key without end": gguf({}, keys=1, tail=struct.pack("<Q", 1 << 50)),
    "no architecture": gguf({"general.name": "x"}),
    "architecture is a number": gguf({"general.architecture": 7}),
    "unknown architecture": gguf({"general.architecture": "skynet"}),
    "a shard": gguf({**LLAMA, "split.count": 3, "split.no": 1}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_header_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(HOSTILE[kind])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    with pytest.raises(MalformedContent, match=r"model\.gguf"):
        read_header(path)
    assert time.process_time() - begun < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_header_gives_what_the_cache_takes(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(LLAMA))
    header = read_header(path)
    assert (header.architecture, header.name, header.context) == ("llama", "Tiny", 2048)
    assert header.cache_bytes == 2 * 4 * 2 * (8 + 8)


def test_explicit_key_and_value_lengths_win(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    lengths = {"llama.attention.key_length": 32, "llama.attention.value_length": 16}
    path.write_bytes(gguf({**LLAMA, **lengths}))
    assert read_header(path).cache_bytes == 2 * 4 * 2 * (32 + 16)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0, "many", 0])
def test_number_that_is_none_counts_as_not_given(tmp_path: Path, value: object) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({**LLAMA, "llama.context_length": value}))
    assert read_header(path).context == 0


def test_shard_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "model-00002-of-00003.gguf"
    path.write_bytes(HOSTILE["a shard"])
    with pytest.raises(MalformedContent, match="shard 2 of 3"):
        read_header(path)


@settings(max_examples=200, deadline=None)
@given(at=st.integers(0, 400), flip=st.integers(1, 255), cut=st.integers(0, 400))
def test_any_flip_or_cut_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, at: int, flip: int, cut: int) -> None:
    data = bytearray(gguf(LLAMA))
    data[at % len(data)] ^= flip
    path = tmp_path_factory.getbasetemp() / "flipped.gguf"
    path.write_bytes(data[: len(data) - cut % len(data)])
    with contextlib.suppress(MalformedContent):
        assert read_header(path).architecture == "llama"


def test_making_of_headers_is_as_the_format_has_it() -> None:
    assert text("ab") == b"\x02\0\0\0\0\0\0\0ab"
    assert value_of(5) == b"\x04\0\0\0\x05\0\0\0"
