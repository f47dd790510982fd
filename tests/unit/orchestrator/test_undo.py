"""Edits of a scratch worktree are taken back and made again, whole, and never over what somebody else wrote."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.base import durable
from appliance.errors import Conflict, LimitExceeded, NotFound, UnsafePath
from appliance.orchestrator import held_files, undo
from appliance.orchestrator.undo import MOST_BYTES, UndoHistory
from tests.support.clock import FakeClock


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "worktree-1"
    made.mkdir()
    (made / "a.py").write_text("a = 1\n")
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    (made / "sub").mkdir()
    (made / "sub" / "b.bin").write_bytes(bytes(range(256)))
    return made


@pytest.fixture
def history(tmp_path: Path) -> Iterator[UndoHistory]:
    opened = UndoHistory(tmp_path / "projects" / "undo.db", clock=FakeClock())
    yield opened
    opened.close()


Edit = Callable[..., undo.Group]


@pytest.fixture
def edit(tree: Path, history: UndoHistory) -> Edit:
    def edit(**files: bytes | None) -> undo.Group:
        group = history.begin_change_group(tree, "an edit")
        for name, content in files.items():
            history.record_change(group, tree, name.replace("__", "/").replace("_", "."), content)
        return history.commit(group)

    return edit


def _files(tree: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(tree)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def test_a_group_is_taken_back_and_made_again_as_a_whole(tree: Path, history: UndoHistory, edit: Edit) -> None:
    before = _files(tree)
    edit(a_py=b"a = 2\n", new__deep__c_py=b"c\n", run_sh=None, sub__b_bin=b"\0\xff")
    after = _files(tree)
    assert after["new/deep/c.py"] == (b"c\n", 0o644)
    assert "run.sh" not in after
    assert history.undo(tree).state == "undone"
    assert _files(tree) == before
    assert not (tree / "new").exists()
    assert history.redo(tree).state == "done"
    assert _files(tree) == after


def test_a_mode_is_kept_and_comes_back(tree: Path, history: UndoHistory) -> None:
    group = history.begin_change_group(tree, "modes")
    history.record_change(group, tree, "run.sh", b"#!/bin/sh\nexit 1\n")
    history.record_change(group, tree, "a.py", b"a = 1\n", mode=0o700)
    history.commit(group)
    assert _files(tree)["run.sh"] == (b"#!/bin/sh\nexit 1\n", 0o755)
    assert _files(tree)["a.py"] == (b"a = 1\n", 0o700)
    history.undo(tree)
    assert _files(tree)["a.py"] == (b"a = 1\n", 0o644)


def test_groups_are_undone_newest_first_and_redone_oldest_first(tree: Path, history: UndoHistory, edit: Edit) -> None:
    for number in (2, 3, 4):
        edit(a_py=b"a = %d\n" % number)
    seen = []
    for turn in (history.undo, history.undo, history.undo, history.redo, history.redo):
        turn(tree)
        seen.append((tree / "a.py").read_bytes())
    assert seen == [b"a = 3\n", b"a = 2\n", b"a = 1\n", b"a = 2\n", b"a = 3\n"]


def test_a_file_that_changes_twice_in_a_group_goes_back_to_its_beginning(tree: Path, history: UndoHistory) -> None:
    group = history.begin_change_group(tree, "twice")
    history.record_change(group, tree, "a.py", b"a = 2\n")
    history.record_change(group, tree, "a.py", None)
    history.record_change(group, tree, "a.py", b"a = 3\n")
    history.commit(group)
    history.undo(tree)
    assert (tree / "a.py").read_bytes() == b"a = 1\n"
    history.redo(tree)
    assert (tree / "a.py").read_bytes() == b"a = 3\n"


def test_a_new_edit_ends_what_could_be_made_again(tree: Path, history: UndoHistory, edit: Edit) -> None:
    edit(a_py=b"a = 2\n")
    history.undo(tree)
    edit(a_py=b"a = 5\n")
    with pytest.raises(NotFound):
        history.redo(tree)


@pytest.mark.parametrize("outside", ["edited", "removed", "mode", "replaced by a longer one"])
def test_what_something_else_changed_is_not_overwritten_unless_forced(
    outside: str, tree: Path, history: UndoHistory, edit: Edit
) -> None:
    edit(a_py=b"a = 2\n", sub__b_bin=b"new")
    if outside == "removed":
        (tree / "a.py").unlink()
    elif outside == "mode":
        (tree / "a.py").chmod(0o600)
    else:
        (tree / "a.py").write_bytes(b"a = 3\n" if outside == "edited" else b"x" * (MOST_BYTES + 1))
    with pytest.raises(Conflict, match=r"a\.py") as refused:
        history.undo(tree)
    assert "sub/b.bin" not in refused.value.message
    assert (tree / "sub" / "b.bin").read_bytes() == b"new"
    history.undo(tree, force=True)
    assert _files(tree)["a.py"] == (b"a = 1\n", 0o644)


def test_what_something_else_changed_is_not_overwritten_by_a_redo(tree: Path, history: UndoHistory, edit: Edit) -> None:
    edit(a_py=b"a = 2\n")
    history.undo(tree)
    (tree / "a.py").write_bytes(b"mine\n")
    with pytest.raises(Conflict):
        history.redo(tree)
    assert (tree / "a.py").read_bytes() == b"mine\n"


@pytest.mark.parametrize(
    "path", ["../out", "/etc/passwd", "a\0b", "sub/../../out", "", "./a.py", "sub//b.bin", "link", "to/x", "sub", "a.py/x"]
)
def test_a_path_that_leaves_or_leads_through_a_link_is_refused(path: str, tree: Path, history: UndoHistory) -> None:
    outside = tree.parent / "out"
    outside.write_text("out")
    (tree / "link").symlink_to(outside)
    (tree / "to").symlink_to(tree.parent)
    group = history.begin_change_group(tree, "an edit")
    with pytest.raises(UnsafePath):
        history.record_change(group, tree, path, b"x")
    assert outside.read_text() == "out"
    assert not (tree.parent / "x").exists()


def test_a_link_that_waits_beside_a_file_is_not_written_through(tree: Path, edit: Edit) -> None:
    """A command may lay it there under the name that is written aside."""
    outside = tree.parent / "out"
    outside.write_text("out")
    (tree / f".a.py.{os.getpid()}.tmp").symlink_to(outside)
    edit(a_py=b"a = 2\n")
    assert outside.read_text() == "out"
    assert (tree / "a.py").read_bytes() == b"a = 2\n"


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_refused(kind: str, tree: Path, history: UndoHistory) -> None:
    os.mkfifo(tree / "odd") if kind == "pipe" else (tree / "odd").mkdir()
    group = history.begin_change_group(tree, "an edit")
    with pytest.raises(UnsafePath):
        history.record_change(group, tree, "odd", b"x")


def test_a_file_that_is_too_large_is_refused(tree: Path, history: UndoHistory) -> None:
    group = history.begin_change_group(tree, "an edit")
    with pytest.raises(LimitExceeded):
        history.record_change(group, tree, "a.py", b"x" * (MOST_BYTES + 1))
    (tree / "a.py").write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(LimitExceeded):
        history.record_change(group, tree, "a.py", b"x")


def test_two_groups_are_not_open_at_once_and_none_is_of_another_worktree(tree: Path, history: UndoHistory) -> None:
    group = history.begin_change_group(tree, "an edit")
    with pytest.raises(Conflict):
        history.begin_change_group(tree, "another")
    other = tree.parent / "worktree-2"
    other.mkdir()
    with pytest.raises(NotFound):
        history.record_change(group, other, "a.py", b"x")
    history.commit(history.begin_change_group(other, "elsewhere"))
    with pytest.raises(NotFound):
        history.record_change(undo.GroupId(99), tree, "a.py", b"x")


class PowerCut(Exception):
    """The process ends here."""


@pytest.mark.parametrize("survives", range(4))
@pytest.mark.parametrize("turn", ["edit", "undo", "redo"])
def test_what_broke_off_is_ended_whole(
    turn: str, survives: int, tree: Path, history: UndoHistory, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After *survives* files were written the process dies; whoever comes next finds all of it or nothing."""
    before = _files(tree)
    changes: dict[str, bytes | None] = {"a_py": b"a = 2\n", "run_sh": None, "new_py": b"n\n"}
    if turn != "edit":
        edit(**changes)
    after = _files(tree)
    if turn == "redo":
        history.undo(tree)
    written = 0
    real = held_files.write_state

    def dies(worktree: Path, path: str, state: held_files.FileState) -> None:
        nonlocal written
        if written == survives:
            raise PowerCut
        written += 1
        real(worktree, path, state)

    monkeypatch.setattr(undo, "write_state", dies)
    try:
        {"edit": lambda: edit(**changes), "undo": lambda: history.undo(tree), "redo": lambda: history.redo(tree)}[turn]()
    except PowerCut:
        monkeypatch.setattr(undo, "write_state", real)
        assert len(history.recover(tree)) == 1
        assert _files(tree) == (after if turn == "redo" else before)
    else:
        assert survives == 3
    assert history.recover(tree) == []
    monkeypatch.setattr(undo, "write_state", real)
    history.commit(history.begin_change_group(tree, "life goes on"))


def test_recovery_leaves_what_something_else_wrote(tree: Path, history: UndoHistory) -> None:
    group = history.begin_change_group(tree, "an edit")
    history.record_change(group, tree, "a.py", b"a = 2\n")
    (tree / "a.py").write_bytes(b"mine\n")
    history.recover(tree)
    assert (tree / "a.py").read_bytes() == b"mine\n"


def test_what_is_kept_does_not_grow_for_ever(
    tree: Path, history: UndoHistory, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "_MOST_GROUPS", 3)
    monkeypatch.setattr(undo, "_MOST_IN_ALL", 4)
    for number in range(2, 8):
        edit(a_py=b"a = %d\n" % number)
    assert len(history.groups(tree)) == 3
    for _ in range(3):
        history.undo(tree)
    assert (tree / "a.py").read_bytes() == b"a = 4\n"
    other = tree.parent / "worktree-2"
    other.mkdir()
    for _ in range(3):
        history.commit(history.begin_change_group(other, "elsewhere"))
    assert len(history.groups(tree)) == 1


def test_a_worktree_that_is_gone_is_forgotten(tree: Path, history: UndoHistory, edit: Edit) -> None:
    edit(a_py=b"a = 2\n")
    history.forget(tree)
    assert history.groups(tree) == []
    with pytest.raises(NotFound):
        history.undo(tree)


def test_a_folder_that_turns_into_a_link_meanwhile_leads_nowhere(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command, or a plugin's tool, may still be at work in the worktree."""
    outside = tree.parent / "outside"
    outside.mkdir()
    real = durable.write_file

    def swapped(path: Path, data: bytes, *, mode: int) -> None:
        (tree / "sub").rename(tree / "moved")
        (tree / "sub").symlink_to(outside)
        real(path, data, mode=mode)

    monkeypatch.setattr(durable, "write_file", swapped)
    held_files.write_state(tree, "sub/x", held_files.FileState(b"x", 0o644))
    assert list(outside.iterdir()) == []
    assert (tree / "moved" / "x").read_bytes() == b"x"
