"""What a name means, or what stands at a place of a file: the definitions that a question is about."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.asking import Asked, unknown
from appliance.codeintel.query.draft import Code, Found, is_aside, named
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.results import Pointed, Subject
from appliance.codeintel.store.graph import EdgeRow
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import InvalidInput, NotFound

_WORD: Final = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_HEAD_LINES: Final = 60  # between the first line of a definition, its decorators too, and its name
_MAKERS: Final = frozenset({"__init__", "constructor"})


@dataclass(frozen=True, slots=True)
class Meant:
    """A definition, how it is known to be meant, and how surely."""

    found: Found
    how: str
    confidence: float


def meant(subject: Subject, asked: Asked) -> tuple[str, list[Meant], list[str]]:
    """Return the name that *subject* is about, the definitions that it means, surest first, and warnings.

    Raise `NotFound` for a name that nothing has, or a file that is not in the index; `InvalidInput` for a place where no
    name stands; what `Source.blob` raises for a file that cannot be read.
    """
    if isinstance(subject, str):
        name = subject.strip().removesuffix("()")
        found = named(StructureQuery("where", name, plain=False), asked.code)
        if not found:
            raise unknown(name, asked.code, what="Nothing that the index knows")
        return name, [Meant(each, "name", 1.0) for each in found], []
    return _pointed(subject, asked)


def _pointed(at: Pointed, asked: Asked) -> tuple[str, list[Meant], list[str]]:
    code = next((each for each in asked.code if each.generation.info.repo == at.repo), None)
    number = code.generation.files.number(at.path) if code else None
    if code is None or number is None:
        raise NotFound(f"The index holds no file {display(at.path)!r}.", remedy="Search for it: `skellig search`.")
    lines = asked.texts.lines(at.repo, code.generation.files.blobs[number])
    if not 1 <= at.line <= len(lines):
        raise InvalidInput(f"{display(at.path)} has {len(lines)} lines.", line=at.line)
    word = at.word or _word(lines[at.line - 1], at.column)
    if not word:
        said = f"No name stands at {display(at.path)}:{at.line}:{at.column}."
        raise InvalidInput(said, remedy="Point at a name, or give it as a word.")
    found = _heads(code, at.path, lines, at.line, word) or _used(code, number, at.line, word, lines[at.line - 1])
    if found:
        return word, found, []
    rows = named(StructureQuery("where", word, plain=False), (code,))
    if not rows:
        raise unknown(word, (code,), what="Nothing that the index knows")
    sure = round(0.4 / len(rows), 2)
    said = f"What `{word}` is at {display(at.path)}:{at.line} could not be told: these definitions have that name."
    return word, [Meant(each, "candidate", sure) for each in rows], [said]


def _word(line: str, column: int) -> str:
    """Return the name that stands at *column* of *line*, counted from 1, or ends right before it; "" if there is none."""
    words = [match for match in _WORD.finditer(line) if match.start() < column <= match.end() + 1]
    return words[-1][0] if words else ""


def _heads(code: Code, path: str, lines: Sequence[str], line: int, word: str) -> list[Meant]:
    """Return the definition of *word* whose name stands in *line*."""
    rows = [
        row for row in code.generation.symbols.in_file(path) if row.name == word and row.start_line <= line <= row.end_line
    ]
    return [Meant(Found(code, row), "name", 1.0) for row in rows if _named_at(row, lines) == line][-1:]


def _named_at(row: SymbolRow, lines: Sequence[str]) -> int:
    last = min(row.end_line, row.start_line + _HEAD_LINES)
    for number in range(row.start_line, last + 1):
        if not lines[number - 1].lstrip().startswith("@") and row.name in _WORD.findall(lines[number - 1]):
            return number
    return row.start_line


def _used(code: Code, file: int, line: int, word: str, text: str) -> list[Meant]:
    """Return what the graph knows *word* to be in *line*."""
    graph, symbols = code.generation.graph, code.generation.symbols
    if graph is None:
        return []
    inside = [row.id for row in symbols.in_file(code.generation.files.paths[file]) if row.start_line <= line <= row.end_line]
    edges = [edge for edge in graph.used([*inside, -1 - file]) if edge.line == line and edge.target >= 0]
    rows = {row.id: row for row in symbols.rows(sorted({edge.target for edge in edges}))}
    words = set(_WORD.findall(text))
    exact = [edge for edge in edges if word in _names_of(rows[edge.target])]
    aliased = [edge for edge in edges if words.isdisjoint(_names_of(rows[edge.target]))]
    return list(_surest(code, exact or aliased, rows))


def _names_of(row: SymbolRow) -> set[str]:
    """Return what a definition is called where it is used: a constructor by its class."""
    made = {row.parent.rpartition(".")[2]} if row.name in _MAKERS or row.kind == "constructor" else set()
    return {row.name, *made}


def _surest(code: Code, edges: Iterable[EdgeRow], rows: dict[int, SymbolRow]) -> Iterator[Meant]:
    best: dict[int, EdgeRow] = {}
    for edge in edges:
        if edge.target not in best or edge.confidence > best[edge.target].confidence:
            best[edge.target] = edge
    files = code.generation
    for edge in sorted(best.values(), key=lambda each: (-each.confidence, is_aside(files, rows[each.target].file))):
        yield Meant(Found(code, rows[edge.target]), edge.how, edge.confidence)
