"""What answers of structure are put together from: sentences, the places that they speak of, and what lists leave out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.base.paths import display
from appliance.codeintel.citations import Place
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.results import Origin, Sentence
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.symbols import SymbolRow

MAX_LISTED = 12  # a longer list is cut, and says so
CLASSES = frozenset({"class", "interface", "struct", "enum", "trait", "type"})
CALLABLES = frozenset({"function", "method", "constructor"})
DEFINITIONS = CLASSES | CALLABLES | {"macro", "module", "namespace"}
_SHOWN_LINES = 40  # of one definition on the card; the sentence gives all of its lines
ASIDE = int(FileFlags.TEST | FileFlags.EXAMPLE | FileFlags.DOC)
_JOINTS = re.compile(r"::|->|[#/\\]")
_KIND_PLURALS = {"class": "classes", "property": "properties"}


@dataclass(frozen=True, slots=True)
class StructureAnswer:
    """Sentences, each citing the 1-based number of a place, and what the lists leave out."""

    sentences: tuple[Sentence, ...]
    places: tuple[Place, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """One repo as structure questions see it. ``label`` is put before its paths; "" where only one repo is asked about."""

    generation: Generation
    repo_name: str
    label: str = ""


class Draft:
    """Facts, in the order in which they will be read."""

    def __init__(self, origin: Origin = "graph") -> None:
        self._origin = origin
        self.sentences: list[Sentence] = []
        self.places: list[Place] = []
        self.warnings: list[str] = []

    def say(self, text: str, *places: Place) -> None:
        """Add a sentence that speaks of *places*."""
        numbers = []
        for place in places:
            if place not in self.places:
                self.places.append(place)
            numbers.append(self.places.index(place) + 1)
        self.sentences.append(Sentence(text, tuple(numbers), self._origin))

    def cut(self, listed: int, total: int, *, what: str) -> None:
        """Say that of *total* only *listed* are given, where that is so."""
        if total > listed:
            self.warnings.append(f"{listed} of {total} {what} are listed.")

    def done(self) -> StructureAnswer | None:
        """Return the answer, None if nothing was said."""
        if not self.sentences:
            return None
        return StructureAnswer(tuple(self.sentences), tuple(self.places), tuple(self.warnings))


@dataclass(frozen=True, slots=True)
class Found:
    """A definition, and the repo that it stands in."""

    code: Code
    row: SymbolRow


def named(query: StructureQuery, code: Sequence[Code]) -> list[Found]:
    """Return what is called so: definitions before constants and variables, other code before tests, else by path."""
    found = [Found(item, row) for item in code for row in rows_named(query.name, item.generation) if row.kind != "heading"]
    proper = [item for item in found if item.row.kind in DEFINITIONS]
    if query.plain or proper:
        found = proper
    return sorted(found, key=lambda item: is_aside(item.code.generation, item.row.file))


def rows_named(name: str, generation: Generation) -> list[SymbolRow]:
    """Return what *name*, which may be qualified by classes and by parts of its path, can mean."""
    dotted = _JOINTS.sub(".", name).strip(".")
    parts = dotted.split(".")
    if len(parts) == 1:
        return generation.symbols.named(dotted)
    for start in range(len(parts)):
        leading = parts[:start]
        rows = generation.symbols.qualified(".".join(parts[start:]))
        # What the table's name lacks must be found in the path: appliance.base.paths.display.
        rows = [row for row in rows if set(leading) <= set(re.split(r"[/.]", row.path))]
        if rows:
            return rows
    return []


def is_aside(generation: Generation, file: int) -> bool:
    """Return whether *file* is a test, an example or documentation."""
    return bool(generation.files.flags[file] & ASIDE)


def place_of(item: Found) -> Place:
    """Return the lines of a definition, or the first of them."""
    row = item.row
    end = min(row.end_line, row.start_line + _SHOWN_LINES - 1)
    return Place(
        repo=item.code.generation.info.repo,
        repo_name=item.code.repo_name,
        commit=item.code.generation.info.commit,
        path=row.path,
        blob=row.blob,
        start_line=row.start_line,
        end_line=end,
        symbol=row.qualname,
        kind=row.kind,
    )


def several(count: int, what: str) -> str:
    """Return "1 class" or "3 classes"."""
    return f"{count:,} {what if count == 1 else _KIND_PLURALS.get(what, what + 's')}"


def stands_at(item: Found) -> str:
    """Return the path and first line of a definition."""
    return f"{path_of(item.code, item.row.path)}:{item.row.start_line}"


def path_of(code: Code, path: str) -> str:
    """Return *path* as it is shown, with its repo where several are asked about."""
    return f"{code.label}{display(path)}"


def lines_of(row: SymbolRow) -> str:
    """Return "line 3" or "lines 3 to 7"."""
    return f"line {row.start_line}" if row.start_line == row.end_line else f"lines {row.start_line} to {row.end_line}"


def plain_name(qualname: str) -> str:
    """Return a qualified name without the number that tells it from a namesake in the same file."""
    return re.sub(r"#\d+", "", qualname)
