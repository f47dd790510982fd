"""A version as a host keeps it: the files of a bundle with their parts joined, and the list that they are held to."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base.durable import sync_filesystem
from appliance.bundle import archive, contents, layout
from appliance.bundle.contents import Progress
from appliance.bundle.layout import Entry
from appliance.bundle.verify import Bundle
from appliance.errors import DigestMismatch, LimitExceeded, MalformedMetadata, NotFound, TrustError, UnsafePath

LIST: Final = "staged.json"


@dataclass(frozen=True, slots=True)
class Listed:
    """What a version was staged from, and its files: all but the list itself."""

    bundle: str
    files: Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class Planned:
    """One file that a host is to keep: the signed files that it is made of, and what it must be."""

    sources: tuple[str, ...]
    entry: Entry


class Plan:
    """What a host is to keep of *bundle*: every name and byte follows from what was signed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._files = _planned(bundle)
        files = {name: planned.entry for name, planned in self._files.items()}
        self.listed = Listed(bundle.identity, files)

    def stage(self, folder: Path, *, progress: Progress) -> None:
        """Write everything to the new *folder*, each file whole and checked; durable on return."""
        folder.mkdir()
        done = 0

        def heard(count: int) -> None:
            nonlocal done
            done += count
            progress(done, self._bundle.size)

        for name, planned in self._files.items():
            self._write(folder / name, planned, name=name, heard=heard)
        image, found = self._bundle.manifest.image, archive.image_id(folder / layout.IMAGE)
        if found != image.id:
            raise DigestMismatch(f"The image is {found}, and {image.id} was signed.", file=layout.IMAGE)
        (folder / LIST).write_bytes(self._encoded())
        _open_to_all(folder)
        sync_filesystem(folder)

    def is_kept(self, folder: Path, *, progress: Progress) -> bool:
        """Return whether *folder* holds that, to the last byte, and nothing else."""
        try:
            with contents.opened(folder / LIST) as file:
                if file.read() != self._encoded():
                    return False
            check(folder, self.listed, progress=progress)
        except (FileNotFoundError, TrustError, NotFound, UnsafePath, LimitExceeded):
            return False
        return True

    def _encoded(self) -> bytes:
        files = {path: [entry.sha256, entry.size] for path, entry in self.listed.files.items()}
        return json.dumps({"bundle": self.listed.bundle, "files": files}, indent=1, sort_keys=True).encode()

    def _write(self, target: Path, planned: Planned, *, name: str, heard: contents.Heard) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256() if len(planned.sources) > 1 else None
        with target.open("xb") as copy:
            for source in planned.sources:
                for piece in contents.pieces(self._bundle.folder, source, self._bundle.entries[source]):
                    copy.write(piece)
                    if digest is not None:
                        digest.update(piece)
                    heard(len(piece))
        found = digest.hexdigest() if digest is not None else self._bundle.entries[planned.sources[0]].sha256
        if found != planned.entry.sha256:
            raise DigestMismatch(f"The parts of {name} do not make what was signed.", file=name)


def _planned(bundle: Bundle) -> dict[str, Planned]:
    prefix = f"{layout.PAYLOAD}/"
    wholes = list(bundle.manifest.wholes())
    parts = {f"{prefix}{part}" for whole in wholes for part in whole.parts}
    single = [(path, Planned((path,), bundle.entries[path])) for path in sorted(bundle.entries.keys() - parts)]
    joined = [
        (whole.path, Planned(tuple(f"{prefix}{part}" for part in whole.parts), Entry(whole.sha256, whole.size)))
        for whole in wholes
    ]
    found: dict[str, Planned] = {}
    for path, planned in (*single, *joined):
        name = path.removeprefix(prefix)
        if name in found or name == LIST:
            raise MalformedMetadata(f"The bundle has two files for {name}.", file=name)
        found[name] = planned
    return found


def read_list(folder: Path) -> Listed:
    """Return what *folder* was staged from; raise `DigestMismatch` where that cannot be told."""
    try:
        with contents.opened(folder / LIST) as file:
            found = json.loads(file.read())
        files = {layout.safe_path(path): Entry(str(sha256), int(size)) for path, (sha256, size) in found["files"].items()}
        return Listed(str(found["bundle"]), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, MalformedMetadata, UnsafePath) as exc:
        raise DigestMismatch(f"Its {LIST} cannot be read.", file=LIST) from exc


def is_staged(folder: Path) -> bool:
    """Return whether *folder* is one that was staged: a folder, no link, with a list of its own."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    try:
        read_list(folder)
    except DigestMismatch:
        return False
    return True


def check(folder: Path, listed: Listed, *, progress: Progress) -> None:
    """Read every file of *folder*; raise the leaf that says what is not as *listed*: changed, gone, extra or a link."""
    found = contents.listing(folder)
    contents.compare({path: size for path, size in found.items() if path != LIST}, listed.files)
    contents.check(folder, listed.files, progress=progress)


def mend(folder: Path, fresh: Path) -> None:
    """Make *folder* what *fresh* is, file by file, so that it is never gone; no link in it is followed. *fresh* ends."""
    wanted = sorted(path.relative_to(fresh) for path in fresh.rglob("*"))
    for path in wanted:
        source, target = fresh / path, folder / path
        if source.is_dir() != (target.is_dir() and not target.is_symlink()):
            discard(target)
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            source.replace(target)
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder) not in wanted and os.path.lexists(path):
            discard(path)
    shutil.rmtree(fresh)
    _open_to_all(folder)
    sync_filesystem(folder)


def discard(path: Path) -> None:
    """Remove *path*, whatever it is; what a link points to stays."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _open_to_all(folder: Path) -> None:
    """Let every user read *folder*, whatever this process's umask is: the appliance runs as another than who installs it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
