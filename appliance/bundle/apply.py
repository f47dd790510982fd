"""Taking a bundle: staged aside, checked to the last byte on the way, then switched to in one step; and the way back."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from appliance.base.durable import exclusive, storage_errors, sync_directory
from appliance.bundle import contents, layout, stage, verify
from appliance.bundle.contents import Progress
from appliance.bundle.trust import Known, Trust, own_folder
from appliance.bundle.verify import Bundle
from appliance.errors import Conflict, DigestMismatch, DiskFull, InvalidInput, NotFound, TrustError, UnsafePath

CURRENT: Final = "current"
PREVIOUS: Final = "previous"
_STAGING: Final = ".staging"
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

    Killed at any moment it leaves ``current`` on the old version or the new one, whole. It changes and removes only folders
    that it staged itself, which their list tells. *free* tells the bytes left.
    """

    def __init__(self, root: Path, *, trust: Trust, free: Callable[[Path], int] = free_bytes) -> None:
        self._root = root
        self._trust = trust
        self._free = free

    def apply(
        self,
        folder: Path,
        *,
        first: Callable[[str | None], Known],
        now: datetime,
        strict: bool = False,
        progress: Progress = contents.unheard,
    ) -> Applied:
        """Make the bundle in *folder* the current version if it holds, and mend that version if it was not whole.

        That goes for the very bundle that the current version was taken from also where a newer one was taken since: it is
        nothing older than what runs, and what is remembered stays. *first* says whom a host trusts that remembers nothing,
        given the version that runs. Raise the leaf of `TrustError` that says why the bundle does not hold, `DiskFull` before
        a byte is written, `Conflict` if something else is in the version's place, `InvalidInput` where bundle, versions and
        trust do not lie apart. What is refused or fails leaves nothing but the folders and their locks, and what runs as it
        was.
        """
        self._check_apart(folder)
        if not (self._root.is_dir() and self._trust.folder.is_dir()):
            self._examined(folder, first, now=now, strict=strict)  # what is refused here leaves not even a folder
        with self._alone(), self._trust.alone():
            self._tidy()
            try:
                bundle = self._examined(folder, first, now=now, strict=strict)
                version = bundle.manifest.version
                staged = self._place(bundle, progress=progress)
                if not bundle.mends:
                    self._trust.remember(bundle.known.keeping(self._linked() | {version}))
                switched = self._switch(version)
            finally:
                self._tidy()
        return Applied(version, staged or switched, self._root / version, bundle.warnings)

    def rollback(self, *, version: str | None = None, progress: Progress = contents.unheard) -> Applied:
        """Make the version that ran before the current one again; nothing changes if *version* is current already.

        Raise `NotFound` where none is kept or it is not *version*, `DigestMismatch` if it is not as it was staged.
        """
        if self.current is None:
            raise NotFound("No bundle was taken here, so that there is none to go back to.", path=str(self._root))
        if self._trust.known() is None:
            raise NotFound(
                f"Version {self.current} runs, and {self._trust.folder} remembers no bundle.",
                remedy="Name the folder of trust with --trust.",
                path=str(self._trust.folder),
            )
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
            self._check_kept(before, remedy="What runs goes on; apply a newer bundle instead.", progress=progress)
            self._point({CURRENT: before})
            (self._root / PREVIOUS).unlink()
            sync_directory(self._root)
        return Applied(before, changed=True, path=self._root / before)

    def check(self, *, progress: Progress = contents.unheard) -> Applied:
        """Read every file of the current version; raise `DigestMismatch` if it is not as it was staged, or holds more."""
        current = self.current
        if current is None:
            raise NotFound("No bundle was taken here, so that there is none to check.", path=str(self._root))
        self._check_kept(current, remedy="Apply its bundle again: that mends it.", progress=progress)
        return Applied(current, changed=False, path=self._root / current)

    @property
    def current(self) -> str | None:
        """The version that runs, or None where none was taken yet."""
        return self._link(CURRENT)

    def _check_apart(self, folder: Path) -> None:
        """Raise `InvalidInput` unless nothing that is written lies in the bundle, around it, or in a version's place."""
        bundle, root, trust = (Path(os.path.realpath(path)) for path in (folder, self._root, self._trust.folder))
        for name, path in (("--to", root), ("--trust", trust)):
            if path.is_relative_to(bundle) or bundle.is_relative_to(path):
                raise InvalidInput(f"{name} is {path}, and the bundle is {bundle}: neither may lie in the other.")
        if trust.is_relative_to(root) and trust != root:
            raise InvalidInput(f"--trust is {trust}, which lies in --to: a version may take that place.")

    def _check_kept(self, version: str, *, remedy: str, progress: Progress) -> None:
        folder = self._root / version
        try:
            stage.check(folder, stage.read_list(folder), progress=progress)
        except (TrustError, NotFound, UnsafePath) as exc:
            raise DigestMismatch(
                f"The kept version {version} is not as it was staged. {exc.message}",
                remedy=remedy,
                **exc.context,
            ) from exc

    def _examined(self, folder: Path, first: Callable[[str | None], Known], *, now: datetime, strict: bool) -> Bundle:
        current = self.current
        return verify.examine(folder, self._trust.known() or first(current), now=now, strict=strict, current=current)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        own_folder(self._root, choose="with --to")
        remedy = "Wait until the other has ended, then try again."
        with exclusive(self._root / ".lock", what=f"the bundles in {self._root}", remedy=remedy):
            yield

    def _place(self, bundle: Bundle, *, progress: Progress) -> bool:
        """Have the bundle's version here, whole; return whether anything was written for that."""
        plan, here = stage.Plan(bundle), self._root / bundle.manifest.version
        there = os.path.lexists(here)
        if there:
            self._check_ours(here, plan)
            contents.check(bundle.folder, bundle.entries, progress=progress)
            if plan.is_kept(here, progress=progress):
                return False
        room(self._root, bundle.size + _MARGIN, what="The bundle", free=self._free)
        aside = self._root / _STAGING
        with storage_errors(aside):
            plan.stage(aside, progress=progress)
            if there:
                stage.mend(here, aside)
            else:
                aside.rename(here)
            sync_directory(self._root)
        return True

    def _check_ours(self, here: Path, plan: stage.Plan) -> None:
        """Raise `Conflict` if *here* is no version that runs or is kept, or one with another content."""
        if here.is_symlink() or not here.is_dir() or here.name not in self._linked():
            raise Conflict(
                f"{here} is in the place of the version, and no bundle made it.",
                remedy="Move it away, or name another folder with --to.",
                path=str(here),
            )
        known, ours = self._trust.known(), plan.listed.bundle
        taken = known.taken.get(here.name) if known else None
        if taken is None:
            taken = stage.read_list(here).bundle if stage.is_staged(here) else ours
        if taken != ours:
            raise Conflict(
                f"Version {here.name} is here already, with another content.",
                remedy="Build the new content under a version of its own.",
                version=here.name,
            )

    def _switch(self, version: str) -> bool:
        before = self.current
        if before == version:
            return False
        self._point({PREVIOUS: before, CURRENT: version} if before is not None else {CURRENT: version})
        return True

    def _point(self, links: Mapping[str, str]) -> None:
        """Make *links* point to versions: first all that may fail for want of space, then one rename for each."""
        with storage_errors(self._root):
            for name, version in links.items():
                stage.discard(self._root / f".{name}")
                (self._root / f".{name}").symlink_to(version)
            for name in links:
                (self._root / f".{name}").replace(self._root / name)
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

    def _linked(self) -> set[str]:
        return {version for name in (CURRENT, PREVIOUS) if (version := self._link(name))}

    def _tidy(self) -> None:
        """Remove what attempts left, and the versions staged here that are neither current nor kept to go back to."""
        kept, aside = self._linked(), self._root / _STAGING
        for left in (aside, self._root / f".{CURRENT}", self._root / f".{PREVIOUS}"):
            stage.discard(left)
        for path in list(self._root.iterdir()):
            if path.name not in kept and _is_version(path.name) and stage.is_staged(path):
                path.rename(aside)  # killed from here on, it is still known for what the next attempt removes
                stage.discard(aside)


def _is_version(name: str) -> bool:
    try:
        layout.check_version(name)
    except InvalidInput:
        return False
    return True
