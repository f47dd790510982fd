"""Removing a folder that somebody hostile filled: however deep, whatever the modes, and never through a link."""

import os
import secrets
import stat
from pathlib import Path


def remove_tree(root: Path) -> None:
    """Remove *root*, a folder or a file, and all that is in it, if it is there; raise `OSError` where the disk refuses.

    Nobody may be writing to it any more. Folders in folders are moved up to *root* on the way: no path grows too long.
    """
    try:
        mode = root.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        root.unlink()
        return
    pending, moved, prefix = [root], 0, f".removed-{secrets.token_hex(8)}"
    while pending:
        folder = pending[-1]
        folders = _emptied_of_files(folder)
        if folder == root and folders:
            pending += folders
            continue
        for inner in folders:
            moved += 1
            inner.chmod(0o700)  # a folder without its owner's rights cannot be moved
            pending.insert(-1, inner.rename(root / f"{prefix}-{moved}"))
        pending.pop()
        folder.rmdir()


def _emptied_of_files(folder: Path) -> list[Path]:
    """Remove all that is in *folder* but its folders, and return these."""
    folder.chmod(0o700)
    folders = []
    with os.scandir(folder) as entries:
        inside = list(entries)
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            folders.append(Path(entry.path))
        else:
            Path(entry.path).unlink()
    return folders
