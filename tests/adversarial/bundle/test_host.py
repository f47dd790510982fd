"""What else may be wrong on a host: files changed after they were taken, folders that are others', a memory that is lost."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.bundle import contents, trust
from appliance.bundle.apply import Shelf
from appliance.bundle.trust import Trust
from appliance.errors import (
    ApplianceError,
    Conflict,
    DigestMismatch,
    HostUnfit,
    InvalidInput,
    MalformedMetadata,
    NotFound,
    RollbackRefused,
    StoreCorrupt,
    TrustError,
    UnsafePath,
    WrongKey,
)
from tests.support.bundles import DAY, NOON, Host, Workshop, copied, flip

Spoil = Callable[[Path], object]


def link_away(folder: Path) -> None:
    """Put a link to a copy where a folder was."""
    shutil.move(folder / "image", folder.parent.parent / "elsewhere")
    (folder / "image").symlink_to(folder.parent.parent / "elsewhere")


def folder_for_file(folder: Path) -> None:
    (folder / "README").unlink()
    (folder / "README" / "in").mkdir(parents=True)


SPOILT: dict[str, Spoil] = {
    "a changed byte": lambda folder: flip(folder / "release-notes.md", 3),
    "a changed list": lambda folder: (folder / "staged.json").write_text('{"bundle": "", "files": {}}'),
    "a nested list": lambda folder: (folder / "staged.json").write_text("[" * 100_000),
    "a file more": lambda folder: (folder / "installer" / "extra.sh").write_text("x"),
    "a folder more": lambda folder: (folder / "empty").mkdir(),
    "a file fewer": lambda folder: (folder / "README").unlink(),
    "a link for a folder": link_away,
    "a folder for a file": folder_for_file,
    "a pipe": lambda folder: os.mkfifo(folder / "pipe"),
}


def versions(host: Host) -> Path:
    return host.root / "bundles"


@pytest.mark.parametrize(
    "spoil", [pytest.param(spoil, id=name) for name, spoil in SPOILT.items() if name != "a changed list"]
)
def test_a_current_version_that_was_changed_is_mended_by_its_bundle(host: Host, bundle: Path, spoil: Spoil) -> None:
    host.apply(bundle)
    before = host.content()
    assert host.shelf.check().version == "1.0.0"
    spoil(versions(host) / "1.0.0")
    with pytest.raises(DigestMismatch, match="Apply its bundle again"):
        host.shelf.check()
    assert host.apply(bundle).changed
    shutil.rmtree(host.root / "elsewhere", ignore_errors=True)
    assert host.content() == before
    assert not [path for path in versions(host).rglob("*") if path.is_dir() and not list(path.iterdir())]
    assert not host.apply(bundle).changed


@pytest.mark.parametrize("spoil", [pytest.param(spoil, id=name) for name, spoil in SPOILT.items()])
def test_a_kept_version_that_was_changed_is_not_gone_back_to(host: Host, bundle: Path, second: Path, spoil: Spoil) -> None:
    host.apply(bundle)
    host.apply(second)
    spoil(versions(host) / "1.0.0")
    with pytest.raises(DigestMismatch, match=r"The kept version 1\.0\.0 is not as it was staged"):
        host.shelf.rollback()
    assert (versions(host) / "current").readlink() == Path("2.0.0")


@pytest.mark.parametrize("spoil", [pytest.param(spoil, id=name) for name, spoil in SPOILT.items()])
def test_a_version_that_was_changed_after_the_way_back_does_not_run_again_so(
    host: Host, bundle: Path, second: Path, spoil: Spoil
) -> None:
    host.apply(bundle)
    host.apply(second)
    before = host.content()
    host.shelf.rollback()
    spoil(versions(host) / "2.0.0")
    try:
        host.apply(second)
    except Conflict:
        assert (versions(host) / "current").readlink() == Path("1.0.0")
    else:
        shutil.rmtree(host.root / "elsewhere", ignore_errors=True)
        assert host.content() == before


def test_folders_of_others_are_left_alone_whatever_they_are_called(host: Host, bundle: Path, second: Path) -> None:
    others = [versions(host) / name for name in ("3.11", "1.2", "0.9.0")]
    for other in others:
        (other / "lib").mkdir(parents=True)
    (others[0] / "staged.json").write_text("{}")
    shutil.copytree(bundle, versions(host) / "1.5.0")
    for each in (bundle, second):
        host.apply(each)
    assert all((other / "lib").is_dir() for other in others)
    assert (versions(host) / "1.5.0" / "metadata").is_dir()


@pytest.mark.parametrize("kind", ["folder", "link", "file"])
def test_something_else_in_the_version_s_place_is_refused_and_stays(host: Host, bundle: Path, kind: str) -> None:
    elsewhere, place = host.root / "elsewhere", versions(host) / "1.0.0"
    elsewhere.mkdir(parents=True)
    (elsewhere / "mine").write_text("x")
    versions(host).mkdir()
    make: dict[str, Callable[[], object]] = {
        "folder": lambda: shutil.copytree(elsewhere, place),
        "link": lambda: place.symlink_to(elsewhere),
        "file": lambda: place.write_text("x"),
    }
    make[kind]()
    before = host.content()
    with pytest.raises(Conflict, match=r"1\.0\.0 is in the place of the version, and no bundle made it"):
        host.apply(bundle)
    assert host.content() == before


def at(to: Path, remembered: Path, bundle: Path, workshop: Workshop) -> None:
    key = workshop.keys.minisigner.key
    shelf = Shelf(to, trust=Trust(remembered))
    shelf.apply(bundle, first=lambda running: trust.first(bundle, key=key, carried=None, running=running), now=NOON)


@pytest.mark.parametrize(
    ("to", "remembered"),
    [
        ("shop/bundle", "trust"),
        ("shop/bundle/targets/b", "trust"),
        ("shop", "trust"),
        ("to", "shop/bundle/trust"),
        ("to", "shop"),
        ("to", "to/1.0.0/trust"),
        ("link/b", "trust"),
    ],
)
def test_bundle_versions_and_trust_lie_apart(
    tmp_path: Path, bundle: Path, workshop: Workshop, to: str, remembered: str
) -> None:
    ours = copied(bundle, tmp_path / "shop" / "bundle")
    (tmp_path / "link").symlink_to(ours)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidInput, match=r"neither may lie in the other|lies in --to"):
        at(tmp_path / to, tmp_path / remembered, ours, workshop)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_host_that_lost_its_memory_takes_nobody_s_word_but_a_key_s(host: Host, bundle: Path, workshop: Workshop) -> None:
    host.apply(bundle)
    host.forget()
    before = host.content()
    carried = workshop.keys.roots[0]
    with pytest.raises(WrongKey, match=r"Version 1\.0\.0 runs here.*does not remember.*--trust"):
        host.shelf.apply(bundle, now=NOON, first=lambda now: trust.first(bundle, key=None, carried=carried, running=now))
    assert host.content() == before
    with pytest.raises(NotFound, match=r"Version 1\.0\.0 runs, and .*/trust remembers no bundle"):
        host.shelf.rollback()
    assert not host.apply(bundle).changed
    assert host.trust.known() is not None


def test_a_host_that_lost_its_memory_takes_no_lower_version(host: Host, bundle: Path, second: Path) -> None:
    host.apply(second)
    host.forget()
    with pytest.raises(RollbackRefused, match=r"version 1\.0\.0, and this host has taken 2\.0\.0"):
        host.apply(bundle)


def test_two_folders_of_versions_with_one_memory_do_not_lower_it(host: Host, bundle: Path, second: Path) -> None:
    beside = Shelf(host.root / "beside", trust=host.trust)
    host.apply(bundle)

    def meet(done: int, total: int) -> None:
        del done, total
        with pytest.raises(Conflict, match="Another process holds the trust"):
            beside.apply(second, first=lambda _: host.known(second), now=NOON)

    host.apply(second, progress=meet)
    known = host.trust.known()
    assert known is not None
    assert known.version == "2.0.0"


def not_writable(host: Host) -> None:
    (host.root / "trust").mkdir(parents=True)
    (host.root / "trust" / ".lock").mkdir()


def current_is_a_folder(host: Host) -> None:
    (versions(host) / "current").mkdir(parents=True)


@pytest.mark.parametrize("spoil", [not_writable, current_is_a_folder])
def test_what_cannot_end_well_is_told_before_anything_is_staged(
    host: Host, bundle: Path, spoil: Callable[[Host], None]
) -> None:
    spoil(host)

    def unheard(done: int, total: int) -> None:
        raise AssertionError(done, total)

    with pytest.raises((HostUnfit, Conflict)):
        host.apply(bundle, progress=unheard)
    assert host.content() == {}


@pytest.mark.parametrize("step", ["remember", "_switch"])
def test_what_fails_after_staging_leaves_no_version_behind(
    host: Host, workshop: Workshop, bundle: Path, second: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    host.apply(bundle)
    before = set(versions(host).iterdir())

    def fail(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(Trust if step == "remember" else Shelf, step, fail)
        with pytest.raises(OSError, match="no"):
            host.apply(second)
    assert set(versions(host).iterdir()) == before
    rebuilt = workshop.bundle("2.0.0", built=NOON + 2 * DAY, name=f"rebuilt-{step}")
    assert host.apply(rebuilt).changed


REMEMBERED: dict[str, Spoil] = {
    "nested": lambda path: path.write_text("[" * 100_000),
    "empty": lambda path: path.write_text(""),
    "a folder": lambda path: turned(path, Path.mkdir),
    "a pipe": lambda path: turned(path, os.mkfifo),
    "a time without a zone": lambda path: rewrite(path, time="2026-06-01T12:00:00"),
    "another root": lambda path: rewrite(path, root="{}"),
    "a timestamp for a root": lambda path: rewrite(path, root=json.loads(path.read_text())["timestamp"]),
    "a spoilt timestamp": lambda path: rewrite(path, timestamp="x"),
    "a spoilt snapshot": lambda path: rewrite(path, snapshot="{}"),
    "another version": lambda path: rewrite(path, version="newest"),
    "a number for text": lambda path: rewrite(path, root=1),
    "a list of versions without bundles": lambda path: rewrite(path, taken=["1.0.0"]),
    "a version that is none": lambda path: rewrite(path, taken={"newest": "x"}),
}


def turned(path: Path, into: Spoil) -> None:
    path.unlink()
    into(path)


def rewrite(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize("spoil", [pytest.param(spoil, id=name) for name, spoil in REMEMBERED.items()])
def test_a_memory_that_is_damaged_is_told_as_such(host: Host, bundle: Path, second: Path, spoil: Spoil) -> None:
    host.apply(bundle)
    spoil(host.root / "trust" / "trust.json")
    with pytest.raises(StoreCorrupt, match=r"trust\.json cannot be read\. Restore it"):
        host.apply(second)
    with pytest.raises(StoreCorrupt, match=r"trust\.json cannot be read\. Restore it"):
        host.shelf.rollback()


@pytest.mark.parametrize("name", [".staging", ".current", ".previous"])
@pytest.mark.parametrize("kind", ["file", "link", "folder", "pipe"])
def test_whatever_an_attempt_left_in_whatever_shape_is_removed(host: Host, bundle: Path, name: str, kind: str) -> None:
    versions(host).mkdir(parents=True)
    left, kept = versions(host) / name, host.root / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    make: dict[str, Callable[[], object]] = {
        "file": lambda: left.write_text("x"),
        "link": lambda: left.symlink_to(kept),
        "folder": lambda: shutil.copytree(kept, left),
        "pipe": lambda: os.mkfifo(left),
    }
    make[kind]()
    host.apply(bundle)
    assert {path.name for path in versions(host).iterdir()} == {".lock", "1.0.0", "current"}
    assert (kept / "file").read_text() == "x"


def test_what_a_killed_process_left_of_the_memory_is_removed(host: Host, bundle: Path) -> None:
    (host.root / "trust").mkdir(parents=True)
    (host.root / "trust" / ".trust.json.12.tmp").write_text("x")
    host.apply(bundle)
    assert {path.name for path in (host.root / "trust").iterdir()} == {".lock", "trust.json"}


def endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


TURNED: dict[str, tuple[Spoil, str]] = {
    "a pipe": (os.mkfifo, "is not a file"),
    "a folder": (Path.mkdir, "is not a file"),
    "a link": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "nothing": (lambda _: None, "cannot be read"),
    "an endless file": (endless, "is not what was signed"),
}


@pytest.mark.parametrize(("spoil", "said"), [pytest.param(*case, id=name) for name, case in TURNED.items()])
def test_metadata_that_turns_into_something_else_meanwhile_is_refused(
    host: Host, spoilt: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil, said: str
) -> None:
    listed = contents.listing

    def listing(folder: Path) -> dict[str, int]:
        found = listed(folder)
        turned(folder / "metadata" / "snapshot.json", spoil)
        return found

    monkeypatch.setattr(contents, "listing", listing)
    with pytest.raises((TrustError, UnsafePath), match=rf"snapshot\.json ({said}|is not of the same bundle)"):
        host.apply(spoilt)
    assert host.content() == {}


def test_more_roots_than_a_builder_makes_are_not_even_read(host: Host, spoilt: Path) -> None:
    for number in range(2, 258):
        (spoilt / "metadata" / f"{number}.root.json").touch()
    with pytest.raises(MalformedMetadata, match="more than 256 roots"):
        host.apply(spoilt)


def test_what_a_kill_left_is_removed_also_by_an_attempt_that_is_refused(host: Host, bundle: Path, spoilt: Path) -> None:
    host.apply(bundle)
    before = host.content()
    (versions(host) / ".staging").mkdir()
    (versions(host) / ".staging" / "left").write_text("x")
    flip(spoilt / "metadata" / "snapshot.json", 9)
    with pytest.raises(TrustError):
        host.apply(spoilt)
    assert host.content() == before


def test_folders_made_for_bundles_can_be_read_whatever_the_umask_is(host: Host, bundle: Path) -> None:
    umask = os.umask(0o077)
    try:
        host.apply(bundle)
    finally:
        os.umask(umask)
    assert {path.stat().st_mode & 0o777 for path in (versions(host), host.root / "trust")} == {0o755}


def test_a_bundle_that_turns_into_something_else_meanwhile_is_refused(host: Host, spoilt: Path) -> None:
    def turn(done: int, total: int) -> None:
        del done, total
        path = spoilt / "targets" / "release-notes.md"
        if path.is_file():
            path.unlink()
            os.mkfifo(path)

    with pytest.raises(ApplianceError, match=r"release-notes\.md is not a file"):
        host.apply(spoilt, progress=turn)
    assert host.content() == {}
