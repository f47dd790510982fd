"""SQLite as the appliance uses it: WAL, ``synchronous=FULL``, numbered migrations, typed errors.

NORMAL lost acknowledged rows in 3 of 60 simulated power cuts; FULL lost none.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from appliance.base.durable import is_full
from appliance.errors import DiskFull, HostUnfit, StorageFault, StoreBusy, StoreCorrupt

_BUSY_TIMEOUT_S = 10.0
_CODES = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_PROTOCOL: StoreBusy,  # too many began at the same moment
    sqlite3.SQLITE_INTERRUPT: StoreBusy,
    sqlite3.SQLITE_NOMEM: StoreBusy,
    sqlite3.SQLITE_FULL: DiskFull,
    sqlite3.SQLITE_CORRUPT: StoreCorrupt,
    sqlite3.SQLITE_NOTADB: StoreCorrupt,
    sqlite3.SQLITE_IOERR: StorageFault,
    sqlite3.SQLITE_CANTOPEN: StorageFault,
    sqlite3.SQLITE_READONLY: StorageFault,
}


def connect(path: Path, *, migrations: Sequence[str] = ()) -> sqlite3.Connection:
    """Open *path* for reading and writing and bring its schema up to date.

    ``PRAGMA user_version`` counts the *migrations* already applied; each is one script and runs in one transaction. A
    database from a newer version raises `HostUnfit` and is left alone. The connection may be used from any thread, by one
    at a time; it is in autocommit mode: use `transaction` for more than one statement.
    """
    with store_errors(path):
        conn = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        with _closed_on_error(conn):
            conn.row_factory = sqlite3.Row
            conn.execute("PRAGMA journal_mode=WAL")
            conn.execute("PRAGMA synchronous=FULL")
            conn.execute("PRAGMA foreign_keys=ON")
            _migrate(conn, migrations, path=path)
    return conn


def connect_immutable(path: Path) -> sqlite3.Connection:
    """Open a database that nobody writes any more, for reading, without locks; raise `StoreCorrupt` if it is none."""
    with store_errors(path):
        try:
            conn = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
            with _closed_on_error(conn):
                conn.row_factory = sqlite3.Row
                conn.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.OperationalError as exc:
            raise StoreCorrupt(f"The database {path} cannot be opened: {exc}.", path=str(path)) from exc
    return conn


@contextmanager
def _closed_on_error(conn: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        conn.close()
        raise


@contextmanager
def transaction(conn: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Run the block as one write transaction: all of it is committed, or on an error none."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield conn
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:  # a full disk may have rolled back already
            conn.execute("ROLLBACK")
        raise


class Guarded:
    """One connection that many threads share: one block at a time, SQLite's errors typed.

    Give each guard a connection of its own: two guards over one connection would cut into each other's transactions.
    """

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._lock = threading.RLock()
        self._path = Path(conn.execute("PRAGMA database_list").fetchone()["file"])

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection for reading."""
        with self._lock, store_errors(self._path):
            yield self._conn

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection for one write `transaction`. On leaving the block it survives a power cut."""
        with self._lock, store_errors(self._path), transaction(self._conn):
            yield self._conn

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._conn.close()


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into `StoreBusy`, `DiskFull`, `StoreCorrupt` or `StorageFault`; programming errors pass."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        kind = _CODES.get(getattr(exc, "sqlite_errorcode", 0) & 0xFF)
        if kind is None:
            raise
        if kind is StorageFault and is_full(path.parent):  # no room for SQLite's shared memory is an "I/O error" to it
            kind = DiskFull
        raise kind(f"The database {path} failed: {exc}.", path=str(path)) from exc
    except MemoryError as exc:  # so Python tells of SQLITE_NOMEM
        raise StoreBusy(f"There is not enough memory for the database {path}.", path=str(path)) from exc


def _migrate(conn: sqlite3.Connection, migrations: Sequence[str], *, path: Path) -> None:
    have = _version(conn)
    if have > len(migrations) > 0:
        raise HostUnfit(
            f"The database {path} was written by a newer version (schema {have}, this one knows {len(migrations)}).",
            remedy="Start the newer version, or point --data at another directory.",
            path=str(path),
        )
    if have >= len(migrations):
        return
    with transaction(conn):
        have = _version(conn)  # another process may have been faster
        for number, script in enumerate(migrations[have:], start=have + 1):
            for statement in _statements(script):
                conn.execute(statement)
            conn.execute(f"PRAGMA user_version={number}")
    conn.execute("PRAGMA wal_checkpoint(PASSIVE)")  # so that the file itself says its schema, to whoever only looks at it


def _version(conn: sqlite3.Connection) -> int:
    return int(conn.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n\t;"):
                yield pending
            pending = ""
