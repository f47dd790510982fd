"""Bundles that were right once, or that are put together from right ones; and what a clock has to say, which is little."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.errors import DigestMismatch, MalformedMetadata, MetadataExpired, RollbackRefused, TrustError
from tests.support.bundles import DAY, NOON, Host, Workshop, copied

YEAR = timedelta(days=365)


def test_an_older_bundle_is_refused_and_what_runs_stays(host: Host, bundle: Path, second: Path) -> None:
    host.apply(second)
    before = host.content()
    with pytest.raises(RollbackRefused, match=r"timestamp\.json is older than that of a bundle which this host took"):
        host.apply(bundle)
    assert host.content() == before


def test_an_older_version_that_was_built_later_is_refused(host: Host, workshop: Workshop, second: Path) -> None:
    host.apply(second)
    late = workshop.bundle("1.5.0", built=NOON + 9 * DAY, name="late")
    with pytest.raises(RollbackRefused, match=r"version 1\.5\.0, and this host has taken 2\.0\.0"):
        host.apply(late)


def test_the_same_version_under_another_name_is_refused(host: Host, workshop: Workshop, bundle: Path) -> None:
    host.apply(bundle)
    with pytest.raises(RollbackRefused, match=r"version 1\.0, and this host has taken 1\.0\.0"):
        host.apply(workshop.bundle("1.0", built=NOON + 9 * DAY, name="short"))


def test_the_highest_version_is_remembered_through_a_rollback(
    host: Host, bundle: Path, second: Path, workshop: Workshop
) -> None:
    host.apply(bundle)
    host.apply(second)
    host.shelf.rollback()
    between = workshop.bundle("1.9.0", built=NOON + 9 * DAY, name="between")
    with pytest.raises(RollbackRefused):
        host.apply(between)


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_metadata_of_another_bundle_does_not_fit(host: Host, spoilt: Path, second: Path, role: str) -> None:
    shutil.copy(second / "metadata" / f"{role}.json", spoilt / "metadata" / f"{role}.json")
    with pytest.raises((DigestMismatch, TrustError)) as told:
        host.apply(spoilt)
    assert type(told.value) is DigestMismatch


def test_the_payload_of_another_bundle_does_not_fit(host: Host, second: Path, bundle: Path, tmp_path: Path) -> None:
    mixed = copied(second, tmp_path / "mixed")
    shutil.copy(bundle / "targets" / "bundle.json", mixed / "targets" / "bundle.json")
    with pytest.raises(DigestMismatch, match=r"bundle\.json"):
        host.apply(mixed)


def test_old_metadata_around_a_new_timestamp_is_refused_by_number(host: Host, workshop: Workshop, tmp_path: Path) -> None:
    """Whoever holds the timestamp's key alone cannot bring an old snapshot back."""
    host.apply(workshop.bundle("3.0.0", built=NOON + 3 * DAY, name="newest"))
    old = copied(workshop.bundle("2.5.0", built=NOON + 2 * DAY, name="old"), tmp_path / "forged")
    workshop.resign(old, lambda *signed: setattr(signed[2], "version", 2**31))
    with pytest.raises(RollbackRefused):
        host.apply(old)


def test_another_bundle_with_the_same_serial_number_is_refused(host: Host, workshop: Workshop, bundle: Path) -> None:
    host.apply(bundle)
    twin = workshop.bundle("1.1.0", built=NOON, name="twin")
    with pytest.raises(RollbackRefused, match="has the serial number of the one taken last, and is another"):
        host.apply(twin)


def test_new_keys_end_a_fast_forward(tmp_path: Path) -> None:
    """A thief of keys who numbers a bundle as high as numbers go shuts out all others, until the keys are changed."""
    shop = Workshop(tmp_path / "shop")
    host = Host(tmp_path / "host", shop)
    far = shop.bundle("1.0.0")

    shop.resign(far, lambda *signed: _renumber(2**40, *signed))
    host.apply(far)
    with pytest.raises(RollbackRefused):
        host.apply(shop.bundle("1.1.0", built=NOON + DAY))
    shop.rotate()
    assert host.apply(shop.bundle("1.2.0", built=NOON + 2 * DAY)).changed


@pytest.mark.parametrize("years", [-30, -1, 0, 3, 30])
def test_a_bundle_holds_whatever_the_clock_says(host: Host, bundle: Path, years: int) -> None:
    """A host that touches no network may have any clock; one years ahead must not keep a bundle out."""
    assert host.apply(bundle, now=NOON + years * YEAR).changed


@pytest.mark.parametrize(
    ("days", "said"), [(0, ""), (334, ""), (336, "expires on 2027-06-01"), (400, "expired on 2027-06-01")]
)
def test_a_freeze_is_warned_of_thirty_days_ahead(host: Host, bundle: Path, days: int, said: str) -> None:
    warnings = host.verify(bundle, now=NOON + days * DAY).warnings
    assert said in "".join(warnings)
    assert bool(warnings) == bool(said)


def test_an_expired_bundle_is_refused_where_the_clock_is_trusted(host: Host, bundle: Path) -> None:
    with pytest.raises(MetadataExpired, match="By this machine's clock, this bundle expired on 2027-06-01"):
        host.verify(bundle, now=NOON + 366 * DAY, strict=True)
    assert host.verify(bundle, now=NOON + 364 * DAY, strict=True)


def test_a_bundle_that_expired_before_the_newest_was_built_is_refused(host: Host, workshop: Workshop) -> None:
    """What the bundles themselves say is the one time that every host knows."""
    brief = workshop.bundle("2.1.0", built=NOON, name="brief", lasts=DAY)
    late = workshop.bundle("2.0.0", built=NOON + 3 * DAY, name="late-one")
    workshop.resign(late, lambda *signed: _renumber(1, *signed))
    host.apply(late)
    with pytest.raises(MetadataExpired, match=r"had expired before the newest bundle that this host took was built"):
        host.apply(brief)


def test_a_bundle_that_had_expired_when_it_was_built_is_refused(host: Host, workshop: Workshop) -> None:
    with pytest.raises(MetadataExpired, match="had expired when the bundle was built"):
        host.apply(workshop.stillborn())


def test_a_field_that_nobody_knows_is_refused_although_it_is_signed(host: Host, workshop: Workshop, spoilt: Path) -> None:
    workshop.resign(spoilt, lambda *signed: setattr(signed[0], "unrecognized_fields", {"x": 1}))
    with pytest.raises(MalformedMetadata, match=r"targets\.json is not written as it was signed"):
        host.apply(spoilt)


def _renumber(number: int, *signed: object) -> None:
    for each in signed:
        each.version = number  # type: ignore[attr-defined]
