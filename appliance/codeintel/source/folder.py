"""A plain folder as one snapshot: its files become blobs in a bare repository of ours, by git's own fast-import.

Equal content gives an equal commit id. Nothing of the folder's own attributes or configuration is looked at: contents go in
byte for byte.
"""

import contextlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from appliance.base import durable, proc
from appliance.base.clock import Clock
from appliance.base.paths import display
from appliance.codeintel.source import taken, view
from appliance.codeintel.source.base import Changed, LeftOut, Snapshot
from appliance.codeintel.source.gitchild import CONFIG, Child, environment
from appliance.codeintel.source.past import Ancestor, Blamed, Commit, Together
from appliance.codeintel.source.scan import Scan, read_inside
from appliance.codeintel.source.stored import Stored
from appliance.codeintel.source.taken import Seen, Taken
from appliance.errors import ApplianceError, DiskFull, InvalidInput, NotFound, StorageFault
from appliance.ids import CommitId

_REF = "refs/heads/folder"
_STATE = "folder.json"
_MOST_UNSAVED = 100  # changes that the next process would take in once more
_MOST_HELD = 100_000  # files of which is held in memory how they look
_UNREAD = "It changed, or may not be read."
_LOOK_AGAIN = 15.0  # seconds for which `behind` believes what it saw
_HEADER = f"commit {_REF}\ncommitter Skellig <skellig@localhost> 0 +0000\ndata 0\n".encode()


class _State(msgspec.Struct, frozen=True):
    """What the last import saw: while the fingerprint stays, the content does."""

    fingerprint: str
    commit: str


class FolderSource(Stored):
    """Implements `Source` on the plain folder *root*; *mirror* is the folder of ours for the bare repository."""

    def __init__(self, root: Path, *, mirror: Path, max_bytes: int, clock: Clock, mask: bool = True) -> None:
        super().__init__(_make_store(mirror), max_bytes=max_bytes, mask=mask)
        self._root = Path(os.path.realpath(root))
        self._mirror = mirror
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._left_out: dict[CommitId, list[LeftOut]] = {}
        self._looked: tuple[float, str] = (float("-inf"), "")
        self._taken: Taken | None = None
        self._seen: Seen | None = None
        self._unsaved = 0

    def snapshot(self, branch: str | None, *, hint: Changed | None = None) -> Snapshot:
        """Take the folder in as it is now. A folder has no branches; raise `NotFound` when it holds no file.

        Only files that look otherwise than when they were read last are read; with a *hint* that vouches for the rest, no
        others are looked at.
        """
        if branch:
            raise InvalidInput(f"{self._root} is a plain folder and has no branches.", remedy="Leave the branch out.")
        with self._lock, durable.exclusive(self._mirror / "import.lock", what=f"the import of {self._root}"):
            seen = self._hinted(hint)
            seen = self._scan() if seen is None else seen
            known = self._taken or taken.load(self._mirror)
            now = self._take_in(seen, known)
            self._seen, self._taken = (seen, now) if len(seen.files) <= _MOST_HELD else (None, None)
        commit = CommitId(now.commit)
        unread = (LeftOut(display(os.fsdecode(path)), "unreadable", _UNREAD) for path in now.unread)
        self._left_out = {commit: [*seen.left_out, *unread]}
        return Snapshot("", commit, now.tree)

    def stands_at(self, location: Path) -> bool:
        """Return whether this is still what stands at *location*: the same folder, and no repository by now."""
        try:
            return Path(os.path.realpath(location)) == self._root and view.find(location) is None
        except ApplianceError:  # who opens it anew says what is wrong
            return False

    def tip(self, branch: str | None) -> tuple[str, CommitId]:
        """Return the commit that was taken last, without a look at the folder; raise `NotFound` if none was."""
        state = self._state()
        if branch or state is None:
            raise NotFound(f"{self._root} was not taken in yet.", remedy="Wait for its index job.", branch=branch or "")
        return "", CommitId(state.commit)

    def fitting(self, patterns: Sequence[str]) -> list[str]:
        """Return nothing; raise `InvalidInput` if something is asked for: a folder has no branches."""
        if patterns:
            raise InvalidInput(f"{self._root} is a plain folder and has no branches.", remedy="Track none of it.")
        return []

    def left_out(self, snapshot: Snapshot) -> Iterator[LeftOut]:
        """Yield what this source left out when it took *snapshot*: ignored, oversize, special, unreadable."""
        return iter(self._left_out.get(snapshot.commit, []))

    def commits(self, *, commit: CommitId, path: str, lines: tuple[int, int], most: int) -> list[Commit]:
        """Raise `InvalidInput`: nobody's changes are kept of a plain folder."""
        del commit, path, lines, most
        raise self._without_past()

    def log(self, *, commit: CommitId, path: str, most: int) -> list[Commit]:
        """Raise `InvalidInput`: nobody's changes are kept of a plain folder."""
        del commit, path, most
        raise self._without_past()

    def blame(self, *, commit: CommitId, path: str, lines: tuple[int, int]) -> list[Blamed]:
        """Raise `InvalidInput`: nobody's changes are kept of a plain folder."""
        del commit, path, lines
        raise self._without_past()

    def ancestor(self, *, name: str, of: CommitId) -> Ancestor:
        """Raise `InvalidInput`: nobody's changes are kept of a plain folder."""
        del name, of
        raise self._without_past()

    def together(self, *, commit: CommitId, path: str, most: int) -> Together:
        """Raise `InvalidInput`: nobody's changes are kept of a plain folder."""
        del commit, path, most
        raise self._without_past()

    def _without_past(self) -> InvalidInput:
        return InvalidInput(f"{self._root} is a plain folder: it has no history.", remedy="Ask of a git repository.")

    def behind(self, *, branch: str, commit: CommitId) -> int | None:
        """Return 0 while the folder looks as it did when *commit* was taken, else 1; looks again every 15 seconds."""
        del branch
        at, fingerprint = self._looked
        if self._clock.monotonic() - at > _LOOK_AGAIN:
            try:
                fingerprint = self._scan().fingerprint
            except (NotFound, InvalidInput):
                return None
            self._looked = (self._clock.monotonic(), fingerprint)
        state = self._state()
        return 0 if state and state.commit == commit and state.fingerprint == fingerprint else 1

    def dirty(self, *, branch: str) -> bool:
        """Return False: what changed in the folder is told by `behind`."""
        del branch
        return False

    def _hinted(self, hint: Changed | None) -> Seen | None:
        if hint is None or self._seen is None or not self._root.is_dir():
            return None
        return taken.hinted(self._root, self._seen, hint, max_bytes=self._max_bytes)

    def _scan(self) -> Seen:
        if not self._root.is_dir():
            raise NotFound(f"The folder {self._root} does not exist any more.", remedy="Remove it, or put it back.")
        scan = Scan(self._root, git_dir=self._git_dir, max_bytes=self._max_bytes)
        return Seen(scan.files(), scan.left_out)

    def _take_in(self, seen: Seen, known: Taken | None) -> Taken:
        """Return the commit of what was *seen*, made from the *known* one; once much has changed it is kept on the disk."""
        if not seen.files:
            raise NotFound(f"The folder {self._root} holds no file to index.", remedy="Put code in it, then refresh.")
        if known is not None and not self._is_there(known):
            known = None
        started = self._clock.now()
        changed = sorted(seen.files) if known is None else seen.changed(known)
        gone = [] if known is None else seen.gone(known)
        if known is not None and not changed and not gone:
            self._note(seen, known)
            return known
        unread = self._import(seen, changed, gone, known)
        head, tree = self._objects.info(_REF), self._objects.info(f"{_REF}^{{tree}}")
        if head is None or tree is None:
            raise StorageFault("The copy of the folder could not be written.", path=str(self._git_dir))
        now = Taken(head.id, tree.id, seen.files, seen.unsettled(changed, at=started), unread)
        self._unsaved += len(changed) + len(gone)
        if known is None or self._unsaved > _MOST_UNSAVED:
            taken.save(self._mirror, now)
            self._unsaved = 0
        self._note(seen, now)
        return now

    def _is_there(self, known: Taken) -> bool:
        """Return whether the copy still has what was taken: it may have been damaged, or made anew."""
        tree = self._objects.info(f"{known.commit}^{{tree}}")
        return tree is not None and tree.id == known.tree

    def _note(self, seen: Seen, now: Taken) -> None:
        """Let other processes know what was seen last."""
        state = _State(seen.fingerprint, now.commit)
        if state != self._state():
            durable.write_file(self._mirror / _STATE, msgspec.json.encode(state))

    def _import(self, seen: Seen, changed: Sequence[bytes], gone: Sequence[bytes], known: Taken | None) -> list[bytes]:
        """Write what *changed* as one commit, over the tree of the *known* one; return the paths that could not be read."""
        unread = []
        with Child(self._git_dir, ("fast-import", "--quiet", "--force", "--done")) as child:
            child.write(_HEADER)
            if known is not None:
                child.write(b'M 040000 %s ""\n' % known.tree.encode())
            for path in gone:
                child.write(b'D "%s"\n' % _quoted(path))
            for path in changed:
                mode = seen.files[path][0]
                content = self._content(path, link=stat.S_ISLNK(mode))
                if content is None:
                    unread.append(path)
                    if known is not None and path in known.marks:
                        child.write(b'D "%s"\n' % _quoted(path))
                    continue
                kind = b"120000" if stat.S_ISLNK(mode) else b"100755" if mode & stat.S_IXUSR else b"100644"
                child.write(b'M %s inline "%s"\ndata %d\n' % (kind, _quoted(path), len(content)))
                child.write(content + b"\n")
            child.write(b"\ndone\n")
            if child.finish() != 0:
                raise StorageFault("The copy of the folder could not be written.", path=str(self._git_dir))
        return unread

    def _content(self, path: bytes, *, link: bool) -> bytes | None:
        root = os.fsencode(self._root)
        if not link:
            return read_inside(root, path, limit=self._max_bytes)
        try:
            return os.readlink(root + b"/" + path)  # noqa: PTH115 - names are bytes here
        except OSError:
            return None

    def _state(self) -> _State | None:
        try:
            return msgspec.json.decode((self._mirror / _STATE).read_bytes(), type=_State)
        except (FileNotFoundError, msgspec.DecodeError):
            return None


def _quoted(path: bytes) -> bytes:
    return b"".join(b"\\%03o" % byte if byte < 33 or byte > 126 or byte in b'"\\' else bytes((byte,)) for byte in path)


def _make_store(mirror: Path) -> Path:
    """Return the bare repository under *mirror*, made aside and renamed if it is not there yet."""
    store = mirror / "folder.git"
    if (store / "HEAD").is_file():
        return store
    durable.make_directory(mirror)
    aside = Path(tempfile.mkdtemp(prefix=".folder-", dir=mirror))
    try:
        done = proc.run(("git", "init", "--quiet", "--bare", "--template=", str(aside)), timeout=30, env=environment(aside))
        if done.code:
            kind = DiskFull if durable.is_full(mirror) else StorageFault  # git does not say which
            remedy = "See that the disk has space and takes writes, then refresh."
            raise kind("A repository for the folder cannot be made.", remedy=remedy, path=str(mirror))
        (aside / "config").write_text(CONFIG.format(format="sha1"), encoding="ascii")
        with contextlib.suppress(OSError):  # another process was first
            aside.rename(store)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return store
