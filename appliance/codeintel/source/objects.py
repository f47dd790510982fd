"""Objects of one repository by id: persistent `git cat-file` children, bounded sizes, any thread.

Git does not hold what it reads against its id, and what is known of a blob is kept by its id for every repository: so here
each content is. One that has another id is damaged, or was put there to be taken for a file of somebody else's.
"""

import hashlib
import re
import threading
import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from appliance.codeintel.source.gitchild import Child, broken
from appliance.errors import LimitExceeded, MalformedContent, NotFound
from appliance.ids import BlobId

_WINDOW = 400  # ids written ahead: the lines and the replies fit a pipe, so neither side waits for the other
_SHA1 = 40  # characters of such an id
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_id(text: str) -> bool:
    """Return whether *text* is a whole object id, and so nothing else that git would understand."""
    return _ID.fullmatch(text) is not None


def is_whole(name: str, content: bytes, *, kind: str = "blob") -> bool:
    """Return whether *content* is what the id *name* of an object of that kind stands for."""
    start = b"%s %d\0" % (kind.encode(), len(content))
    digest = hashlib.new("sha1" if len(name) == _SHA1 else "sha256", start, usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest() == name


class Info(NamedTuple):
    """What an object is."""

    id: str
    type: str
    size: int


@dataclass(slots=True)
class _Lane:
    """One persistent child, started when first needed and again after it died."""

    git_dir: Path
    mode: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    child: Child | None = None

    def get(self) -> Child:
        if self.child is None:
            self.child = Child(self.git_dir, ("cat-file", self.mode))
        return self.child

    def drop(self) -> None:
        if self.child is not None:
            self.child.close()
            self.child = None


class Objects:
    """Objects by id, from any thread. A child that dies costs the one request and is replaced."""

    def __init__(self, git_dir: Path, *, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._git_dir = git_dir
        self._check = _Lane(git_dir, "--batch-check")
        self._content = _Lane(git_dir, "--batch")
        weakref.finalize(self, _end, self._check, self._content).atexit = False  # nobody need close what is shared

    def info(self, name: str | bytes) -> Info | None:
        """Return what *name* is (an id, a full ref, ``<commit>:<path>``), or None; *name* holds no line end."""
        return self.infos([name])[0]

    def infos(self, names: Sequence[str | bytes]) -> list[Info | None]:
        """Return what each of *names*, a page's worth, is: all of them take one wait for git."""
        lines = b"".join(
            (name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name) + b"\n" for name in names
        )
        with self._check.lock:
            for attempt in (1, 2):
                try:
                    child = self._check.get()
                    child.write(lines)
                    return [_info(child.until(b"\n")) for _ in names]
                except MalformedContent:
                    self._check.drop()
                    if attempt == 2:
                        raise
                except BaseException:
                    self._check.drop()  # half a reply would be taken for the next one
                    raise
        raise broken()

    def renew(self) -> None:
        """Ask a new child what is there from now on: a git that runs keeps packs open that were removed since."""
        with self._check.lock:
            self._check.drop()

    def blob(self, blob: BlobId) -> bytes:
        """Return one blob.

        Raise `NotFound` if it is missing, `LimitExceeded` if it is over the limit, `MalformedContent` if it is damaged.
        """
        info = self.info(blob) if is_id(blob) else None
        if info is None or info.type != "blob":
            raise NotFound(f"The repository holds no blob {blob[:64]!r}.")
        if info.size > self._max_bytes:
            raise LimitExceeded("The file is larger than the limit.", limit=self._max_bytes, spent=info.size)
        with self._content.lock:
            try:
                child = self._content.get()
                child.write(blob.encode() + b"\n")
                header = _info(child.until(b"\n"))
                content = child.exactly(header.size + 1)[:-1] if header else None
            except BaseException:
                self._content.drop()
                raise
        if content is None:
            raise NotFound(f"The repository holds no blob {blob!r}.")
        if not is_whole(blob, content):
            raise MalformedContent(
                f"The blob {blob} is damaged.", remedy="Run `git fsck` in the repository, then refresh it."
            )
        return content

    def blobs(self, blobs: Iterable[BlobId]) -> dict[BlobId, bytes]:
        """Return those of *blobs*, a page's worth, that are there, whole and within the limit, asked for all at once.

        Twenty take two waits for git instead of forty.
        """
        found = self._held([blob for blob in dict.fromkeys(blobs) if is_id(blob)], kind="blob", most=self._max_bytes)
        return {BlobId(name): content for name, content in found.items()}

    def trees(self, trees: Iterable[str], *, most: int) -> dict[str, bytes]:
        """Return those of *trees*, a page's worth, that are there, whole and of at most *most* bytes, as git keeps them."""
        return self._held(list(dict.fromkeys(trees)), kind="tree", most=most)

    def _held(self, names: Sequence[str], *, kind: str, most: int) -> dict[str, bytes]:
        window = names[:_WINDOW]
        with self._check.lock:
            try:
                wanted = list(_sized(self._check, window, kind=kind, most=most))
            except BaseException:
                self._check.drop()
                raise
        with self._content.lock:
            try:
                return dict(_all_contents(self._content, wanted, kind=kind))
            except BaseException:
                self._content.drop()
                raise

    def sizes(self, blobs: Sequence[BlobId]) -> dict[str, int]:
        """Return the sizes of those of *blobs* that are there."""
        found: dict[str, int] = {}
        with self._check.lock:
            try:
                child = self._check.get()
                for start in range(0, len(blobs), _WINDOW):
                    window = blobs[start : start + _WINDOW]
                    child.write("".join(f"{blob}\n" for blob in window).encode())
                    infos = (_info(child.until(b"\n")) for _ in window)
                    found |= {info.id: info.size for info in infos if info is not None and info.type == "blob"}
            except BaseException:
                self._check.drop()
                raise
        return found

    def read(self, blobs: Iterable[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
        """Yield the content of *blobs* in their order; leave out what is missing, damaged, over the limit or no blob."""
        check, content = _Lane(self._git_dir, "--batch-check"), _Lane(self._git_dir, "--batch")
        try:
            source = iter(blobs)
            while window := list(islice(source, _WINDOW)):
                sized = list(_sized(check, window, kind="blob", most=self._max_bytes))
                yield from ((BlobId(name), whole) for name, whole in _all_contents(content, sized, kind="blob"))
        finally:
            check.drop()
            content.drop()

    def close(self) -> None:
        """End the children."""
        _end(self._check, self._content)


def _end(*lanes: _Lane) -> None:
    for lane in lanes:
        with lane.lock:
            lane.drop()


def _sized(lane: _Lane, window: Sequence[str], *, kind: str, most: int) -> Iterator[str]:
    """Yield what of *window* is there, of that *kind* and of at most *most* bytes."""
    child = lane.get()
    child.write("".join(f"{name}\n" for name in window).encode())
    for name in window:
        info = _info(child.until(b"\n"))
        if info is not None and info.type == kind and info.size <= most:
            yield name


def _all_contents(lane: _Lane, wanted: list[str], *, kind: str) -> Iterator[tuple[str, bytes]]:
    while wanted:
        wanted = yield from _contents(lane, wanted, kind)


def _contents(lane: _Lane, wanted: list[str], kind: str) -> Generator[tuple[str, bytes], None, list[str]]:
    """Yield what can be read; return those that come after one on which git gave up."""
    child = lane.get()
    for position, name in enumerate(wanted):
        try:
            if not position:
                child.write("".join(f"{each}\n" for each in wanted).encode())
            header = _info(child.until(b"\n"))
            content = child.exactly(header.size + 1) if header else b""
        except MalformedContent:
            lane.drop()
            return wanted[position + 1 :]
        if header and is_whole(name, content[:-1], kind=kind):
            yield name, content[:-1]
    return []


def _info(reply: bytes) -> Info | None:
    """Read ``<id> <type> <size>``; every other reply (missing, ambiguous, a name with blanks) is no object."""
    parts = reply.decode("ascii", "replace").rsplit(" ", 2)
    if len(parts) != 3 or not is_id(parts[0]) or not parts[2].isdigit():
        return None
    return Info(parts[0], parts[1], int(parts[2]))
