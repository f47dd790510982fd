"""A host that went back to an earlier version: its own bundle mends that one, and nobody gains an older one by it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.errors import Conflict, DigestMismatch, MetadataExpired, RollbackRefused, TrustError, WrongKey
from tests.adversarial.bundle.test_host import SPOILT, Spoil, versions
from tests.support.bundles import DAY, NOON, Host, Workshop, copied

Back = Callable[[Host, Path], object]


@pytest.fixture(scope="module")
def third(workshop: Workshop) -> Path:
    return workshop.bundle("3.0.0", built=NOON + 2 * DAY, name="three")


def back(host: Host, third: Path) -> None:
    """Take the newer one and go back, as a host does by itself where a version is not ready."""
    host.apply(third)
    host.shelf.rollback(version="2.0.0")


def back_twice(host: Host, third: Path) -> None:
    for _ in range(2):
        back(host, third)


def back_half(host: Host, third: Path) -> None:
    """Be killed on the way back, just before its last step."""
    host.apply(third)
    (versions(host) / "current").unlink()
    (versions(host) / "current").symlink_to("2.0.0")


BACK: list[Back] = [back, back_twice, back_half]


def linked(host: Host) -> dict[str, str]:
    return {path.name: str(path.readlink()) for path in versions(host).iterdir() if path.is_symlink()}


def state(host: Host) -> dict[str, str]:
    """Return everything that the host holds but the version that it has left, which any next attempt removes."""
    return {path: found for path, found in host.content().items() if not path.startswith("bundles/3.0.0/")}


@pytest.fixture
def kept(host: Host, bundle: Path, second: Path) -> Host:
    """Return a host that runs 2.0.0, came from 1.0.0, and has taken nothing newer yet."""
    host.apply(bundle)
    host.apply(second)
    return host


@pytest.mark.parametrize("way", BACK)
@pytest.mark.parametrize("spoil", [pytest.param(spoil, id=name) for name, spoil in SPOILT.items()])
def test_the_version_that_runs_is_mended_by_its_bundle(
    kept: Host, second: Path, third: Path, way: Back, spoil: Spoil
) -> None:
    way(kept, third)
    before = state(kept)
    spoil(versions(kept) / "2.0.0")
    with pytest.raises(DigestMismatch, match="Apply its bundle again"):
        kept.shelf.check()
    done = kept.apply(second)
    assert (done.version, done.changed) == ("2.0.0", True)
    shutil.rmtree(kept.root / "elsewhere", ignore_errors=True)
    assert state(kept) == before
    assert not kept.apply(second).changed


@pytest.mark.parametrize("way", BACK)
def test_a_version_that_is_gone_altogether_is_brought_back_by_its_bundle(
    kept: Host, second: Path, third: Path, way: Back
) -> None:
    way(kept, third)
    before = state(kept)
    shutil.rmtree(versions(kept) / "2.0.0")
    assert kept.apply(second).changed
    assert state(kept) == before


@pytest.mark.parametrize("way", BACK)
def test_a_bundle_that_mends_is_verified_as_one_and_no_other_is(
    kept: Host, bundle: Path, second: Path, third: Path, way: Back
) -> None:
    way(kept, third)
    assert kept.verify(second, current=kept.shelf.current).mends
    with pytest.raises(RollbackRefused):
        kept.verify(second)
    with pytest.raises(RollbackRefused):
        kept.verify(bundle, current=kept.shelf.current)
    assert not kept.verify(third, current=kept.shelf.current).mends


def test_nothing_older_than_what_runs_is_taken(kept: Host, workshop: Workshop, bundle: Path, third: Path) -> None:
    """Whoever holds old bundles, each of them signed, gets none of them in by the way back."""
    back(kept, third)
    before = state(kept)
    rebuilt = workshop.bundle("2.0.0", built=NOON + DAY / 2, name="two-rebuilt")
    late = workshop.bundle("2.0.0", built=NOON + 9 * DAY, name="two-late")
    between = workshop.bundle("2.5.0", built=NOON + 9 * DAY, name="between")
    for old in (bundle, rebuilt, late, between):
        with pytest.raises(RollbackRefused):
            kept.apply(old)
    assert state(kept) == before


def test_the_version_that_is_kept_beside_the_one_that_runs_is_no_mend(kept: Host, bundle: Path) -> None:
    with pytest.raises(RollbackRefused):
        kept.apply(bundle)
    assert linked(kept) == {"current": "2.0.0", "previous": "1.0.0"}


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
@pytest.mark.parametrize("other", ["one", "three"])
def test_metadata_of_another_bundle_makes_no_mend(
    kept: Host, workshop: Workshop, second: Path, third: Path, tmp_path: Path, role: str, other: str
) -> None:
    back(kept, third)
    before = state(kept)
    mixed = copied(second, tmp_path / "mixed")
    shutil.copy(workshop.root / other / "metadata" / f"{role}.json", mixed / "metadata")
    with pytest.raises(TrustError):
        kept.apply(mixed)
    assert state(kept) == before


def test_a_version_that_was_put_back_by_hand_lets_no_older_bundle_in(
    kept: Host, workshop: Workshop, bundle: Path, tmp_path: Path
) -> None:
    """Which bundle a version was taken from is remembered with the trust, and not read where the version lies."""
    saved = shutil.copytree(versions(kept) / "1.0.0", tmp_path / "1.0.0")
    for days, version in ((4, "4.0.0"), (5, "5.0.0")):
        kept.apply(workshop.bundle(version, built=NOON + days * DAY, name=f"by-hand-{version}"))
    shutil.copytree(saved, versions(kept) / "1.0.0")
    (versions(kept) / "current").unlink()
    (versions(kept) / "current").symlink_to("1.0.0")
    with pytest.raises(RollbackRefused):
        kept.apply(bundle)


def test_what_was_remembered_holds_after_a_mend(kept: Host, workshop: Workshop, second: Path, third: Path) -> None:
    back(kept, third)
    kept.apply(second)
    with pytest.raises(RollbackRefused, match=r"version 2\.9\.0, and this host has taken 3\.0\.0"):
        kept.apply(workshop.bundle("2.9.0", built=NOON + 9 * DAY, name="nearly"))
    assert kept.apply(third).changed
    assert linked(kept) == {"current": "3.0.0", "previous": "2.0.0"}


def test_keys_that_were_changed_since_vouch_for_no_mend(tmp_path: Path) -> None:
    """They were changed because others may have them; a newer bundle mends then."""
    shop = Workshop(tmp_path / "shop")
    host = Host(tmp_path / "host", shop)
    old = shop.bundle("2.0.0")
    host.apply(old)
    shop.rotate()
    back(host, shop.bundle("3.0.0", built=NOON + DAY))
    before = state(host)
    with pytest.raises(WrongKey, match=r"timestamp\.json is signed by the key .*, which is not trusted for it"):
        host.apply(old)
    assert state(host) == before
    assert host.apply(shop.bundle("3.0.1", built=NOON + 2 * DAY)).changed


def test_keys_that_were_changed_before_both_vouch_for_a_mend(tmp_path: Path) -> None:
    shop = Workshop(tmp_path / "shop")
    host = Host(tmp_path / "host", shop)
    host.apply(shop.bundle("1.0.0"))
    shop.rotate()
    own = shop.bundle("2.0.0", built=NOON + DAY)
    host.apply(own)
    back(host, shop.bundle("3.0.0", built=NOON + 2 * DAY))
    (versions(host) / "2.0.0" / "README").unlink()
    assert host.apply(own).changed


def test_what_was_in_date_when_it_was_taken_mends_whatever_was_built_since(host: Host, workshop: Workshop) -> None:
    brief = workshop.bundle("2.0.0", built=NOON + DAY, name="brief", lasts=DAY)
    host.apply(brief)
    back(host, workshop.bundle("3.0.0", built=NOON + 9 * DAY, name="late"))
    (versions(host) / "2.0.0" / "README").unlink()
    done = host.apply(brief, now=NOON + 9 * DAY)
    assert done.changed
    assert "expired on 2026-06-03" in "".join(done.warnings)
    with pytest.raises(MetadataExpired):
        host.verify(brief, now=NOON + 9 * DAY, strict=True, current="2.0.0")


def test_a_host_that_has_not_remembered_it_refuses_as_any_older_one(kept: Host, second: Path, third: Path) -> None:
    """As one that took it before this was remembered, or whose folder of trust was lost between."""
    back(kept, third)
    path = kept.root / "trust" / "trust.json"
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "taken"}))
    with pytest.raises(RollbackRefused):
        kept.apply(second)
    assert kept.apply(third).changed


def test_only_what_may_run_again_is_remembered(kept: Host, workshop: Workshop, third: Path) -> None:
    back(kept, third)
    kept.apply(workshop.bundle("3.1.0", built=NOON + 3 * DAY, name="three-one"))
    kept.apply(workshop.bundle("3.2.0", built=NOON + 4 * DAY, name="three-two"))
    known = kept.trust.known()
    assert known is not None
    assert set(known.taken) == {"2.0.0", "3.1.0", "3.2.0"}


def test_something_else_in_the_place_of_what_runs_is_no_version_to_mend(kept: Host, second: Path, third: Path) -> None:
    back(kept, third)
    shutil.move(versions(kept) / "2.0.0", kept.root / "elsewhere")
    (versions(kept) / "2.0.0").symlink_to(kept.root / "elsewhere")
    with pytest.raises(Conflict, match="no bundle made it"):
        kept.apply(second)
