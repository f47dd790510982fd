"""No byte of a bundle is without meaning: flip a bit, cut a file, and it is refused."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from appliance.bundle import contents, layout
from appliance.errors import ApplianceError, DigestMismatch, TrustError
from tests.support.bundles import Host, flip

DICE = Random()  # noqa: S311 - which bits are tried is no secret
EVERY = os.environ.get("SKELLIG_TEST_BITS") == "all"
SAMPLED, PAYLOAD, CUTS = 150, 200, 80  # others in each run
METADATA = ["1.root.json", "timestamp.json", "snapshot.json", "targets.json"]


def refused(take: Callable[[], object]) -> type[ApplianceError] | None:
    try:
        take()
    except TrustError as exc:
        return type(exc)
    return None


@pytest.mark.parametrize("name", METADATA)
def test_one_flipped_bit_in_metadata_is_refused(host: Host, spoilt: Path, name: str) -> None:
    path = spoilt / layout.METADATA / name
    places = [(byte, bit) for byte in range(path.stat().st_size) for bit in range(8)]
    passed = []
    for byte, bit in places if EVERY else DICE.sample(places, SAMPLED):
        flip(path, byte, bit=bit)
        if refused(lambda: host.verify(spoilt)) is None:
            passed.append((byte, bit))
        flip(path, byte, bit=bit)
    assert not passed


@pytest.mark.parametrize("name", METADATA)
def test_a_letter_of_a_signature_in_another_case_is_refused(host: Host, spoilt: Path, name: str) -> None:
    """It is the same number, and not the same bundle: nobody may make two bundles out of one."""
    path = spoilt / layout.METADATA / name
    data = path.read_bytes()
    at = data.index(b'"sig":"') + 7
    place = next(n for n in range(at, len(data)) if chr(data[n]) in "abcdef")
    flip(path, place, bit=5)
    assert refused(lambda: host.verify(spoilt)) is not None


def test_one_flipped_bit_in_the_payload_names_its_file(host: Host, spoilt: Path) -> None:
    sizes = {path: size for path, size in contents.listing(spoilt).items() if not path.startswith(layout.METADATA)}
    known = host.known(spoilt)
    host.trust.remember(known.seen("0.1"))  # so that also the installer's own files are only payload
    places = DICE.choices(list(sizes), k=PAYLOAD - len(sizes)) + list(sizes)
    wrong = []
    for path in places:
        byte, bit = DICE.randrange(sizes[path]), DICE.randrange(8)
        flip(spoilt / path, byte, bit=bit)
        try:
            host.verify(spoilt)
        except DigestMismatch as exc:
            wrong += [] if exc.context["file"] == path else [path]
        else:
            wrong.append(path)
        flip(spoilt / path, byte, bit=bit)
    assert not wrong


def test_a_file_that_was_cut_is_refused(host: Host, spoilt: Path) -> None:
    sizes = contents.listing(spoilt)
    passed = []
    for path in [DICE.choice(list(sizes)) for _ in range(CUTS)]:
        data = (spoilt / path).read_bytes()
        (spoilt / path).write_bytes(data[: DICE.randrange(len(data))])
        if refused(lambda: host.verify(spoilt)) is None:
            passed.append(path)
        (spoilt / path).write_bytes(data)
    assert not passed


def test_a_file_that_goes_on_after_its_end_is_refused(host: Host, spoilt: Path) -> None:
    passed = []
    for path in contents.listing(spoilt):
        with (spoilt / path).open("ab") as file:
            file.write(b"\n")
        if refused(lambda: host.verify(spoilt)) is None:
            passed.append(path)
        data = (spoilt / path).read_bytes()
        (spoilt / path).write_bytes(data[:-1])
    assert not passed
    assert host.verify(spoilt)


def test_a_spoilt_payload_leaves_the_old_version_and_nothing_else(
    host: Host, bundle: Path, second: Path, tmp_path: Path
) -> None:
    host.apply(bundle)
    before = host.content()
    part = next((second / "targets" / "image").iterdir())
    flip(part, 9)
    try:
        with pytest.raises(DigestMismatch, match=part.name):
            host.apply(second)
    finally:
        flip(part, 9)
    assert host.content() == before
    assert tmp_path
