import os
import stat
import subprocess
from pathlib import Path

import pytest

from appliance.errors import Conflict, DigestMismatch, DiskFull, InvalidInput, MissingPart, NotFound, StoreCorrupt
from tests.support.bundles import DAY, NOON, Host, Workshop, flip


@pytest.fixture(scope="module")
def second(workshop: Workshop) -> Path:
    return workshop.bundle("2.0.0", built=NOON + DAY, name="two")


@pytest.fixture(scope="module")
def third(workshop: Workshop) -> Path:
    return workshop.bundle("3.0.0", built=NOON + 2 * DAY, name="three")


def link(host: Host, name: str) -> str | None:
    path = host.root / "bundles" / name
    return str(path.readlink()) if path.is_symlink() else None


def test_a_first_bundle_becomes_current_with_its_parts_joined(host: Host, workshop: Workshop, bundle: Path) -> None:
    done = host.apply(bundle)
    current = host.root / "bundles" / "current"
    assert (done.version, done.changed, done.path) == ("1.0.0", True, current.resolve())
    assert (current / "image" / "image.oci.tar").read_bytes() == workshop.image.read_bytes()
    ((weights, digest),) = workshop.model().files
    assert (current / "models" / digest / weights.name).read_bytes() == weights.read_bytes()


def test_what_is_staged_can_be_read_by_any_user(host: Host, bundle: Path) -> None:
    """The appliance runs as another user than the one who installs it."""
    umask = os.umask(0o077)
    try:
        host.apply(bundle)
    finally:
        os.umask(umask)
    version = host.root / "bundles" / "1.0.0"
    staged = [version, *version.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in staged if path.is_file()} == {0o644}
    assert {stat.S_IMODE(path.stat().st_mode) for path in staged if path.is_dir()} == {0o755}


def test_the_same_bundle_again_changes_nothing(host: Host, bundle: Path) -> None:
    host.apply(bundle)
    before = host.content()
    assert not host.apply(bundle).changed
    assert host.content() == before


def test_a_newer_bundle_keeps_the_one_before_and_only_that(host: Host, bundle: Path, second: Path, third: Path) -> None:
    for each in (bundle, second, third):
        assert host.apply(each).changed
    assert (link(host, "current"), link(host, "previous")) == ("3.0.0", "2.0.0")
    assert not (host.root / "bundles" / "1.0.0").exists()


def test_a_rollback_goes_to_the_version_before_once(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    done = host.shelf.rollback()
    assert (done.version, done.changed, link(host, "current"), link(host, "previous")) == ("1.0.0", True, "1.0.0", None)
    with pytest.raises(NotFound, match="none is kept"):
        host.shelf.rollback()


def test_a_rollback_to_what_runs_already_changes_nothing(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    host.shelf.rollback(version="1.0.0")
    assert not host.shelf.rollback(version="1.0.0").changed


def test_a_rollback_goes_only_to_the_version_that_is_kept(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    with pytest.raises(NotFound, match=r"no going back to 0\.9: the version kept is 1\.0\.0"):
        host.shelf.rollback(version="0.9")


def test_after_a_rollback_the_newer_version_can_be_taken_again(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    host.shelf.rollback()
    assert host.apply(second).changed
    assert (link(host, "current"), link(host, "previous")) == ("2.0.0", "1.0.0")


def test_after_a_rollback_a_mended_version_of_that_number_can_be_taken(
    host: Host, workshop: Workshop, bundle: Path, second: Path
) -> None:
    host.apply(bundle)
    host.apply(second)
    host.shelf.rollback()
    mended = workshop.bundle("2.0.0", built=NOON + 2 * DAY, name="two-mended")
    assert host.apply(mended).changed
    assert (host.root / "bundles" / "2.0.0" / "bundle.json").read_bytes() == (
        mended / "targets" / "bundle.json"
    ).read_bytes()


def test_a_kept_version_that_rotted_is_not_gone_back_to(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    flip(host.root / "bundles" / "1.0.0" / "image" / "image.oci.tar", 700)
    with pytest.raises(DigestMismatch, match=r"image\.oci\.tar"):
        host.shelf.rollback()
    assert link(host, "current") == "2.0.0"


@pytest.mark.parametrize("lost", ["README", "staged.json"])
def test_a_kept_version_that_lost_a_file_is_not_gone_back_to(host: Host, bundle: Path, second: Path, lost: str) -> None:
    host.apply(bundle)
    host.apply(second)
    (host.root / "bundles" / "1.0.0" / lost).unlink()
    with pytest.raises(
        DigestMismatch, match=rf"The kept version 1\.0\.0 is not as it was staged.*{lost}.*What runs goes on"
    ):
        host.shelf.rollback()
    assert link(host, "current") == "2.0.0"


def test_a_rollback_that_was_killed_before_its_last_step_is_one(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    host.apply(second)
    current = host.root / "bundles" / "current"
    current.unlink()
    current.symlink_to("1.0.0")
    with pytest.raises(NotFound, match="none is kept"):
        host.shelf.rollback()
    assert not host.shelf.rollback(version="1.0.0").changed
    assert host.apply(second).changed
    assert (link(host, "current"), link(host, "previous")) == ("2.0.0", "1.0.0")


def test_a_medium_that_is_pulled_out_is_told_by_the_file(host: Host, bundle: Path, spoilt: Path) -> None:
    host.apply(bundle)
    before = host.content()
    part = max((spoilt / "targets" / "image").iterdir())
    with pytest.raises(MissingPart, match=rf"{part.name} cannot be read"):
        host.apply(spoilt, progress=lambda *_: part.unlink(missing_ok=True))
    assert host.content() == before


def test_a_disk_that_fills_up_meanwhile_leaves_the_old_version(tmp_path: Path, workshop: Workshop, bundle: Path) -> None:
    """Another program may take what was free when it was asked."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        small = Host(disk / "host", workshop, free=lambda _: 1 << 40)
        small.apply(bundle)
        (disk / "ballast").write_bytes(b"x" * (1250 << 10))
        before = small.content()
        with pytest.raises(DiskFull, match="No space is left"):
            small.apply(workshop.bundle("2.5.0", built=NOON + 2 * DAY, name="two-and-a-half"))
        assert small.content() == before
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_without_a_bundle_there_is_nothing_to_go_back_to(host: Host) -> None:
    with pytest.raises(NotFound, match="No bundle was taken here"):
        host.shelf.rollback()
    assert host.content() == {}


@pytest.mark.parametrize("lost", ["image/image.oci.tar", "staged.json", "README"])
def test_the_same_bundle_mends_a_version_that_lost_a_file(host: Host, bundle: Path, lost: str) -> None:
    host.apply(bundle)
    before = host.content()
    (host.root / "bundles" / "1.0.0" / lost).unlink()
    (host.root / "bundles" / "1.0.0" / "image" / "stray").write_text("x")
    host.apply(bundle)
    assert host.content() == before


def test_another_content_under_a_version_that_is_here_is_refused(host: Host, workshop: Workshop, bundle: Path) -> None:
    host.apply(bundle)
    before = host.content()
    other = workshop.bundle("1.0.0", built=NOON + DAY, name=f"other-{host.root.parent.name}")
    with pytest.raises(Conflict, match=r"Version 1\.0\.0 is here already, with another content"):
        host.apply(other)
    assert host.content() == before


def test_a_disk_that_is_too_small_is_told_before_a_byte_is_written(tmp_path: Path, workshop: Workshop, bundle: Path) -> None:
    small = Host(tmp_path / "small", workshop, free=lambda _: 1_000_000)
    with pytest.raises(DiskFull, match=r"needs [0-9,]+ bytes .* and 1,000,000 are free.*nothing was written") as told:
        small.apply(bundle)
    assert int(str(told.value.context["needed"])) > 1_000_000
    assert small.content() == {}


def test_what_an_interrupted_attempt_left_is_removed_by_the_next(host: Host, bundle: Path) -> None:
    staging = host.root / "bundles" / ".staging"
    staging.mkdir(parents=True)
    (staging / "left").write_text("over")
    host.apply(bundle)
    assert not staging.exists()


def test_an_interrupted_attempt_leaves_the_old_version_and_no_staging(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)
    before = host.content()

    def interrupt(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        host.apply(second, progress=interrupt)
    assert host.content() == before


def test_two_at_once_do_not_meet(host: Host, bundle: Path, second: Path) -> None:
    host.apply(bundle)

    def meet(done: int, total: int) -> None:
        del done, total
        with pytest.raises(Conflict, match="Another process holds the bundles"):
            host.apply(second)

    host.apply(bundle, progress=meet)
    assert link(host, "current") == "1.0.0"


def test_what_a_host_remembers_and_cannot_be_read_is_no_first_trust(host: Host, bundle: Path) -> None:
    """Else to spoil that file would be to be trusted."""
    host.apply(bundle)
    (host.root / "trust" / "trust.json").write_text("{}")
    with pytest.raises(StoreCorrupt, match=r"trust\.json cannot be read"):
        host.apply(bundle)


def test_a_current_that_is_no_link_to_a_version_is_told(host: Host, bundle: Path) -> None:
    (host.root / "bundles").mkdir(parents=True)
    (host.root / "bundles" / "current").symlink_to("../elsewhere")
    with pytest.raises(Conflict, match="is not a link to a version"):
        host.apply(bundle)


def test_a_version_that_is_none_is_refused_by_the_builder(workshop: Workshop) -> None:
    with pytest.raises(InvalidInput, match="is not a version"):
        workshop.bundle("latest")
