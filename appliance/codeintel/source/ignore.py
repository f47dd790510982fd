"""What a plain folder's .gitignore files leave out, as git itself judges it.

Git is never let into the folder: it sees a shadow that holds copies of the .gitignore files alone, so that a pipe, link or
`.gitattributes` of the folder can do nothing to it.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from appliance.codeintel.source.gitchild import Child

_PORTION = 30_000  # bytes asked at once: a pipe holds them all, so git can answer before it has read them
_TOP = b".gitignore"  # asked first: git then forgets the folder it was in, whose rules may have been learnt since


class IgnoreRules:
    """Answers which paths are ignored. Give a folder's rules with `learn` before asking about what is in it."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._shadow = Path(tempfile.mkdtemp(prefix="skellig-ignore-"))
        self._child: Child | None = None

    def learn(self, folder: bytes, rules: bytes) -> None:
        """Take in the .gitignore of *folder*, a path relative to the root ("" for the root) with a slash at its end."""
        place = self._shadow / folder.decode("utf-8", "surrogateescape")
        place.mkdir(parents=True, exist_ok=True)
        (place / ".gitignore").write_bytes(rules)

    def ignored(self, paths: Sequence[bytes]) -> set[bytes]:
        """Return those of *paths* that are ignored; a folder is asked with a slash at its end."""
        if self._child is None:
            arguments = ("check-ignore", "-z", "--stdin", "--no-index", "--non-matching", "--verbose")
            self._child = Child(self._git_dir, arguments, extra={"GIT_WORK_TREE": str(self._shadow)}, folder=self._shadow)
        found: set[bytes] = set()
        portion = [_TOP]
        size = 0
        for path in paths:
            portion.append(path)
            size += len(path) + 3
            if size > _PORTION:
                found |= self._ask(self._child, portion)
                portion, size = [], 0
        return (found | self._ask(self._child, portion)).intersection(paths)

    def _ask(self, child: Child, paths: list[bytes]) -> set[bytes]:
        found = set()
        child.write(b"".join(b"./%s\0" % path for path in paths))  # "./": a name may begin with a colon
        for path in paths:
            _source, _line, pattern, _name = (child.until(b"\0") for _ in range(4))
            if pattern and not pattern.startswith(b"!"):
                found.add(path)
        return found

    def close(self) -> None:
        """End git and remove the shadow."""
        if self._child is not None:
            self._child.close()
        shutil.rmtree(self._shadow, ignore_errors=True)
