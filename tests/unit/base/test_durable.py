import os
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.base import durable
from appliance.errors import Conflict, DiskFull, HostUnfit, StorageFault


def test_write_file_replaces_the_whole_content(tmp_path: Path) -> None:
    target = tmp_path / "settings"
    target.write_bytes(b"old and much longer")
    durable.write_file(target, b"new")
    assert target.read_bytes() == b"new"


def test_write_file_leaves_nothing_beside_its_target(tmp_path: Path) -> None:
    durable.write_file(tmp_path / "settings", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["settings"]


def test_a_failed_write_keeps_the_old_content_and_leaves_nothing(tmp_path: Path) -> None:
    """A directory in the way makes the last step, the rename, fail."""
    target = tmp_path / "settings"
    target.mkdir()
    (target / "inside").touch()
    with pytest.raises(OSError, match="directory"):
        durable.write_file(target, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["settings"]


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """/dev/full is the kernel's own full disk."""
    with (
        pytest.raises(DiskFull, match="No space"),
        durable.storage_errors(tmp_path),
        Path("/dev/full").open("wb", 0) as full,
    ):
        full.write(b"x")


def test_an_input_output_error_is_a_storage_fault(tmp_path: Path) -> None:
    with pytest.raises(StorageFault), durable.storage_errors(tmp_path):
        raise OSError(5, os.strerror(5))


def test_sync_filesystem_takes_any_existing_path_and_names_a_missing_one(tmp_path: Path) -> None:
    durable.sync_filesystem(tmp_path)
    with pytest.raises(FileNotFoundError):
        durable.sync_filesystem(tmp_path / "missing")


def test_make_directory_says_what_to_do_when_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostUnfit, match="--data"):
        durable.make_directory(tmp_path / "file" / "data")


def test_a_second_process_is_refused_while_the_lock_is_held_and_let_in_after_a_kill(tmp_path: Path) -> None:
    """The lock must not outlive a holder that died without a word."""
    lock = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path.cwd()
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(Conflict, match="the data directory"), durable.exclusive(lock, what="the data directory"):
        pytest.fail("two holders")
    holder.kill()
    holder.communicate()
    with durable.exclusive(lock, what="the data directory"):
        assert lock.exists()


_HOLDER = """
import sys, pathlib
from appliance.base import durable
with durable.exclusive(pathlib.Path(sys.argv[1]), what="x"):
    print("held", flush=True)
    sys.stdin.read()
"""
