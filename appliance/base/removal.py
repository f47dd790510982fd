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
        folder.chmod(0o700)
        with os.scandir(folder) as entries:
            inside = list(entries)
        folders = [entry for entry in inside if entry.is_dir(follow_symlinks=False)]
        for entry in inside:
            if entry not in folders:
                os.unlink(entry.path)  # noqa: PTH108 - the name may be bytes that no path shows
        if folder == root and folders:
            pending += [Path(entry.path) for entry in folders]
            continue
        for entry in folders:
            moved += 1
            place = root / f"{prefix}-{moved}"
            os.chmod(entry.path, 0o700)  # noqa: PTH101 - a folder without its owner's rights cannot be moved
            os.rename(entry.path, place)  # noqa: PTH104 - as above
            pending.insert(-1, place)
        pending.remove(folder)
        folder.rmdir()
