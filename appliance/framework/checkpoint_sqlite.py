"""The keeper of checkpoints on the disk: SQLite, each step durable before the next begins."""

import asyncio
import fcntl
import hashlib
import json
import os
import sqlite3
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

from appliance.base.durable import storage_errors
from appliance.base.sqlite import Guarded, connect
from appliance.errors import InvalidInput, StoreCorrupt
from appliance.framework.checkpoint import FINISHED, KEEP, Checkpoint, claimed, overtaken
from appliance.framework.checkpoint_json import damaged, decoded, decoded_write, encoded

R = TypeVar("R")

_MIGRATIONS: Final = (
    """
CREATE TABLE checkpoints (
    thread TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL,
    format INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (thread, seq)
);
CREATE INDEX checkpoints_by_id ON checkpoints (thread, id);
CREATE TABLE branch_writes (
    thread TEXT NOT NULL, step INTEGER NOT NULL, branch INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (thread, step, branch)
) WITHOUT ROWID;
""",
    """
ALTER TABLE checkpoints ADD COLUMN crc INTEGER;
ALTER TABLE branch_writes ADD COLUMN crc INTEGER;
""",
)
_LOCK: Final = struct.Struct("hhqqi0q")  # struct flock: type, whence, start, length, pid
_PRUNED_EVERY: Final = 64  # checkpoints of a thread
_FORGOTTEN_EVERY: Final = 16  # threads that begin, about
_LONG_FINISHED: Final = """
SELECT ended.thread FROM checkpoints AS ended
JOIN (SELECT max(rowid) AS row FROM checkpoints WHERE instr(thread, '/') = 0 GROUP BY thread) AS last
ON ended.rowid = last.row WHERE json_extract(ended.body, '$.status') = 'finished' ORDER BY ended.rowid DESC LIMIT -1 OFFSET ?
"""


class SqliteCheckpointer:
    """Keeps the newest *keep* checkpoints of each thread in the database *path*, which many processes may share.

    Of threads that are finished about the newest *finished* are kept, of others all.
    A claim is a lock of the system's on one byte of ``PATH.lock``: it ends with the process that holds it.
    """

    def __init__(self, path: Path, *, keep: int = KEEP, finished: int = FINISHED) -> None:
        self._keep = keep
        self._finished = finished
        with _damage_told(path):
            self._db = Guarded(connect(path, migrations=_MIGRATIONS))
        self._path = path
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._aside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, once what is being written is written."""
        self._aside.shutdown()
        self._db.close()

    @asynccontextmanager
    async def claim(self, thread_id: str) -> AsyncIterator[None]:
        """Hold the thread for one run, against every process of this machine."""
        with storage_errors(self._lock_path):
            fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _place(thread_id), 1, 0))
            except (BlockingIOError, PermissionError) as exc:
                raise claimed(thread_id) from exc
            yield
        finally:
            os.close(fd)

    async def put(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint. On return it survives a power cut."""
        await self._do(lambda: self._put(checkpoint))

    async def latest(self, thread_id: str) -> Checkpoint | None:
        """Return the newest checkpoint of a thread, or None."""
        return next(iter(await self.history(thread_id, limit=1)), None)

    async def get(self, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        """Return one checkpoint, or None."""
        found = await self._do(lambda: self._read("thread = ? AND id = ? LIMIT 1", (thread_id, checkpoint_id)))
        return next(iter(found), None)

    async def history(self, thread_id: str, *, limit: int = 100) -> Sequence[Checkpoint]:
        """Return the newest checkpoints of a thread, the newest first."""
        return await self._do(lambda: self._read("thread = ? ORDER BY seq DESC LIMIT ?", (thread_id, limit)))

    async def put_write(self, thread_id: str, step: int, index: int, update: Mapping[str, object]) -> None:
        """Keep what one branch of a step returned. On return it survives a power cut."""
        row = (thread_id, step, index, json.dumps(update, allow_nan=False))
        await self._do(
            lambda: self._write("INSERT OR REPLACE INTO branch_writes VALUES (?, ?, ?, ?, ?)", (*row, _crc(*row)))
        )

    async def writes(self, thread_id: str, step: int) -> Mapping[int, Mapping[str, object]]:
        """Return what the branches of a step returned, by index."""
        return await self._do(lambda: self._writes(thread_id, step))

    async def delete(self, thread_id: str) -> None:
        """Forget a thread and those of its subgraphs."""
        await self._do(lambda: self._delete(thread_id))

    async def _do(self, work: Callable[[], R]) -> R:
        with _damage_told(self._path):
            try:
                working = asyncio.get_running_loop().run_in_executor(self._aside, work)
            except RuntimeError as exc:
                raise InvalidInput(f"The checkpointer of {self._path} is closed.", remedy="Open another one.") from exc
            return await working

    def _put(self, checkpoint: Checkpoint) -> None:
        thread, body = checkpoint.thread_id, encoded(checkpoint)
        try:
            with self._db.write() as conn:
                given = (thread, checkpoint.seq, checkpoint.id, checkpoint.format, body)
                row = conn.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)", (*given, _crc(*given))).lastrowid
                conn.execute("DELETE FROM branch_writes WHERE thread = ? AND step < ?", (thread, checkpoint.step))
                if checkpoint.seq % _PRUNED_EVERY == 0:
                    conn.execute(
                        "DELETE FROM checkpoints WHERE thread = ? AND seq <= ?", (thread, checkpoint.seq - self._keep)
                    )
                if checkpoint.seq == 1 and (row or 0) % _FORGOTTEN_EVERY == 0:
                    for (name,) in conn.execute(_LONG_FINISHED, (self._finished,)).fetchall():
                        _forget(conn, name)
        except sqlite3.IntegrityError as exc:
            raise overtaken(thread) from exc

    def _write(self, sql: str, row: tuple[str | int, ...]) -> None:
        with self._db.write() as conn:
            conn.execute(sql, row)

    def _read(self, where: str, given: tuple[str | int, ...]) -> Sequence[Checkpoint]:
        with self._db.read() as conn:
            rows = conn.execute(f"SELECT thread, seq, id, format, body, crc FROM checkpoints WHERE {where}", given)  # noqa: S608 - a literal
            return [decoded(_whole(row, thread=given[0]), thread_id=row["thread"], format_=row["format"]) for row in rows]

    def _writes(self, thread_id: str, step: int) -> Mapping[int, Mapping[str, object]]:
        with self._db.read() as conn:
            query = "SELECT thread, step, branch, body, crc FROM branch_writes WHERE thread = ? AND step = ?"
            rows = conn.execute(query, (thread_id, step))
            return {row["branch"]: decoded_write(_whole(row, thread=thread_id), thread_id=thread_id) for row in rows}

    def _delete(self, thread_id: str) -> None:
        with self._db.write() as conn:
            _forget(conn, thread_id)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    """Turn what SQLite says of tables that are others, and of text that is none, into `StoreCorrupt`."""
    try:
        yield
    except (sqlite3.OperationalError, UnicodeDecodeError) as exc:
        raise StoreCorrupt(f"The database {path} is no store of checkpoints, or damaged: {exc}.", path=str(path)) from exc


def _whole(row: sqlite3.Row, *, thread: object) -> str:
    """Return the body of *row*; raise `StoreCorrupt` where it is not as it was written. Older rows have no checksum."""
    *said, crc = tuple(row)
    if not isinstance(row["body"], str) or (crc is not None and crc != _crc(*said)):
        raise damaged(str(thread), "it is not as it was written")
    return row["body"]


def _crc(*row: object) -> int:
    return zlib.crc32("\0".join(map(str, row)).encode())


def _forget(conn: sqlite3.Connection, thread_id: str) -> None:
    """Delete a thread and those of its subgraphs."""
    for table in ("checkpoints", "branch_writes"):
        conn.execute(
            f"DELETE FROM {table} WHERE thread = ? OR substr(thread, 1, ?) = ?",  # noqa: S608 - a literal
            (thread_id, len(thread_id) + 1, f"{thread_id}/"),
        )


def _place(thread_id: str) -> int:
    """Return the byte of the lock file that stands for a thread."""
    return int.from_bytes(hashlib.sha256(thread_id.encode()).digest()[:8]) >> 2
