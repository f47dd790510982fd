import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.bundle import keys as signing
from appliance.errors import Conflict, InvalidInput, MalformedContent, NotFound
from tests.support.bundles import NOON


def modes(folder: Path, pattern: str) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.glob(pattern)}


@pytest.mark.parametrize(("threshold", "count"), [(1, 1), (2, 3), (3, 5)])
def test_each_role_has_its_own_keys_and_only_their_owner_can_read_them(tmp_path: Path, threshold: int, count: int) -> None:
    made = signing.make(tmp_path / "keys", threshold=threshold, count=count, now=NOON)
    assert {role: len(signers) for role, signers in made.signers.items()} == dict.fromkeys(signing.ROLES, count)
    assert len(list((tmp_path / "keys").glob("*.pem"))) == 4 * count + 1
    assert modes(tmp_path / "keys", "*.pem") == {0o600}
    assert modes(tmp_path, "keys") == {0o700}


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    signing.make(tmp_path / "keys", threshold=1, count=1, now=NOON)
    before = {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()}
    with pytest.raises(Conflict, match="is not empty"):
        signing.make(tmp_path / "keys", threshold=1, count=1, now=NOON)
    assert {path.name: path.read_bytes() for path in (tmp_path / "keys").iterdir()} == before


@pytest.mark.parametrize(("threshold", "count"), [(0, 1), (2, 1), (-1, 3), (1, 0), (1, 1000)])
def test_a_threshold_that_no_set_of_keys_meets_is_refused(tmp_path: Path, threshold: int, count: int) -> None:
    with pytest.raises(InvalidInput, match="is not possible"):
        signing.make(tmp_path / "keys", threshold=threshold, count=count, now=NOON)
    assert not (tmp_path / "keys").exists()


def test_keys_that_are_kept_elsewhere_are_not_needed_while_enough_are_here(tmp_path: Path) -> None:
    signing.make(tmp_path / "keys", threshold=2, count=3, now=NOON)
    first, second, _ = sorted((tmp_path / "keys").glob("targets-*.pem"))
    first.unlink()
    assert len(signing.load(tmp_path / "keys").signers["targets"]) == 2
    second.unlink()
    with pytest.raises(NotFound, match="has 1 of the 2 private keys that must sign for targets"):
        signing.load(tmp_path / "keys")


def test_a_rotation_keeps_every_root_and_brings_new_keys(tmp_path: Path) -> None:
    old = signing.make(tmp_path / "keys", threshold=1, count=1, now=NOON)
    new = signing.rotate(tmp_path / "keys", threshold=2, count=3, now=NOON)
    assert list(new.roots[:1]) == list(old.roots)
    assert len(new.roots) == 2
    assert {s.public_key.keyid for s in new.signers["targets"]}.isdisjoint(
        s.public_key.keyid for s in old.signers["targets"]
    )
    assert new.minisigner.key == old.minisigner.key


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"])
def test_a_file_that_is_no_key_is_named(tmp_path: Path, content: bytes) -> None:
    signing.make(tmp_path / "keys", threshold=1, count=1, now=NOON)
    (tmp_path / "keys" / "minisign.pem").write_bytes(content)
    with pytest.raises(MalformedContent, match=r"minisign\.pem"):
        signing.load(tmp_path / "keys")


def one(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


def swapped(first: Path, second: Path) -> None:
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)


def all_to(keys: Path, pattern: str, other: Path) -> None:
    for path in keys.glob(pattern):
        path.write_bytes(other.read_bytes())


def folder_for_file(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a root between is gone": (lambda keys: (keys / "2.root.json").unlink(), r"2\.root\.json is gone"),
    "the first root is gone": (lambda keys: (keys / "1.root.json").unlink(), r"1\.root\.json is gone"),
    "a root is garbage": (lambda keys: (keys / "1.root.json").write_text("x"), r"1\.root\.json is not a root"),
    "a root is another": (lambda keys: swapped(keys / "1.root.json", keys / "2.root.json"), r"1\.root\.json is not root 1"),
    "a root is a folder": (lambda keys: folder_for_file(keys / "1.root.json"), r"1\.root\.json cannot be read"),
    "minisign's key is another": (
        lambda keys: swapped(keys / "minisign.pem", one(keys, "root-*.pem")),
        r"minisign\.pem is not the private key of|is not the key that its name says",
    ),
    "minisign's key is a folder": (lambda keys: folder_for_file(keys / "minisign.pem"), r"minisign\.pem cannot be read"),
    "a role's keys are another's": (
        lambda keys: all_to(keys, "targets-*.pem", one(keys, "snapshot-*.pem")),
        r"is not the key that its name says",
    ),
}


@pytest.mark.parametrize(("spoil", "said"), [pytest.param(*case, id=name) for name, case in SPOILT.items()])
def test_a_folder_of_keys_that_is_not_as_it_was_made_signs_nothing(
    tmp_path: Path, spoil: Callable[[Path], object], said: str
) -> None:
    keys = tmp_path / "keys"
    signing.make(keys, threshold=1, count=1, now=NOON)
    for _ in range(2):
        signing.rotate(keys, threshold=1, count=1, now=NOON)
    spoil(keys)
    before = sorted(keys.iterdir())
    with pytest.raises(MalformedContent, match=said):
        signing.load(keys)
    with pytest.raises(MalformedContent, match=said):
        signing.rotate(keys, threshold=1, count=1, now=NOON)
    assert sorted(keys.iterdir()) == before


def test_what_others_can_read_of_the_keys_is_named(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    signing.make(keys, threshold=1, count=1, now=NOON)
    assert signing.exposed(keys) == []
    keys.chmod(0o755)
    (keys / "minisign.pem").chmod(0o640)
    assert signing.exposed(keys) == [keys, keys / "minisign.pem"]


def test_a_folder_without_keys_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="skellig bundle keys"):
        signing.load(tmp_path)
