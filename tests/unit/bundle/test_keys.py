import stat
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


def test_a_folder_without_keys_says_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="skellig bundle keys"):
        signing.load(tmp_path)
