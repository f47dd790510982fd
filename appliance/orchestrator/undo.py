"""What agents edited in scratch worktrees, group by group, so that it can be taken back and made again.

What is to happen is on the disk before the first file changes, so after a kill or a power cut `recover` knows how to end it.
Whatever else changed a file since then is seen by its checksum, and is not overwritten unless that is wanted.
"""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NewType

from appliance.base import sqlite
from appliance.base.clock import Clock
from appliance.base.durable import make_directory
from appliance.base.paths import display
from appliance.errors import Conflict, LimitExceeded, NotFound
from appliance.orchestrator.held_files import FileState, absent, read_state, write_state

GroupId = NewType("GroupId", int)
State = Literal["open", "done", "undoing", "undone", "redoing"]

MOST_BYTES: Final = 4 << 20
"""The largest file that is edited."""

_MOST_GROUPS: Final = 200  # that are kept of one worktree
_MOST_IN_ALL: Final = 1_000  # worktrees come and go
_MOST_CHANGES: Final = 1_000  # in one group
_MIGRATIONS: Final = (
    """
    CREATE TABLE groups (
        id INTEGER PRIMARY KEY,
        worktree TEXT NOT NULL,
        description TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'done', 'undoing', 'undone', 'redoing')),
        at REAL NOT NULL
    );
    CREATE INDEX groups_of_worktree ON groups (worktree, state, id);
    CREATE TABLE changes (
        group_id INTEGER NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        path BLOB NOT NULL,
        before TEXT, before_mode INTEGER NOT NULL,
        after TEXT, after_mode INTEGER NOT NULL,
        PRIMARY KEY (group_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE contents (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
    """,
)


@dataclass(frozen=True, slots=True)
class Change:
    """One file, as it was and as it is to be; the digest is None where there is no file."""

    path: str
    before: str | None
    before_mode: int
    after: str | None
    after_mode: int


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that belong together."""

    id: GroupId
    description: str
    state: State
    at: float
    changes: tuple[Change, ...]


class UndoHistory:
    """The edits of one project. Used from any thread; one at a time edits a worktree.

    A worktree is named by its folder, and its files are reached through no link.
    """

    def __init__(self, path: Path, *, clock: Clock) -> None:
        make_directory(path.parent)
        self._db = sqlite.Guarded(sqlite.connect(path, migrations=_MIGRATIONS))
        self._clock = clock

    def begin_change_group(self, worktree: Path, description: str) -> GroupId:
        """Return a new group of changes in *worktree*; raise `Conflict` while another one is open there."""
        with self._db.write() as conn:
            busy = "SELECT id FROM groups WHERE worktree = ? AND state IN ('open', 'undoing', 'redoing')"
            if conn.execute(busy, (worktree.name,)).fetchone():
                raise Conflict("Other changes of this worktree are not finished.", remedy="Commit them, or recover.")
            row = (worktree.name, description[:500], self._clock.now())
            found = conn.execute("INSERT INTO groups (worktree, description, state, at) VALUES (?, ?, 'open', ?)", row)
            return GroupId(int(found.lastrowid or 0))

    def record_change(
        self, group: GroupId, worktree: Path, path: str, content: bytes | None, *, mode: int | None = None
    ) -> Change:
        """Make the file at *path* hold *content* (None: be gone), and remember how it was.

        On return both survive a power cut. Without *mode* it keeps the one that it has, or gets 0644. Raise `UnsafePath` for
        a path that leaves *worktree* or leads through a link, `LimitExceeded` for too large a file, `NotFound` where there
        is nothing to remove, or no such open group.
        """
        if content is not None and len(content) > MOST_BYTES:
            raise LimitExceeded(f"{display(path)} would have more than {MOST_BYTES:,} bytes.", limit=MOST_BYTES)
        now = read_state(worktree, path, most=MOST_BYTES)
        if content is None and now.content is None:
            raise NotFound(f"There is no file {display(path)!r}.")
        wanted = absent() if content is None else FileState(content, now.mode if mode is None else mode & 0o777)
        change = Change(path, _digest(now.content), now.mode, _digest(wanted.content), wanted.mode)
        self._remember(group, worktree, change, (now, wanted))
        write_state(worktree, path, wanted)
        return change

    def commit(self, group: GroupId) -> Group:
        """End *group*: it can be undone from now on, and what was undone before can not be made again."""
        with self._db.write() as conn:
            row = conn.execute("SELECT worktree FROM groups WHERE id = ? AND state = 'open'", (group,)).fetchone()
            if row is None:
                raise NotFound("There is no such open group of changes.")
            conn.execute("DELETE FROM groups WHERE worktree = ? AND state = 'undone'", (row["worktree"],))
            conn.execute("UPDATE groups SET state = 'done' WHERE id = ?", (group,))
            old = "SELECT id FROM groups WHERE worktree = ? ORDER BY id DESC LIMIT -1 OFFSET ?"
            conn.execute(f"DELETE FROM groups WHERE id IN ({old})", (row["worktree"], _MOST_GROUPS))  # noqa: S608 - ours
            conn.execute("DELETE FROM groups WHERE id <= (SELECT max(id) FROM groups) - ?", (_MOST_IN_ALL,))
            _forget_contents(conn)
        return self._group(group)

    def undo(self, worktree: Path, *, force: bool = False) -> Group:
        """Take back the newest group that stands, and return it.

        Raise `NotFound` where there is none, `Conflict` where something else changed one of its files since, unless *force*.
        """
        return self._turn(worktree, "done", "undoing", "undone", force=force)

    def redo(self, worktree: Path, *, force: bool = False) -> Group:
        """Make again the group that was taken back last, and return it; raise as `undo` does."""
        return self._turn(worktree, "undone", "redoing", "done", force=force)

    def recover(self, worktree: Path) -> list[Group]:
        """End what broke off in *worktree*: changes of an open group are taken back, an undo or redo goes on to its end.

        Return the groups that it did that with. Files that something else changed in the meantime stay as they are.
        """
        ended = []
        for group in self.groups(worktree):
            if group.state in {"open", "undoing", "redoing"}:
                self._set(worktree, group, back=group.state != "redoing", only_ours=True)
                self._mark(group.id, "done" if group.state == "redoing" else "undone")
                ended.append(group)
        return ended

    def groups(self, worktree: Path) -> list[Group]:
        """Return the groups of *worktree*, newest first."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT id FROM groups WHERE worktree = ? ORDER BY id DESC", (worktree.name,)).fetchall()
        return [self._group(GroupId(row["id"])) for row in rows]

    def forget(self, worktree: Path) -> None:
        """Drop what is known of *worktree*, once it is removed."""
        with self._db.write() as conn:
            conn.execute("DELETE FROM groups WHERE worktree = ?", (worktree.name,))
            _forget_contents(conn)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def _turn(self, worktree: Path, start: State, between: State, end: State, *, force: bool) -> Group:
        back = start == "done"
        found = [group for group in self.groups(worktree) if group.state == start]
        if not found:
            raise NotFound(f"There is nothing to {'undo' if back else 'redo'}.")
        group = found[0] if back else found[-1]
        changed = [path for path, state in _ends(group, back=back).items() if _now(worktree, path) != state]
        if changed and not force:
            names = ", ".join(map(display, changed[:5]))
            raise Conflict(f"Something else changed {names} since.", remedy="Look at it, then force it.", paths=changed)
        self._mark(group.id, between)
        self._set(worktree, group, back=back, only_ours=False)
        self._mark(group.id, end)
        return self._group(group.id)

    def _set(self, worktree: Path, group: Group, *, back: bool, only_ours: bool) -> None:
        """Bring the files of *group* to how they were before it, or after it; *only_ours*: not those that are otherwise."""
        for change in reversed(group.changes) if back else group.changes:
            now = _now(worktree, change.path)
            before, after = (change.before, change.before_mode), (change.after, change.after_mode)
            wanted, ours = (before, after) if back else (after, before)
            if now == wanted or (only_ours and now != ours):
                continue
            digest, mode = wanted
            write_state(worktree, change.path, FileState(None if digest is None else self._content(digest), mode))

    def _remember(self, group: GroupId, worktree: Path, change: Change, states: Sequence[FileState]) -> None:
        with self._db.write() as conn:
            row = conn.execute("SELECT worktree FROM groups WHERE id = ? AND state = 'open'", (group,)).fetchone()
            if row is None or row["worktree"] != worktree.name:
                raise NotFound("There is no such open group of changes in this worktree.")
            count = conn.execute("SELECT count(*) FROM changes WHERE group_id = ?", (group,)).fetchone()[0]
            if count >= _MOST_CHANGES:
                raise LimitExceeded(f"A group has at most {_MOST_CHANGES:,} changes.", limit=_MOST_CHANGES)
            for state in states:
                if state.content is not None:
                    data = (_digest(state.content), zlib.compress(state.content, 1))
                    conn.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", data)
            told = (change.before, change.before_mode, change.after, change.after_mode)
            conn.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", (group, count, os.fsencode(change.path), *told))

    def _mark(self, group: GroupId, state: State) -> None:
        with self._db.write() as conn:
            conn.execute("UPDATE groups SET state = ? WHERE id = ?", (state, group))

    def _group(self, group: GroupId) -> Group:
        with self._db.read() as conn:
            row = conn.execute("SELECT * FROM groups WHERE id = ?", (group,)).fetchone()
            rows = conn.execute("SELECT * FROM changes WHERE group_id = ? ORDER BY seq", (group,)).fetchall()
        if row is None:
            raise NotFound("There is no such group of changes.")
        changes = tuple(
            Change(os.fsdecode(each["path"]), each["before"], each["before_mode"], each["after"], each["after_mode"])
            for each in rows
        )
        return Group(group, row["description"], row["state"], row["at"], changes)

    def _content(self, digest: str) -> bytes:
        with self._db.read() as conn:
            return zlib.decompress(conn.execute("SELECT data FROM contents WHERE digest = ?", (digest,)).fetchone()["data"])


def _forget_contents(conn: sqlite3.Connection) -> None:
    used = "SELECT before FROM changes WHERE before IS NOT NULL UNION SELECT after FROM changes WHERE after IS NOT NULL"
    conn.execute(f"DELETE FROM contents WHERE digest NOT IN ({used})")  # noqa: S608 - ours


def _ends(group: Group, *, back: bool) -> dict[str, tuple[str | None, int]]:
    """Return how each file of *group* must be now for it to be taken back, or made again."""
    found: dict[str, tuple[str | None, int]] = {}
    for change in group.changes if back else reversed(group.changes):
        found[change.path] = (change.after, change.after_mode) if back else (change.before, change.before_mode)
    return found


def _now(worktree: Path, path: str) -> tuple[str | None, int]:
    state = read_state(worktree, path, most=None)
    return _digest(state.content), state.mode


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
