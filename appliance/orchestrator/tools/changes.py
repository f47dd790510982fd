"""What is otherwise between two commits, file by file. Contents come as the source shows them: without their secrets."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from appliance.base.budget import Deadline
from appliance.codeintel.citations import split_lines
from appliance.codeintel.query.parts import Part
from appliance.codeintel.results import Span
from appliance.codeintel.source.base import Change, Snapshot, Source
from appliance.codeintel.source.past import Ancestor
from appliance.contracts.tools import Evidence
from appliance.errors import DeadlineExceeded, LimitExceeded, NotFound, NotGranted
from appliance.ids import BlobId, CommitId
from appliance.orchestrator.tools.told import proof

_MOST_FILES: Final = 1_000
_SHOWN: Final = 20
_LARGEST: Final = 200_000  # bytes: to compare two files takes as long as the one times the other, at worst
_MOST_LINES: Final = 4_000
_SECONDS: Final = 10.0
_EMPTY: Final[Mapping[int, str]] = {  # trees without a file, by the length of ids
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_PLAIN: Final = frozenset({"100644", "100755"})

How = Literal["added", "deleted", "changed"]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that is otherwise, how, and as a unified diff; *evidence* is the first place as the newer commit has it."""

    path: str
    how: How
    text: str
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What is otherwise in *commit* than in *base* ("": nothing was before): the first of *total* files."""

    commit: CommitId
    base: str
    files: tuple[FileChange, ...]
    total: int
    warnings: tuple[str, ...]


def changes(source: Source, part: Part, *, commit: str, base: str, path: str) -> Changes:
    """Return what *commit* has otherwise than *base*, or its first parent, at *path* or below it.

    Raise `NotGranted` for a commit that the indexed one does not descend from: it may be of a branch that was not granted.
    """
    new = _ancestor(source, part, commit)
    old = _ancestor(source, part, base or new.parent) if base or new.parent else None
    before = old.tree if old else _EMPTY[len(new.tree)]
    try:
        found = source.changes(before, Snapshot("", new.commit, new.tree), most=_MOST_FILES)
    except LimitExceeded as exc:
        raise LimitExceeded(
            f"More than {_MOST_FILES:,} files changed.", remedy="Choose a base that is nearer.", limit=_MOST_FILES
        ) from exc
    wanted = [each for each in found if not path or each.path == path or each.path.startswith(f"{path}/")]
    reading = _Reading(source, part, new=new, old=old)
    files = tuple(reading.files(wanted[:_SHOWN]))
    return Changes(new.commit, old.commit if old else "", files, len(wanted), tuple(reading.warnings))


def _ancestor(source: Source, part: Part, name: str) -> Ancestor:
    try:
        return source.ancestor(name=name, of=part.generation.info.commit)
    except NotFound as exc:
        raise NotGranted(f"This run may not read it, or it is not there: {exc.message}", remedy=exc.remedy) from exc


class _Reading:
    """The contents of changed files, compared one by one while there is time."""

    def __init__(self, source: Source, part: Part, *, new: Ancestor, old: Ancestor | None) -> None:
        self._source, self._part, self._new, self._old = source, part, new, old
        self._deadline = Deadline(_SECONDS, what="To compare the files")
        self.warnings: list[str] = []

    def files(self, wanted: list[Change]) -> Iterator[FileChange]:
        """Yield each of *wanted*, with a warning for what is not compared."""
        paths = [each.path for each in wanted]
        shown = self._source.located(commit=self._new.commit, paths=paths)
        before: dict[str, BlobId | None] = dict.fromkeys(paths)
        if self._old:
            before = self._source.located(commit=self._old.commit, paths=paths)
        blobs = {blob for blob in (*shown.values(), *before.values()) if blob}
        contents = self._source.blobs(blobs)
        for each in wanted:
            old, new = before[each.path], shown[each.path]
            how: How = "deleted" if each.entry is None else "changed" if each.was else "added"
            yield self._compared(each, how, contents.get(old) if old else b"", contents.get(new) if new else b"")

    def _compared(self, each: Change, how: How, old: bytes | None, new: bytes | None) -> FileChange:
        unread = self._unread(each, old, new)
        if unread or old is None or new is None:
            self.warnings.append(f"{each.path} is not compared: {unread or 'it cannot be read'}.")
            return FileChange(each.path, how, "", None)
        before, after = split_lines(old), split_lines(new)
        lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
        return FileChange(each.path, how, "\n".join(lines), self._proof(each, before, after))

    def _unread(self, each: Change, old: bytes | None, new: bytes | None) -> str:
        try:
            self._deadline.check()
        except DeadlineExceeded:
            return "it took too long"
        if each.entry is not None and each.entry.mode not in _PLAIN:
            return "it is a link or another repository"
        contents = [content for content in (old, new) if content is not None]
        if any(len(content) > _LARGEST or content.count(b"\n") > _MOST_LINES for content in contents):
            return "it is too large"
        if any(b"\0" in content for content in contents):
            return "it is binary"
        return "" if old or new else "it is empty, or a file of secrets"

    def _proof(self, each: Change, before: tuple[str, ...], after: tuple[str, ...]) -> Evidence | None:
        """Return the first lines that are new, as the newer commit has them."""
        if each.entry is None:
            return None
        blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        first = next(((start, end) for tag, _, _, start, end in blocks if tag != "equal" and end > start), None)
        if first is None:
            return None
        start, end = first
        span = Span(
            repo=self._part.repo.id,
            repo_name=self._part.repo.name,
            path=each.path,
            start_line=start + 1,
            end_line=end,
            blob=each.entry.blob,
            commit=self._new.commit,
        )
        return proof(span, "\n".join(after[start:end]), why=f"changed in {self._new.commit[:12]}")
