"""Folders that somebody hostile filled are removed, and nothing else is."""

import os
from pathlib import Path

from appliance.base.removal import remove_tree


def test_a_folder_deeper_than_any_path_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(500):
        os.mkdir("d" * 100, dir_fd=fd)
        inner = os.open("d" * 100, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(os.open("file", os.O_CREAT, dir_fd=inner))
        os.close(fd)
        fd = inner
    os.close(fd)
    remove_tree(root)
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_not_what_they_lead_to(tmp_path: Path) -> None:
    kept, root = tmp_path / "kept", tmp_path / "root"
    for folder in (kept, root, root / "inner"):
        folder.mkdir()
    (kept / "file").write_text("kept")
    (root / "link").symlink_to(kept)
    (root / "inner" / "up").symlink_to("../..")
    (root / "inner").chmod(0)
    remove_tree(root)
    assert (kept / "file").read_text() == "kept"
    (tmp_path / "link").symlink_to(kept)
    remove_tree(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_many_folders_side_by_side_take_no_longer_each(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / "root" / str(number)).mkdir(parents=True)
    remove_tree(tmp_path / "root")
    remove_tree(tmp_path / "root")
    assert list(tmp_path.iterdir()) == []
