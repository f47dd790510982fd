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


def is_whole(blob: BlobId, content: bytes) -> bool:
    """Return whether *content* is what the id of *blob* stands for."""
    digest = hashlib.new("sha1" if len(blob) == _SHA1 else "sha256", b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest() == blob


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
        window = [blob for blob in dict.fromkeys(blobs) if is_id(blob)][:_WINDOW]
        with self._check.lock:
            try:
                wanted = list(self._sizes(self._check, window))
            except BaseException:
                self._check.drop()
                raise
        with self._content.lock:
            try:
                return dict(_all_contents(self._content, wanted))
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
                yield from _all_contents(content, list(self._sizes(check, window)))
        finally:
            check.drop()
            content.drop()

    def _sizes(self, lane: _Lane, window: list[BlobId]) -> Iterator[BlobId]:
        child = lane.get()
        child.write("".join(f"{blob}\n" for blob in window).encode())
        for blob in window:
            info = _info(child.until(b"\n"))
            if info is not None and info.type == "blob" and info.size <= self._max_bytes:
                yield blob

    def close(self) -> None:
        """End the children."""
        _end(self._check, self._content)


def _end(*lanes: _Lane) -> None:
    for lane in lanes:
        with lane.lock:
            lane.drop()


def _all_contents(lane: _Lane, wanted: list[BlobId]) -> Iterator[tuple[BlobId, bytes]]:
    while wanted:
        wanted = yield from _contents(lane, wanted)


def _contents(lane: _Lane, wanted: list[BlobId]) -> Generator[tuple[BlobId, bytes], None, list[BlobId]]:
    """Yield what can be read; return those that come after one on which git gave up."""
    child = lane.get()
    for position, blob in enumerate(wanted):
        try:
            if not position:
                child.write("".join(f"{each}\n" for each in wanted).encode())
            header = _info(child.until(b"\n"))
            content = child.exactly(header.size + 1) if header else b""
        except MalformedContent:
            lane.drop()
            return wanted[position + 1 :]
        if header and is_whole(blob, content[:-1]):
            yield blob, content[:-1]
    return []


def _info(reply: bytes) -> Info | None:
    """Read ``<id> <type> <size>``; every other reply (missing, ambiguous, a name with blanks) is no object."""
    parts = reply.decode("ascii", "replace").rsplit(" ", 2)
    if len(parts) != 3 or not is_id(parts[0]) or not parts[2].isdigit():
        return None
    return Info(parts[0], parts[1], int(parts[2]))
