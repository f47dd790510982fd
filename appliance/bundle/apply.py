"""Taking a bundle: staged aside, checked to the last byte on the way, then switched to in one step; and the way back."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from appliance.base.durable import exclusive, make_directory, storage_errors, sync_directory, sync_filesystem
from appliance.bundle import archive, contents, layout, verify
from appliance.bundle.contents import Progress
from appliance.bundle.layout import Entry, order
from appliance.bundle.trust import Known, Trust
from appliance.bundle.verify import Bundle
from appliance.errors import Conflict, DigestMismatch, DiskFull, InvalidInput, MalformedMetadata, MissingPart, NotFound

CURRENT: Final = "current"
PREVIOUS: Final = "previous"
_STAGING: Final = ".staging"
_LIST: Final = "staged.json"
_MARGIN: Final = 32 << 20  # bytes, for folders and the list


@dataclass(frozen=True, slots=True)
class Applied:
    """What runs next: its version and folder, whether that is news, and sentences for whoever asked."""

    version: str
    changed: bool
    path: Path
    warnings: Sequence[str] = ()


def free_bytes(path: Path) -> int:
    """Return the bytes that this user may still write to the file system of *path*."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def room(folder: Path, needed: int, *, what: str, free: Callable[[Path], int]) -> None:
    """Raise `DiskFull` when *needed* bytes do not fit on the file system of *folder*."""
    there = free(folder)
    if needed > there:
        raise DiskFull(
            f"{what} needs {needed:,} bytes on the file system of {folder}, and {there:,} are free.",
            remedy="Free space there, then try again: nothing was written.",
            path=str(folder),
            needed=needed,
            free=there,
        )


class Shelf:
    """The folder *root* with the versions that a host keeps: ``<version>/``, and the links ``current`` and ``previous``.

    Killed at any moment it leaves ``current`` on the old version or the new one, whole. *free* tells the bytes left.
    """

    def __init__(self, root: Path, *, trust: Trust, free: Callable[[Path], int] = free_bytes) -> None:
        self._root = root
        self._trust = trust
        self._free = free

    def apply(
        self,
        folder: Path,
        *,
        first: Callable[[], Known],
        now: datetime,
        strict: bool = False,
        progress: Progress = contents.unheard,
    ) -> Applied:
        """Make the bundle in *folder* the current version if it holds; *first* says whom a host trusts that knows nothing.

        Raise the leaf of `TrustError` that says why it does not hold, `DiskFull` before a byte is written, `Conflict` if the
        version is here with another content. What is refused or fails leaves nothing, and what runs as it was.
        """
        self._examined(folder, first, now=now, strict=strict)  # what is refused here leaves not even a folder
        with self._alone():
            bundle = self._examined(folder, first, now=now, strict=strict)
            version = bundle.manifest.version
            shutil.rmtree(self._root / _STAGING, ignore_errors=True)
            if self._kept(bundle):
                contents.check(folder, bundle.entries, progress=progress)
            else:
                self._stage(bundle, progress=progress)
            self._trust.remember(bundle.known)
            changed = self._switch(version)
            self._prune()
        return Applied(version, changed, self._root / version, bundle.warnings)

    def rollback(self, *, version: str | None = None, progress: Progress = contents.unheard) -> Applied:
        """Make the version that ran before the current one again; nothing changes if *version* is current already.

        Raise `NotFound` where none is kept or it is not *version*, `DigestMismatch` if it is not as it was staged.
        """
        if self._trust.known() is None or self.current is None:
            raise NotFound("No bundle was taken here, so that there is none to go back to.", path=str(self._root))
        with self._alone():
            now, before = self.current, self._link(PREVIOUS)
            if now is not None and now == version:
                return Applied(now, changed=False, path=self._root / now)
            if before is None or before == now or (version is not None and version != before):
                kept = f"the version kept is {before}" if before and before != now else "none is kept"
                raise NotFound(
                    f"There is no going back to {version or 'an earlier version'}: {kept}.",
                    remedy="Only the version that ran before the current one is kept; apply a newer bundle instead.",
                )
            self._check_kept(self._root / before, progress=progress)
            self._point(CURRENT, before)
            (self._root / PREVIOUS).unlink()
            sync_directory(self._root)
        return Applied(before, changed=True, path=self._root / before)

    def _check_kept(self, folder: Path, *, progress: Progress) -> None:
        try:
            contents.check(folder, _staged(folder)[1], progress=progress)
        except (DigestMismatch, MissingPart) as exc:
            raise DigestMismatch(
                f"The kept version {folder.name} is not as it was staged. {exc.message}",
                remedy="What runs goes on; apply a newer bundle instead.",
                **exc.context,
            ) from exc

    @property
    def current(self) -> str | None:
        """The version that runs, or None where none was taken yet."""
        return self._link(CURRENT)

    def _examined(self, folder: Path, first: Callable[[], Known], *, now: datetime, strict: bool) -> Bundle:
        return verify.examine(folder, self._trust.known() or first(), now=now, strict=strict)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        make_directory(self._root, mode=0o755, choose="with --to")
        remedy = "Wait until the other has ended, then try again."
        with exclusive(self._root / ".lock", what=f"the bundles in {self._root}", remedy=remedy):
            yield

    def _kept(self, bundle: Bundle) -> bool:
        """Return whether the bundle's content is here, whole; raise `Conflict` if its version is, with another content."""
        here = self._root / bundle.manifest.version
        if not here.exists():
            return False
        try:
            identity, listed = _staged(here)
        except DigestMismatch:
            identity, listed = "", {}
        if identity and identity != _identity(bundle):
            raise Conflict(
                f"Version {here.name} is here already, with another content.",
                remedy="Build the new content under a version of its own.",
                version=here.name,
            )
        return bool(listed) and all(_has(here / path, entry) for path, entry in listed.items())

    def _stage(self, bundle: Bundle, *, progress: Progress) -> None:
        """Copy the payload to the folder of its version, each file whole and checked; durable on return."""
        aside, here = self._root / _STAGING, self._root / bundle.manifest.version
        room(self._root, bundle.size + _MARGIN, what="The bundle", free=self._free)
        try:
            with storage_errors(aside):
                aside.mkdir()
                listed = _Copy(bundle, aside, progress=progress).all()
                _check_image(aside / layout.IMAGE, bundle.manifest.image.id)
                files = {path: [entry.sha256, entry.size] for path, entry in listed.items()}
                document = {"bundle": _identity(bundle), "files": files}
                (aside / _LIST).write_text(json.dumps(document, indent=1, sort_keys=True))
                _open_to_all(aside)
                sync_filesystem(aside)
                if here.exists():
                    self._replace(here, aside)
                else:
                    aside.rename(here)
                sync_directory(self._root)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise

    def _replace(self, here: Path, aside: Path) -> None:
        """Mend a version that lost files: each is moved to its place, so that the version is never gone."""
        fresh = sorted(path.relative_to(aside) for path in aside.rglob("*"))
        for path in fresh:
            if (aside / path).is_dir():
                (here / path).mkdir(exist_ok=True)
            else:
                (aside / path).replace(here / path)
        for path in here.rglob("*"):
            if not path.is_dir() and path.relative_to(here) not in fresh:
                path.unlink()
        shutil.rmtree(aside)
        sync_filesystem(here)

    def _switch(self, version: str) -> bool:
        before = self.current
        if before == version:
            return False
        if before is not None:
            self._point(PREVIOUS, before)
        self._point(CURRENT, version)
        return True

    def _point(self, name: str, version: str) -> None:
        aside = self._root / f".{name}"
        with storage_errors(aside):
            aside.unlink(missing_ok=True)
            aside.symlink_to(version)
            aside.replace(self._root / name)
        sync_directory(self._root)

    def _link(self, name: str) -> str | None:
        try:
            return layout.check_version(str((self._root / name).readlink()))
        except FileNotFoundError:
            return None
        except (OSError, InvalidInput) as exc:
            raise Conflict(
                f"{self._root / name} is not a link to a version.",
                remedy="Make it one, or remove it if no version is to be current.",
                path=str(self._root / name),
            ) from exc

    def _prune(self) -> None:
        """Remove the versions that are neither current nor kept to go back to."""
        kept = {self._link(CURRENT), self._link(PREVIOUS)}
        for path in self._root.iterdir():
            if path.name not in kept and path.is_dir() and not path.is_symlink() and _is_version(path.name):
                shutil.rmtree(path, ignore_errors=True)


class _Copy:
    """Copies the files of a bundle to a folder as a host uses them, their parts joined."""

    def __init__(self, bundle: Bundle, folder: Path, *, progress: Progress) -> None:
        self._bundle = bundle
        self._folder = folder
        self._progress = progress
        self._done = 0
        self._listed: dict[str, Entry] = {}

    def all(self) -> dict[str, Entry]:
        """Copy everything; return each file written, with its digest."""
        prefix = f"{layout.PAYLOAD}/"
        wholes = list(self._bundle.manifest.wholes())
        parts = {f"{prefix}{part}" for whole in wholes for part in whole.parts}
        for path in sorted(self._bundle.entries.keys() - parts):
            self._write(path.removeprefix(prefix), [path], expected=self._bundle.entries[path])
        for whole in wholes:
            sources = [f"{prefix}{part}" for part in whole.parts]
            self._write(whole.path, sources, expected=Entry(whole.sha256, whole.size))
        return self._listed

    def _write(self, name: str, sources: Sequence[str], *, expected: Entry) -> None:
        if name in self._listed or name == _LIST:
            raise MalformedMetadata(f"The bundle has two files for {name}.", file=name)
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256() if len(sources) > 1 else None
        with target.open("xb") as copy:
            for source in sources:
                for piece in contents.pieces(self._bundle.folder, source, self._bundle.entries[source]):
                    copy.write(piece)
                    if digest is not None:
                        digest.update(piece)
                    self._done += len(piece)
                    self._progress(self._done, self._bundle.size)
        found = digest.hexdigest() if digest is not None else self._bundle.entries[sources[0]].sha256
        if found != expected.sha256:
            raise DigestMismatch(f"The parts of {name} do not make what was signed.", file=name)
        self._listed[name] = expected


def _open_to_all(folder: Path) -> None:
    """Let every user read *folder*, whatever this process's umask is: the appliance runs as another than who installs it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def _check_image(path: Path, signed: str) -> None:
    if (found := archive.image_id(path)) != signed:
        raise DigestMismatch(f"The image is {found}, and {signed} was signed.", file=layout.IMAGE)


def _identity(bundle: Bundle) -> str:
    """Return what tells one signed content from another: the digest of the snapshot that vouches for it."""
    return hashlib.sha256(bundle.known.snapshot).hexdigest()


def _staged(folder: Path) -> tuple[str, dict[str, Entry]]:
    """Return which bundle *folder* was staged from, and its files; raise `DigestMismatch` where that cannot be told."""
    try:
        found = json.loads((folder / _LIST).read_bytes())
        files = {layout.safe_path(path): Entry(str(sha256), int(size)) for path, (sha256, size) in found["files"].items()}
        return str(found["bundle"]), files
    except (OSError, ValueError, KeyError, TypeError, AttributeError, MalformedMetadata) as exc:
        raise DigestMismatch(f"Its {_LIST} cannot be read.", file=_LIST) from exc


def _has(path: Path, entry: Entry) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size == entry.size


def _is_version(name: str) -> bool:
    try:
        order(name)
    except InvalidInput:
        return False
    return True
