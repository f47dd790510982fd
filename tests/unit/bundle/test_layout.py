import dataclasses
from datetime import UTC, datetime

import pytest

from appliance.bundle import layout
from appliance.bundle.layout import CarriedImage, CarriedModel, Manifest, Whole
from appliance.errors import InvalidInput, MalformedMetadata

DIGEST = "ab" * 32
MANIFEST = Manifest(
    version="1.2.0",
    built=datetime(2026, 6, 1, tzinfo=UTC),
    schema=4,
    image=CarriedImage(f"sha256:{DIGEST}", Whole("image/image.oci.tar", DIGEST, 7, ("image/a", "image/b"))),
    models=(CarriedModel("small", "MIT", (Whole(f"models/{DIGEST}/x.gguf", DIGEST, 9, ("models/x",)),)),),
)


def test_versions_are_ordered_as_people_expect() -> None:
    rising = ["0.9", "1.0.dev1", "1.0a2", "1.0b1", "1.0rc1", "1.0rc2", "1.0", "1.0.1", "1.2", "1.10", "10.0"]
    assert [layout.order(text) for text in rising] == sorted({layout.order(text) for text in rising})


def test_trailing_zeros_make_no_other_version() -> None:
    assert layout.order("1.0.0") == layout.order("1.0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "v1.0",
        "1.0/..",
        "../1.0",
        "1.0-x",
        "1.0\n",
        "current",
        "1.0.0.0.0",
        "1." + "9" * 10,
        "1.\u0660",
        "01.0",
        "1.00",
        "1.0rc01",
    ],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    """A version becomes the name of a folder."""
    with pytest.raises(InvalidInput):
        layout.check_version(text)


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/../b", "..", ".", "a//b", "a/", "a\\b", "a\0b", "a b", "a/./b", "ä", "a\n", "x" * 201, "a/" * 40 + "a"],
)
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(MalformedMetadata):
        layout.safe_path(path)


@pytest.mark.parametrize("path", ["a", "a/b.c", ".gitignore", "a/.x/y", "image.oci.tar.part-001-of-003", "lib++/a@b=c"])
def test_plain_paths_pass(path: str) -> None:
    assert layout.safe_path(path) == path


def test_a_manifest_comes_back_as_it_was_written() -> None:
    assert Manifest.decode(MANIFEST.encode()) == MANIFEST


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        b"\xff",
        MANIFEST.encode().replace(b'"format": 1', b'"format": 2'),
        MANIFEST.encode().replace(b'"schema": 4', b'"schema": true'),
        MANIFEST.encode().replace(b"1.2.0", b"../.."),
        MANIFEST.encode().replace(b"image/image.oci.tar", b"../../etc/passwd"),
        MANIFEST.encode().replace(b'"size": 7', b'"size": -7'),
        MANIFEST.encode().replace(b'"models/x"', b""),
        MANIFEST.encode().replace(DIGEST.encode(), b"x" * 64),
    ],
)
def test_a_manifest_that_is_none_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(MalformedMetadata, match=r"bundle\.json|format 2|not a path"):
        Manifest.decode(data)


def test_parts_tell_their_number_and_their_count() -> None:
    assert layout.part_names("a", size=10, largest=10) == ["a"]
    assert layout.part_names("a", size=11, largest=5) == ["a.part-001-of-003", "a.part-002-of-003", "a.part-003-of-003"]


def test_a_long_list_is_cut_with_its_count() -> None:
    assert layout.named(["d", "c", "b", "a"]) == "a, b, c and 1 more"
    assert layout.named(["a\n\x1b"]) == r"a\n\x1b"


def test_a_manifest_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MANIFEST.version = "2.0"  # type: ignore[misc]
