"""The lines of an indexed file, as they stand at the indexed commit: nothing that the index does not hold is read."""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.base.paths import display
from appliance.codeintel.citations import guessed, verify
from appliance.codeintel.query.outline import no_file
from appliance.codeintel.query.parts import (
    Part,
    dated,
    lags,
    open_parts,
    repos_of,
    staleness,
    texts_of,
    undated,
)
from appliance.codeintel.results import Freshness, Scope, Span
from appliance.codeintel.store.generations import Generations
from appliance.errors import Conflict, InvalidInput, NotFound, UnsafePath

_BEHIND_S = 0.05
_SHORTEST_COMMIT = 7
_NAMED = 3  # repos, in one error


@dataclass(frozen=True, slots=True)
class Held:
    """A file that an index holds: of which repo at which generation, under which path and number."""

    part: Part
    path: str
    number: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileLines:
    """Lines of one file: those of ``span``, of a file that has ``total`` of them."""

    span: Span
    lines: tuple[str, ...]
    total: int
    freshness: Freshness
    warnings: tuple[str, ...]


def held(generations: Generations, path: str, *, scope: Scope, commit: str = "") -> Held:
    """Return the one file at *path*, which may be written as paths are shown, in what is indexed of *scope*.

    *commit*, or how it begins, must be one that is indexed, on whatever branch. Raise `UnsafePath` for a path that no file
    of a repository can have, `NotFound` where the index has no such file, `InvalidInput` where several repos have it, and
    `Conflict` for another commit.
    """
    if "\0" in path or path.startswith("/") or any(part in {"", ".", ".."} for part in path.split("/")):
        raise UnsafePath(
            f"{display(path)!r} is not the path of a file in a repository.",
            remedy="Give it as a search names it, relative to the repository and without `..`.",
        )
    parts, warnings = open_parts(generations, repos_of(generations, scope), branches=scope.branches)
    if commit:
        parts = _at(commit, parts, generations)
    exact = {path, *_unescaped(parts, path)}
    files = [(part, each, part.generation.files.number(each)) for part in parts for each in sorted(exact)]
    holding = [Held(part, each, number, tuple(warnings)) for part, each, number in files if number is not None]
    if not holding:
        _refuse_left_out(parts, path)
        raise no_file(path, [each for part in parts for each in part.generation.files.by_path])
    if len(holding) > 1:
        names = ", ".join(sorted({each.part.label for each in holding}))
        raise InvalidInput(f"Several have {display(path)!r}: {names}.", remedy="Say which one is meant.")
    return holding[0]


def read_lines(generations: Generations, file: Held, *, start: int = 1, end: int = 0, most: int) -> FileLines:
    """Return lines *start* to *end* (0: the last) of *file*, at most *most*; raise `InvalidInput` if it has no such lines.

    Raise what `Source.blob` raises where the repository does not have them any more.
    """
    part = file.part
    asked = lags([part], generations)
    blob = part.generation.files.blobs[file.number]
    texts = texts_of([part], generations)
    lines = texts.lines(part.repo.id, blob)
    last = min(len(lines), end or len(lines), start + most - 1)
    if start > max(last, 1):
        raise InvalidInput(
            f"{display(file.path)} has no lines {start} to {end or 'its end'}: it has {len(lines):,}.",
            remedy="Ask for lines that it has.",
            lines=len(lines),
        )
    span = Span(part.repo.id, part.repo.name, file.path, start, last, blob, part.generation.info.commit)
    spans, unsure = verify([span] if last >= start else [], texts=texts)  # an empty file has nothing to be held against
    parts = dated([part], asked, within=_BEHIND_S)
    said = (*file.warnings, *staleness(parts), *unsure, *guessed([(file.path, texts.encoding(part.repo.id, blob))]))
    return FileLines(next(iter(spans), span), lines[start - 1 : last], len(lines), parts[0].freshness, said)


def _at(commit: str, parts: Sequence[Part], generations: Generations) -> list[Part]:
    """Return *parts* as that *commit* has them; raise `Conflict` where it is not indexed on any branch."""
    found = []
    for part in parts if len(commit) >= _SHORTEST_COMMIT else []:
        each = ((branch, generations.published(part.repo.id, branch)) for branch in generations.branches(part.repo.id))
        at = next(((branch, one) for branch, one in each if one.info.commit.startswith(commit)), None)
        if at is not None:
            found.append(Part(part.repo, at[1], undated(part.repo, at[1]), at[0]))
    if not found:
        indexed = ", ".join(f"{part.repo.name} at {part.generation.info.commit}" for part in parts[:_NAMED])
        raise Conflict(
            f"The commit {display(commit)} is not indexed.",
            remedy=f"Indexed is {indexed}. Leave the commit out to read that.",
        )
    return found


def _refuse_left_out(parts: Sequence[Part], path: str) -> None:
    for part in parts:
        left_out = part.generation.left_out_at(path)
        if left_out is not None:
            raise NotFound(
                f"The index of {part.label} leaves out {display(left_out.path)!r}: {left_out.reason}.",
                remedy="What the index leaves out is not read here.",
                reason=left_out.reason,
            )


def _unescaped(parts: Sequence[Part], path: str) -> set[str]:
    if "\\" not in path:
        return set()
    return {
        each for part in parts for each in part.generation.files.by_path if not each.isprintable() and display(each) == path
    }
