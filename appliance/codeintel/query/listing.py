"""Every line that fits the patterns of a query, in order: repositories by name, then paths, then lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from appliance.base.clock import Clock
from appliance.codeintel.citations import guessed, verify_places
from appliance.codeintel.query.absent import absent
from appliance.codeintel.query.filters import definitions_for, files_for, unspoken
from appliance.codeintel.query.hits import Page, elsewhere, lost, sources_of
from appliance.codeintel.query.parts import Part, copies, unreadable
from appliance.codeintel.query.patterns import MOST_LISTED, Late, LineMatcher, matching, unfinished, within_time
from appliance.codeintel.query.querylang import ParsedQuery
from appliance.codeintel.query.remoteness import remoteness
from appliance.codeintel.query.signals import chunk_at
from appliance.codeintel.results import Hit, Span
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import StoreCorrupt
from appliance.ids import BlobId

_MOST_MARKS: Final = 20  # in one line
_LONGEST_LINE: Final = 500  # characters that are shown of one
_BEFORE: Final = 100  # of them before its first match
Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Listed:
    """Lines that fit, in order, in three arrays of one length. ``part`` and ``file`` say where each stands first."""

    matcher: LineMatcher
    part: Ids
    file: Ids
    line: Ids
    whole: bool
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.line)


@dataclass(frozen=True, slots=True)
class _Found:
    """Lines of one part; *files* are those that the query is about."""

    file: Ids
    line: Ids
    whole: bool


def listed(query: ParsedQuery, parts: Sequence[Part], clock: Clock) -> Listed:
    """Return all lines of *parts* that fit *query*, or as many as one search may look for.

    A line that stands in several copies of a file is one: in the copy that is no test, example or vendored file, and of
    those in the first. Raise `InvalidInput` for a regular expression that is none.
    """
    matcher, late = LineMatcher(query, query.patterns), within_time(clock)
    found: dict[int, _Found] = {}
    warnings: list[str] = []
    broken: list[StoreCorrupt] = []
    for number, part in enumerate(parts):
        try:
            found[number] = _of(part.generation, query, matcher, late)
        except StoreCorrupt as exc:
            broken.append(exc)
            warnings.append(unreadable(part.repo, exc))
        else:
            warnings += unfinished(part, query, whole=found[number].whole)
    if broken and not found:
        raise broken[0]
    warnings += unspoken(query, [parts[number].generation for number in found])
    warnings += absent(query, [parts[number] for number in found])
    rows = _ordered(parts, found)
    whole = all(each.whole for each in found.values())
    return Listed(matcher, rows[:, 0], rows[:, 1], rows[:, 2], whole, tuple(warnings))


def page_of(found: Listed, parts: Sequence[Part], generations: Generations, *, limit: int, offset: int) -> Page:
    """Return the lines from *offset* on, at most *limit*, as hits: each says whether it stands where it says."""
    page = slice(offset, offset + limit)
    rows = list(zip(found.part[page].tolist(), found.file[page].tolist(), found.line[page].tolist(), strict=True))
    spans = [_span(parts[part], file, line) for part, file, line in rows]
    sources, warnings = sources_of(parts, generations)
    checked = verify_places(spans, sources=sources)
    places = copies(parts, (span.blob for span in checked))
    symbols = _around(parts, rows)
    hits = tuple(
        _hit(parts[part], file, span, symbol, found.matcher, places=places[span.blob])
        for (part, file, _), span, symbol in zip(rows, checked, symbols, strict=True)
    )
    warnings += lost(checked, sources)
    files = ((parts[part].generation.files, file) for part, file, _ in rows)
    warnings += guessed((each.paths[file], each.encodings[file]) for each, file in files)
    return Page(hits, len(found), tuple(dict.fromkeys(warnings)))


def _of(generation: Generation, query: ParsedQuery, matcher: LineMatcher, late: Late) -> _Found:
    files = files_for(query, generation)
    definitions = definitions_for(query, generation)
    if definitions is not None:
        defining = np.zeros_like(files)
        defining[[row.file for row in definitions]] = True
        files &= defining
    lines = matching(generation, matcher, files=files, late=late, most=MOST_LISTED)
    file, line = _first_copies(generation, files)[lines.texts], lines.numbers
    if definitions is not None:
        inside = _inside(definitions, file, line)
        file, line = file[inside], line[inside]
    return _Found(file, line, lines.whole)


def _first_copies(generation: Generation, files: npt.NDArray[np.bool_]) -> Ids:
    """Return for each text the file to show it in, of those that count."""
    numbers = np.array(generation.files.numbers, dtype=np.int64)  # in the order of paths
    numbers = numbers[files[numbers] & (generation.text.of_file[numbers] >= 0)]
    numbers = numbers[np.argsort(remoteness(generation)[numbers], kind="stable")]
    first: Ids = np.full(len(generation.text), -1, dtype=np.int64)
    first[generation.text.of_file[numbers[::-1]]] = numbers[::-1]  # of what is written twice the last stays
    return first


def _inside(definitions: Sequence[SymbolRow], file: Ids, line: Ids) -> npt.NDArray[np.bool_]:
    inside = np.zeros(len(file), dtype=np.bool_)
    for row in definitions:
        inside |= (file == row.file) & (line >= row.start_line) & (line <= row.end_line)
    return inside


def _ordered(parts: Sequence[Part], found: Mapping[int, _Found]) -> Ids:
    """Return rows of part, file and line: those of the best copy of each text, by part, path and line."""
    kept: dict[BlobId, tuple[int, int, int]] = {}
    for number, each in found.items():
        generation = parts[number].generation
        remote = remoteness(generation)
        for file in map(int, np.unique(each.file)):
            place = (int(remote[file]), number, file)
            blob = generation.files.blobs[file]
            kept[blob] = min(kept.get(blob, place), place)
    chosen = sorted((part, parts[part].generation.files.paths[file], file) for _, part, file in kept.values())
    ranks = {number: np.full(parts[number].generation.files.end, -1, dtype=np.int64) for number in found}
    for rank, (part, _, file) in enumerate(chosen):
        ranks[part][file] = rank
    rows = [np.empty((0, 4), dtype=np.int64)]
    for number, each in found.items():
        rows.append(np.stack([np.full_like(each.line, number), each.file, each.line, ranks[number][each.file]], axis=1))
    table = np.concatenate(rows)
    table = table[table[:, 3] >= 0]
    ordered: Ids = table[np.lexsort((table[:, 2], table[:, 3])), :3]
    return ordered


def _span(part: Part, file: int, line: int) -> Span:
    files = part.generation.files
    return Span(
        repo=part.repo.id,
        repo_name=part.repo.name,
        path=files.paths[file],
        start_line=line,
        end_line=line,
        blob=files.blobs[file],
        commit=part.generation.info.commit,
    )


def _hit(part: Part, file: int, span: Span, symbol: SymbolRow | None, matcher: LineMatcher, *, places: int) -> Hit:
    generation = part.generation
    (text,) = generation.text.lines(int(generation.text.of_file[file]), span.start_line, span.start_line)
    columns = matcher.columns(text, most=_MOST_MARKS)
    shown = _cut(text, columns[0][0] - 1 if columns else 0)
    cut = ("only a part of the line is shown",) if shown != text else ()
    return Hit(
        span=span,
        symbol=symbol.qualname if symbol else "",
        kind=symbol.kind if symbol else "",
        language=generation.files.languages[file],
        score=0.0,
        why=(*cut, *elsewhere(places)),
        text=shown,
        columns=columns,
    )


def _around(parts: Sequence[Part], rows: Sequence[tuple[int, int, int]]) -> list[SymbolRow | None]:
    """Return for each of *rows*, part, file and line, the innermost definition that it stands in."""
    chunks = [chunk_at(parts[part].generation, file=file, line=line) for part, file, line in rows]
    known: dict[tuple[int, int], SymbolRow] = {}
    for part in {part for part, _, _ in rows}:
        mine = [chunk for row, chunk in zip(rows, chunks, strict=True) if row[0] == part and chunk is not None]
        ids = dict.fromkeys(each for chunk in mine for each in _in_chunk(parts[part].generation, chunk) if each >= 0)
        known |= {(part, row.id): row for row in parts[part].generation.symbols.rows(ids)}
    found: list[SymbolRow | None] = []
    for (part, _, line), chunk in zip(rows, chunks, strict=True):
        around, *defined = (-1,) if chunk is None else _in_chunk(parts[part].generation, chunk)
        inside = [row for each in defined if (row := known[part, each]).start_line <= line <= row.end_line]
        found.append(inside[-1] if inside else known.get((part, around)))
    return found


def _in_chunk(generation: Generation, chunk: int) -> tuple[int, ...]:
    """Return the symbol that *chunk* stands in, -1 for none, and those that it defines."""
    return int(generation.chunk_symbol_id[chunk]), *generation.chunk_defines_ids(chunk)


def _cut(line: str, first: int) -> str:
    """Return the part of *line* around its first match, with a mark where something is missing."""
    if len(line) <= _LONGEST_LINE:
        return line
    start = max(0, first - _BEFORE)
    end = start + _LONGEST_LINE
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
