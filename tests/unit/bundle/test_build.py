import hashlib
import json
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.bundle import build as building
from appliance.bundle import contents
from appliance.bundle import keys as signing
from appliance.bundle.build import Recipe
from appliance.errors import Conflict, DigestMismatch, DiskFull, InvalidInput, MalformedContent, UnsafePath
from tests.support.bundles import DAY, NOON, Host, Workshop, flip, oci_archive


def whole(folder: Path) -> dict[str, str]:
    return {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in contents.listing(folder)}


def test_the_same_inputs_make_the_same_bytes(workshop: Workshop) -> None:
    assert whole(workshop.bundle(name="again-1")) == whole(workshop.bundle(name="again-2"))


def test_a_bundle_holds_no_private_key(workshop: Workshop, bundle: Path) -> None:
    secrets = [path.read_bytes().splitlines()[1] for path in workshop.keys_at.glob("*.pem")]
    content = b"".join(path.read_bytes() for path in bundle.rglob("*") if path.is_file())
    assert not [secret for secret in secrets if secret in content]


@pytest.mark.parametrize("folder", [True, False])
def test_a_private_key_on_its_way_into_a_bundle_is_refused(workshop: Workshop, *, folder: bool) -> None:
    tree = workshop.keys_at if folder else next(workshop.keys_at.glob("root-*.pem"))
    with pytest.raises(InvalidInput, match="private key"):
        workshop.bundle(name="leak", trees={"docs": tree})
    assert not list(workshop.root.glob("*leak*"))


@pytest.mark.parametrize("frame", ["{}", "notes\n" * 200 + "{}", '{{"key": {}}}'])
def test_a_private_key_anywhere_in_a_file_is_refused(workshop: Workshop, tmp_path: Path, frame: str) -> None:
    key = next(workshop.keys_at.glob("root-*.pem")).read_text()
    (tmp_path / "notes.md").write_text(frame.format(json.dumps(key) if frame.startswith("{{") else key))
    with pytest.raises(InvalidInput, match=r"notes\.md has a private key in it"):
        workshop.bundle(name="leak", trees={"docs/notes.md": tmp_path / "notes.md"})
    assert not list(workshop.root.glob("*leak*"))


def test_a_page_about_private_keys_is_none(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "keys.md").write_text("A file of keys begins with `-----BEGIN PRIVATE KEY-----`, and then it has the key.\n")
    assert workshop.bundle(name="about", trees={"docs/keys.md": tmp_path / "keys.md"}).is_dir()


def test_a_bundle_that_no_host_would_take_is_not_made(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "shop")
    root = shop.keys_at / "1.root.json"
    flip(root, root.read_bytes().index(b'"sig":"') + 9)
    shop.keys = signing.load(shop.keys_at)
    with pytest.raises(
        InvalidInput, match=r"No host would take what was built: metadata/1\.root\.json is not what was signed"
    ):
        shop.bundle()
    shop.keys = signing.make(tmp_path / "others", threshold=1, count=1, now=NOON)
    for lasts in (timedelta(0), -DAY):
        with pytest.raises(
            InvalidInput, match=r"No host would take what was built: .* had expired when the bundle was built"
        ):
            shop.bundle(lasts=lasts)
    assert not list(shop.root.glob("*bundle*"))


def test_a_folder_that_exists_is_left_alone(workshop: Workshop, bundle: Path) -> None:
    before = whole(bundle)
    with pytest.raises(Conflict, match="exists already"):
        workshop.bundle(name=bundle.name)
    assert whole(bundle) == before


def test_parts_are_no_larger_than_asked_and_make_the_whole(workshop: Workshop, bundle: Path) -> None:
    parts = sorted((bundle / "targets" / "image").iterdir())
    assert [part.name.partition(".part")[2] for part in parts] == [
        f"-{n:03}-of-{len(parts):03}" for n in range(1, len(parts) + 1)
    ]
    assert max(part.stat().st_size for part in parts) == 65_536
    assert b"".join(part.read_bytes() for part in parts) == workshop.image.read_bytes()


def test_space_is_asked_for_before_a_byte_is_written(workshop: Workshop) -> None:
    recipe = Recipe(version="1.0.0", built=NOON, schema=4, image=workshop.image)
    with pytest.raises(DiskFull, match=r"needs 1[67],[0-9,]+ bytes .* and 1,000 are free") as told:
        building.build(workshop.root / "full", recipe, keys=workshop.keys, free=lambda _: 1000)
    assert told.value.context["free"] == 1000
    assert not list(workshop.root.glob("*full*"))


def test_a_build_that_is_interrupted_leaves_nothing(workshop: Workshop) -> None:
    def interrupt(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    recipe = Recipe(version="1.0.0", built=NOON, schema=4, image=workshop.image)
    with pytest.raises(KeyboardInterrupt):
        building.build(workshop.root / "broken", recipe, keys=workshop.keys, progress=interrupt)
    assert not list(workshop.root.glob("*broken*"))


def test_a_link_is_not_followed_into_a_bundle(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "link").symlink_to("/etc/hostname")
    with pytest.raises(UnsafePath, match="is a link"):
        workshop.bundle(name="linked", trees={"docs": tmp_path / "docs"})


def test_a_name_that_no_bundle_can_hold_is_told_by_the_builder(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a b").write_text("x")
    with pytest.raises(InvalidInput, match="a name that a bundle cannot hold"):
        workshop.bundle(name="named", trees={"docs": tmp_path / "docs"})


def test_names_that_differ_only_in_capitals_are_told_by_the_builder(workshop: Workshop, tmp_path: Path) -> None:
    """On a memory stick the second would write over the first."""
    (tmp_path / "docs").mkdir()
    for name in ("Read.me", "read.me"):
        (tmp_path / "docs" / name).write_text("x")
    with pytest.raises(InvalidInput, match=r"docs/Read\.me and docs/read\.me are one file"):
        workshop.bundle(name="twins", trees={"docs": tmp_path / "docs"})


def test_a_model_that_is_not_what_the_catalogue_says_is_refused(workshop: Workshop) -> None:
    model = workshop.model()
    flip(model.files[0][0], 5)
    with pytest.raises(DigestMismatch, match="small is not what the catalogue says"):
        workshop.bundle(name="swapped", models=(model,))
    assert not list(workshop.root.glob("*swapped*"))


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_an_image_whose_members_leave_their_folder_is_refused(workshop: Workshop, tmp_path: Path, name: str) -> None:
    hostile = oci_archive(tmp_path / "image.tar", extra={name: b"x"})
    recipe = Recipe(version="1.0.0", built=NOON, schema=4, image=hostile)
    with pytest.raises(UnsafePath, match="leaves its folder"):
        building.build(tmp_path / "out", recipe, keys=workshop.keys)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\0" * 10_240])
def test_what_is_no_image_is_refused(workshop: Workshop, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    recipe = Recipe(version="1.0.0", built=NOON, schema=4, image=tmp_path / "image.tar")
    with pytest.raises(MalformedContent, match="is not an OCI archive"):
        building.build(tmp_path / "out", recipe, keys=workshop.keys)


def test_a_bundle_holds_what_the_recipe_names(host: Host, bundle: Path) -> None:
    found = host.verify(bundle)
    assert found.manifest.version == "1.0.0"
    assert [model.name for model in found.manifest.models] == ["small"]
    assert {"release-notes.md", "bundle.json"} <= set(found.payload)
