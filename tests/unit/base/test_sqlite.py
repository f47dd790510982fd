import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.errors import HostUnfit, StoreBusy, StoreCorrupt

ONE = "CREATE TABLE a (x INTEGER);"
TWO = "CREATE TABLE b (y INTEGER); INSERT INTO b VALUES (1);"


def test_migrations_run_once_each_and_in_order(tmp_path: Path) -> None:
    sqlite.connect(tmp_path / "db", migrations=[ONE]).close()
    conn = sqlite.connect(tmp_path / "db", migrations=[ONE, TWO])
    conn.close()
    conn = sqlite.connect(tmp_path / "db", migrations=[ONE, TWO])
    assert conn.execute("SELECT y FROM b").fetchall()[0]["y"] == 1
    assert conn.execute("PRAGMA user_version").fetchone()[0] == 2
    conn.close()


def test_the_file_itself_says_its_schema_while_the_database_is_open(tmp_path: Path) -> None:
    """Who looks at it before an upgrade or a rollback reads bytes 60 to 63, and not the log beside it."""
    path = tmp_path / "t.db"
    sqlite.connect(path, migrations=["CREATE TABLE a (x);"]).close()
    with closing(sqlite.connect(path, migrations=["CREATE TABLE a (x);", "CREATE TABLE b (x);"])):
        assert int.from_bytes(path.read_bytes()[60:64], "big") == 2


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        sqlite.connect(tmp_path / "db", migrations=[ONE, "CREATE TABLE c (z); CREATE TABLE c (z);"])
    conn = sqlite.connect(tmp_path / "db")
    assert conn.execute("SELECT name FROM sqlite_master").fetchall() == []
    conn.close()


def test_a_newer_schema_is_refused_with_the_remedy(tmp_path: Path) -> None:
    """An older version writing into it would harm it in silence."""
    sqlite.connect(tmp_path / "db", migrations=[ONE, TWO]).close()
    with pytest.raises(HostUnfit, match=r"schema 2, this one knows 1.*newer version"):
        sqlite.connect(tmp_path / "db", migrations=[ONE])


def test_two_processes_may_open_a_new_database_at_the_same_moment(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def opened() -> None:
        try:
            sqlite.connect(tmp_path / "db", migrations=[ONE, TWO]).close()
        except BaseException as exc:  # noqa: BLE001 - handed to the test
            errors.append(exc)

    threads = [threading.Thread(target=opened) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_transaction_that_raises_is_undone(tmp_path: Path) -> None:
    conn = sqlite.connect(tmp_path / "db", migrations=[ONE])

    def half() -> None:
        with sqlite.transaction(conn):
            conn.execute("INSERT INTO a VALUES (1)")
            conn.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(sqlite3.OperationalError):
        half()
    assert conn.execute("SELECT count(*) FROM a").fetchone()[0] == 0
    conn.close()


def test_every_commit_is_synced(tmp_path: Path) -> None:
    """NORMAL loses acknowledged rows in a power cut."""
    conn = sqlite.connect(tmp_path / "db")
    assert conn.execute("PRAGMA synchronous").fetchone()[0] == 2
    conn.close()


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"this is not a database at all, not even nearly" * 100)
    with pytest.raises(StoreCorrupt):
        sqlite.connect(tmp_path / "db")


@pytest.mark.parametrize("opened", [sqlite.connect, sqlite.connect_immutable])
def test_a_database_that_is_refused_is_not_kept_open(tmp_path: Path, opened: Callable[[Path], sqlite3.Connection]) -> None:
    """Whoever holds the error would hold the file with it."""
    path = tmp_path / "db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreCorrupt) as caught:
        opened(path)
    assert caught.tb
    assert path.resolve() not in [link.resolve() for link in Path("/proc/self/fd").iterdir()]


def test_a_locked_database_is_busy(tmp_path: Path) -> None:
    first = sqlite.connect(tmp_path / "db", migrations=[ONE])
    second = sqlite3.connect(tmp_path / "db", timeout=0, isolation_level=None)
    with sqlite.transaction(first), pytest.raises(StoreBusy), sqlite.store_errors(tmp_path / "db"):
        second.execute("BEGIN IMMEDIATE")
    first.close()
    second.close()


@pytest.mark.parametrize(
    "code", [sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY]
)
def test_what_may_pass_by_itself_is_retryable(tmp_path: Path, code: int) -> None:
    error = sqlite3.OperationalError("locking protocol")
    error.sqlite_errorcode = code
    with pytest.raises(StoreBusy), sqlite.store_errors(tmp_path / "db"):
        raise error


def test_want_of_memory_is_retryable(tmp_path: Path) -> None:
    with pytest.raises(StoreBusy), sqlite.store_errors(tmp_path / "db"):
        raise MemoryError
