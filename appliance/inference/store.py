"""The model store: ``<root>/<sha256>/<file name>``, and nothing that is not in the catalogue."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from appliance.base.durable import exclusive, make_directory
from appliance.errors import ContentError, DigestMismatch, InvalidInput, MalformedContent, NotFound, TrustError
from appliance.inference.catalog import Catalog, Model, ModelFile
from appliance.inference.digest import file_digest, forget, remember, remembered
from appliance.inference.gguf import MAGIC, read_header
from appliance.inference.sources import Folder, Source
from appliance.inference.staging import Progress, Staged, free_bytes, is_pointer, mismatch

_STAGING = ".staging"


def unheard(done: int, total: int) -> None:
    """Hear progress, and say nothing."""
    del done, total


class ModelStore:
    """Model files by digest. A file is there whole and right, or not at all.

    What *beside*, a store of the same layout, holds is used from there; only *root* is ever written. *free* tells the bytes
    left on a path's file system.
    """

    def __init__(
        self, root: Path, *, catalog: Catalog, beside: Path | None = None, free: Callable[[Path], int] = free_bytes
    ) -> None:
        self._root = root
        self._roots = (root,) if beside is None else (root, beside)
        self._catalog = catalog
        self._free = free

    @property
    def catalog(self) -> Catalog:
        """What may be here."""
        return self._catalog

    def have(self, name: str) -> bool:
        """Whether every file of the model is there with its size; `trusted` also reads them."""
        return all(self._there(file) for file in self._catalog.get(name).file)

    def installed(self) -> list[Model]:
        """Return every model of the catalogue that is there."""
        return [model for model in self._catalog.models if self.have(model.name)]

    def path(self, name: str) -> Path:
        """Return the model's first file; raise `NotFound` when the model is not there."""
        return self.paths(name)[0]

    def paths(self, name: str) -> tuple[Path, ...]:
        """Return the model's files in the catalogue's order; raise `NotFound` when one is not there."""
        model = self._catalog.get(name)
        missing = [file.name for file in model.file if not self._there(file)]
        if missing:
            raise NotFound(
                f"The model {name} is not in the store ({', '.join(missing)}).",
                remedy=f"Get it with `skellig model pull {name}`.",
                name=name,
            )
        return tuple(self._found(file) or self._place(file) for file in model.file)

    def trusted(self, name: str) -> tuple[Path, ...]:
        """Return the model's files, each known to have its digest; raise `NotFound` or `DigestMismatch`.

        A file is read again unless it is the very one (inode, size, time) that was found good before.
        """
        paths = self.paths(name)
        for path, file in zip(paths, self._catalog.get(name).file, strict=True):
            check_file(path, file)
        return paths

    def verify(self, name: str, *, progress: Progress = unheard) -> None:
        """Read every byte of the model; raise `NotFound`, or `DigestMismatch` naming the file that is not as catalogued."""
        model = self._catalog.get(name)
        before = 0
        for path, file in zip(self.paths(name), model.file, strict=True):
            _read(path, file, progress=_after(before, progress, model.size))
            before += file.size

    def pull(self, name: str, *, sources: Sequence[Source], progress: Progress = unheard) -> None:
        """Bring the model into the store from the first of *sources* that has each file; what is there and right stays.

        On return every file is durable and has its digest. Raise `NotFound` with what each source lacks, `DigestMismatch`
        or `MalformedContent` when a source's file is not what it should be, `DiskFull`. An interrupted pull goes on where
        it stopped.
        """
        model = self._catalog.get(name)
        before = 0
        for file in model.file:
            if not self._right(file):
                self._pull_file(file, sources, _after(before, progress, model.size))
            before += file.size
            progress(before, model.size)

    def import_path(self, path: Path, *, progress: Progress = unheard) -> list[str]:
        """Take what the catalogue knows from *path*, a file or a folder, and return the models that are now complete.

        Raise `NotFound` for a folder with no model's files, `MalformedContent` for a pointer file or a broken GGUF file,
        `DigestMismatch` for a file that is not in the catalogue: such a file must not reach an engine.
        """
        if path.is_dir():
            return self._import_folder(path, progress)
        if not path.is_file():
            raise NotFound(f"{path} does not exist.", path=str(path))
        digest = self._identify(path, progress)
        known = self._catalog.by_digest(digest)
        if known is None:
            raise DigestMismatch(
                f"{path.name} has the sha256 {digest}, which is not in the catalogue. It was not installed.",
                remedy="`skellig model list` shows what is; a damaged copy has another digest.",
                path=str(path),
            )
        model, file = known
        if not self._right(file):
            self._pull_file(file, [_OneFile(path)], _after(0, progress, file.size))
        return [model.name] if self.have(model.name) else []

    def remove(self, name: str) -> None:
        """Delete the model's files; what is not there is no error."""
        for file in self._catalog.get(name).file:
            place = self._place(file)
            forget(place)
            place.unlink(missing_ok=True)
            if place.parent.is_dir():
                place.parent.rmdir()

    def _import_folder(self, folder: Path, progress: Progress) -> list[str]:
        found = []
        source = Folder(folder)
        for model in self._catalog.models:
            if not any(source.holds(file) for file in model.file):
                continue  # one that is here already did not come from there
            with suppress(NotFound):  # a file of it is missing
                self.pull(model.name, sources=[source], progress=progress)
                found.append(model.name)
        if not found:
            raise NotFound(
                f"{folder} holds no whole model of the catalogue.",
                remedy="`skellig model list` names them; `skellig model pull NAME --from FOLDER` says what one lacks.",
                path=str(folder),
            )
        return found

    def _identify(self, path: Path, progress: Progress) -> str:
        with path.open("rb") as file:
            head = file.read(256)
        if is_pointer(head):
            raise MalformedContent(
                f"{path.name} is a pointer file, not the weights.",
                remedy="Fetch the weights themselves (git lfs pull, git annex get), then try again.",
                path=str(path),
            )
        if head.startswith(MAGIC) or path.suffix == ".gguf":
            read_header(path)
        size = path.stat().st_size
        return file_digest(path, progress=_after(0, progress, size))

    def _pull_file(self, file: ModelFile, sources: Sequence[Source], progress: Callable[[int], None]) -> None:
        if not sources:
            raise InvalidInput("No source was given to pull from.")
        staging = make_directory(self._root / _STAGING)
        lacks = []
        with exclusive(staging / f"{file.sha256}.lock", what=f"the download of {file.name}"):
            for source in sources:
                with Staged(staging / file.sha256, file=file, progress=progress, free=self._free) as staged:
                    try:
                        source.fill(staged)
                    except NotFound as exc:
                        lacks.append(f"{source.describe()}: {exc.message}")
                        staged.tidy()
                        continue
                    except (TrustError, ContentError):
                        staged.discard()
                        raise
                    staged.publish(self._place(file), source=source.describe())
                    remember(self._place(file))
                    return
        raise NotFound(f"No source has {file.name}.", remedy=" ".join(lacks), file=file.name)

    def _right(self, file: ModelFile) -> bool:
        place = self._found(file)
        if place is None:
            return False
        try:
            check_file(place, file)
        except DigestMismatch:
            return False
        return True

    def _there(self, file: ModelFile) -> bool:
        return self._found(file) is not None

    def _found(self, file: ModelFile) -> Path | None:
        """Return where the file is with its size, the first of the roots before the other."""
        for root in self._roots:
            place = _place(root, file)
            if place.is_file() and place.stat().st_size == file.size:
                return place
        return None

    def _place(self, file: ModelFile) -> Path:
        return _place(self._root, file)


def _place(root: Path, file: ModelFile) -> Path:
    return root / file.sha256 / file.name


class _OneFile:
    """The very file that the user named."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> str:
        return self._path.name

    def fill(self, staged: Staged) -> None:
        staged.begin(str(self._path))
        staged.restart()
        with self._path.open("rb") as stream:
            staged.append_all(stream)


def check_file(path: Path, file: ModelFile) -> None:
    """Raise `DigestMismatch` unless *path* is *file*; it is read, unless it is the very one found good before."""
    if not remembered(path):
        _read(path, file)


def _read(path: Path, file: ModelFile, *, progress: Callable[[int], None] | None = None) -> None:
    digest = file_digest(path, progress=progress)
    if digest != file.sha256:
        forget(path)
        with path.open("rb") as opened:
            head = opened.read(256)
        raise mismatch(file, size=path.stat().st_size, digest=digest, head=head, source="the store")
    remember(path)


def _after(before: int, progress: Progress, total: int) -> Callable[[int], None]:
    def heard(done: int) -> None:
        progress(before + done, total)

    return heard
