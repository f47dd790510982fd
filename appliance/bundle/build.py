"""Building a bundle: everything is copied and hashed into a folder aside, signed, and only then given its name."""

import hashlib
import mmap
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from tuf.api.metadata import Metadata, MetaFile, Snapshot, T, TargetFile, Targets, Timestamp

from appliance.base.durable import make_directory, storage_errors, sync_directory, sync_filesystem
from appliance.bundle import archive, contents, installer, layout, trust, verify
from appliance.bundle.apply import free_bytes, room
from appliance.bundle.contents import CHUNK, Progress
from appliance.bundle.keys import Keys
from appliance.bundle.layout import CarriedImage, CarriedModel, Entry, Manifest, Whole
from appliance.errors import Conflict, DigestMismatch, InvalidInput, TrustError, UnsafePath

_MARGIN: Final = 16 << 20  # bytes, for the installer and the metadata
_SKIPPED: Final = {"__pycache__", ".git", ".doctrees"}
# A key itself, wherever it stands in a file: its frame and what it frames, which a page about keys does not have.
_PRIVATE: Final = re.compile(rb"PRIVATE KEY-----(?:\s|\\[nr])+(?:[A-Za-z0-9+/=]{16}|Proc-Type:)")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """One model to put into a bundle: its files with the digest that the catalogue gives each."""

    name: str
    licence: str
    files: Sequence[tuple[Path, str]]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to build. *trees* are files or folders by the name that they have in the payload; *lasts* bounds its use."""

    version: str
    built: datetime
    schema: int
    image: Path
    models: Sequence[ModelSource] = ()
    trees: Mapping[str, Path] = field(default_factory=dict)
    lasts: timedelta = timedelta(days=365)
    largest: int = layout.PART


def build(
    out: Path,
    recipe: Recipe,
    *,
    keys: Keys,
    progress: Progress = contents.unheard,
    free: Callable[[Path], int] = free_bytes,
) -> Manifest:
    """Write the bundle of *recipe* to the new folder *out*, signed by *keys*, and return its manifest.

    Raise `Conflict` if *out* exists, `DiskFull` before a byte is written, `InvalidInput` where no host would take it; what
    fails or is interrupted leaves nothing.
    """
    check_new(out, version=recipe.version)
    files = sorted(_gathered(recipe.trees))
    _check_twins([name for name, _ in files])
    sources = [recipe.image, *(path for model in recipe.models for path, _ in model.files), *(path for _, path in files)]
    total = sum(path.stat().st_size for path in sources)
    parent = make_directory(out.absolute().parent, mode=0o755, choose="for OUT")
    room(parent, total + _MARGIN, what="The bundle", free=free)
    aside = parent / f".{out.name}.building"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with storage_errors(aside):
            manifest = _Writer(aside, recipe=recipe, keys=keys, total=total, progress=progress).write(files)
            _check_built(aside, recipe, keys)
            sync_filesystem(aside)
            aside.rename(out)
            sync_directory(parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return manifest


def check_new(out: Path, *, version: str) -> None:
    """Raise `InvalidInput` unless *version* is one, `Conflict` if something is at *out*."""
    layout.check_version(version)
    if out.exists() or out.is_symlink():
        raise Conflict(f"{out} exists already.", remedy="Name a new folder: a bundle is never changed.", path=str(out))


def _check_built(folder: Path, recipe: Recipe, keys: Keys) -> None:
    """Raise `InvalidInput` unless a host that trusts nothing yet would take what was built."""
    try:
        verify.examine(folder, trust.first(folder, key=keys.minisigner.key, carried=None), now=recipe.built)
    except TrustError as exc:
        raise InvalidInput(
            f"No host would take what was built: {exc.message}",
            remedy="Bring the folder of keys back as it was made, or let the bundle last longer.",
        ) from exc


class _Writer:
    """Writes one bundle into *folder*, noting each file as it is written."""

    def __init__(self, folder: Path, *, recipe: Recipe, keys: Keys, total: int, progress: Progress) -> None:
        self._folder = folder
        self._recipe = recipe
        self._keys = keys
        self._total = total
        self._progress = progress
        self._done = 0
        self._entries: dict[str, Entry] = {}

    def write(self, files: Sequence[tuple[str, Path]]) -> Manifest:
        recipe = self._recipe
        for name, path in files:
            self._copied(name, path, largest=max(path.stat().st_size, 1))
        image = CarriedImage(
            archive.image_id(recipe.image), self._copied(layout.IMAGE, recipe.image, largest=recipe.largest)
        )
        models = tuple(CarriedModel(model.name, model.licence, tuple(self._model(model))) for model in recipe.models)
        manifest = Manifest(recipe.version, recipe.built.replace(microsecond=0), recipe.schema, image, models)
        self._put(layout.MANIFEST, manifest.encode())
        self._install()
        self._put(layout.README, _README.format(version=recipe.version, key=self._keys.minisigner.key.line).encode())
        self._sign()
        return manifest

    def _model(self, model: ModelSource) -> Iterator[Whole]:
        for path, sha256 in model.files:
            whole = self._copied(f"models/{sha256}/{path.name}", path, largest=self._recipe.largest)
            if whole.sha256 != sha256:
                raise DigestMismatch(
                    f"{path.name} of {model.name} is not what the catalogue says.",
                    remedy="`skellig model verify` reads every model.",
                    file=path.name,
                )
            yield whole

    def _copied(self, name: str, source: Path, *, largest: int) -> Whole:
        """Copy *source* into the payload as *name*, in parts where it is larger than *largest*."""
        whole = hashlib.sha256()
        size = source.stat().st_size
        parts = layout.part_names(layout.safe_path(name), size=size, largest=largest)
        with contents.opened(source) as file:
            for part in parts:
                piece = hashlib.sha256()
                target = self._target(f"{layout.PAYLOAD}/{part}")
                with target.open("xb") as copy:
                    while data := file.read(min(CHUNK, largest - copy.tell())):
                        copy.write(data)
                        piece.update(data)
                        whole.update(data)
                        self._heard(len(data))
                    self._entries[f"{layout.PAYLOAD}/{part}"] = Entry(piece.hexdigest(), copy.tell())
        return Whole(name, whole.hexdigest(), size, tuple(parts))

    def _install(self) -> None:
        root = self._keys.roots[-1]
        comment = f"skellig {self._recipe.version}"
        for name, data in ((layout.INSTALLER, installer.make(root)), (layout.FIRST_ROOT, root)):
            self._put(name, data)
            self._put(f"{name}{layout.SIGNATURE}", self._keys.minisigner.sign(data, comment=comment))

    def _sign(self) -> None:
        """Write the metadata: the time of the build is the serial number, so that builders need not count together."""
        number, expires = int(self._recipe.built.timestamp()), self._recipe.built.replace(microsecond=0) + self._recipe.lasts
        listed = {path: TargetFile(entry.size, {"sha256": entry.sha256}, path) for path, entry in self._entries.items()}
        targets = self._signed("targets", Targets(version=number, expires=expires, targets=listed))
        meta = {"targets.json": _meta(number, targets)}
        snapshot = self._signed("snapshot", Snapshot(version=number, expires=expires, meta=meta))
        self._signed("timestamp", Timestamp(version=number, expires=expires, snapshot_meta=_meta(number, snapshot)))
        for version, root in enumerate(self._keys.roots, start=1):
            self._target(f"{layout.METADATA}/{version}.root.json").write_bytes(root)

    def _signed(self, role: str, signed: T) -> bytes:
        metadata = Metadata(signed)
        for signer in self._keys.signers[role]:
            metadata.sign(signer, append=True)
        data = metadata.to_bytes()
        self._target(f"{layout.METADATA}/{role}.json").write_bytes(data)
        return data

    def _put(self, name: str, data: bytes) -> None:
        self._target(name).write_bytes(data)
        self._entries[name] = Entry(hashlib.sha256(data).hexdigest(), len(data))

    def _target(self, name: str) -> Path:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _heard(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _gathered(trees: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    for name, top in trees.items():
        if not top.exists():
            raise InvalidInput(f"{top} does not exist.", path=str(top))
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            inside = path.relative_to(top)
            if _SKIPPED & set(inside.parts) or (path.is_dir() and not path.is_symlink()):
                continue
            if path.is_symlink() or not path.is_file():
                raise UnsafePath(f"{path} is a link or a device; a bundle has only files.", path=str(path))
            if _holds_key(path):
                raise InvalidInput(f"{path} has a private key in it, and those never go into a bundle.", path=str(path))
            placed = name if top.is_file() else f"{name}/{inside.as_posix()}"
            if not layout.is_safe(placed):
                raise InvalidInput(f"{str(path)!a} has a name that a bundle cannot hold.", path=str(path))
            yield placed, path


def _holds_key(path: Path) -> bool:
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _PRIVATE.search(content) is not None


def _check_twins(names: Sequence[str]) -> None:
    """Raise `InvalidInput` for names that are one where capitals do not count, as on most memory sticks."""
    seen: dict[str, str] = {}
    for name in names:
        if (twin := seen.setdefault(name.lower(), name)) != name:
            raise InvalidInput(f"{twin} and {name} are one file on a memory stick.", remedy="Rename one of them.", path=name)


def _meta(version: int, data: bytes) -> MetaFile:
    return MetaFile(version, len(data), {"sha256": hashlib.sha256(data).hexdigest()})


_README: Final = """Skellig {version}: a signed bundle. Nothing here needs a network.

Check the installer with the public key that you got by another way than this bundle, then let it check the rest:

  minisign -V -P {key} -m installer/skellig-bundle.pyz
  python3 installer/skellig-bundle.pyz verify . --key {key}
  python3 installer/skellig-bundle.pyz apply . --to /var/lib/skellig/bundles --trust /var/lib/skellig/trust

The key above is only for comparing: a forged bundle would name its own.
"""
