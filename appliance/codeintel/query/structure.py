"""Answers that the symbol table gives exactly: where a name is defined, what a file or folder holds, what a class has.

No model is asked. Every sentence is put together here from facts, and names the place that it speaks of.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from appliance.base.paths import display
from appliance.codeintel.citations import Place
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.results import Sentence
from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import NotFound

MAX_LISTED = 12  # a longer list is cut, and says so
_SHOWN_LINES = 40  # of one definition on the card; the sentence gives all of its lines
_MOST_PLACES = 2  # files or folders of one name that are listed in full
_HEAD_LINES = 12  # of a file on the card
_CLASSES = frozenset({"class", "interface", "struct", "enum", "trait", "type"})
_CALLABLES = frozenset({"function", "method", "constructor"})
_DEFINITIONS = _CLASSES | _CALLABLES | {"macro", "module", "namespace"}
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


class _Draft:
    """Facts, in the order in which they will be read."""

    def __init__(self) -> None:
        self.sentences: list[Sentence] = []
        self.places: list[Place] = []
        self.warnings: list[str] = []

    def say(self, text: str, *places: Place) -> None:
        numbers = []
        for place in places:
            if place not in self.places:
                self.places.append(place)
            numbers.append(self.places.index(place) + 1)
        self.sentences.append(Sentence(text, tuple(numbers)))

    def cut(self, listed: int, total: int, *, what: str) -> None:
        if total > listed:
            self.warnings.append(f"{listed} of {total} {what} are listed.")

    def done(self) -> StructureAnswer | None:
        if not self.sentences:
            return None
        return StructureAnswer(tuple(self.sentences), tuple(self.places), tuple(self.warnings))


@dataclass(frozen=True, slots=True)
class _Found:
    code: Code
    row: SymbolRow


def answer(query: StructureQuery, *, code: Sequence[Code]) -> StructureAnswer | None:
    """Return what the symbol tables say to *query*, or None when they know no such name: then it is no such question."""
    draft = _Draft()
    if query.intent == "contents":
        _contents(query, code, draft)
        if not draft.sentences:
            _members(query, code, draft)
    elif query.intent == "members":
        _members(query, code, draft)
        if not draft.sentences and query.members == "members":
            _contents(query, code, draft)
    elif query.intent == "signature":
        _signatures(query, code, draft)
    else:
        _definitions(query, code, draft)
    return draft.done()


def _definitions(query: StructureQuery, code: Sequence[Code], draft: _Draft) -> None:
    found = _named(query, code)
    for item in found[:MAX_LISTED]:
        row = item.row
        of = f" of `{_plain(row.parent)}`" if row.parent else ""
        draft.say(f"`{_plain(row.qualname)}` is defined in {_at(item)} ({row.kind}{of}).", _place(item))
    draft.cut(MAX_LISTED, len(found), what=f"definitions of `{query.name}`")


def _signatures(query: StructureQuery, code: Sequence[Code], draft: _Draft) -> None:
    found = [item for item in _named(query, code) if item.row.kind in _CALLABLES | _CLASSES | {"macro"}]
    for item in found[:MAX_LISTED]:
        head = item.row.signature or item.row.name
        draft.say(f"`{_plain(item.row.qualname)}` has the signature `{head}`, in {_at(item)}.", _place(item))
    draft.cut(MAX_LISTED, len(found), what=f"definitions of `{query.name}`")


def _members(query: StructureQuery, code: Sequence[Code], draft: _Draft) -> None:
    owners = [item for item in _named(query, code) if item.row.kind in _CLASSES]
    for owner in owners[:3]:
        rows = [row for row in _children(owner) if _wanted(row, query.members)]
        what = _counted(rows) if rows else f"no {query.members} in the index"
        draft.say(f"`{_plain(owner.row.qualname)}` ({owner.row.kind}, {_at(owner)}) has {what}.", _place(owner))
        for row in rows[:MAX_LISTED]:
            item = _Found(owner.code, row)
            draft.say(f"`{row.name}`, {row.kind} at {_lines(row)}: `{row.signature or row.name}`", _place(item))
        draft.cut(MAX_LISTED, len(rows), what=f"{query.members} of `{_plain(owner.row.qualname)}`")
    draft.cut(3, len(owners), what=f"definitions of `{query.name}`")


def _contents(query: StructureQuery, code: Sequence[Code], draft: _Draft) -> None:
    places = [
        (_farness(item.generation, path, first), item, path)
        for item in code
        for path, first in _places_called(query.name, item.generation).items()
    ]
    places.sort(key=lambda place: place[0])
    for _, item, path in places[:_MOST_PLACES]:
        if path.endswith("/"):
            _folder_contents(item, path, draft)
        else:
            _file_contents(item, path, draft)
    if len(places) > _MOST_PLACES:
        others = ", ".join(_shown(item, path) for _, item, path in places[_MOST_PLACES:][:5])
        draft.warnings.append(
            f"`{display(query.name)}` can also mean {_number(len(places) - _MOST_PLACES, 'place')} more: {others}."
        )


def _file_contents(code: Code, path: str, draft: _Draft) -> None:
    number = code.generation.files.number(path)
    lines = 0 if number is None else int(code.generation.files.lines[number])
    rows = list(_outermost(code.generation.symbols.in_file(path)))
    what = f"defines {_counted(rows)}" if rows else "defines nothing that the index knows by name"
    draft.say(f"{_shown(code, path)} ({_number(lines, 'line')}) {what}.", _head_of(code, path))
    for row in rows[:MAX_LISTED]:
        draft.say(f"`{_plain(row.qualname)}`, {row.kind} at {_lines(row)}.", _place(_Found(code, row)))
    draft.cut(MAX_LISTED, len(rows), what=f"definitions in {display(path)}")


def _folder_contents(code: Code, folder: str, draft: _Draft) -> None:
    inside = [path for path in code.generation.files.paths if path.startswith(folder)]
    own = [path for path in inside if "/" not in path[len(folder) :]]
    below = sorted({path[len(folder) :].partition("/")[0] for path in inside if "/" in path[len(folder) :]})
    parts = [_number(len(own), "file")] if own else []
    parts += [f"{_number(len(below), 'folder')} ({', '.join(display(name) + '/' for name in below[:MAX_LISTED])})"] * bool(
        below
    )
    draft.say(f"{_shown(code, folder)} holds {' and '.join(parts)}.", *(_head_of(code, path) for path in inside[:1]))
    for path in own[:MAX_LISTED]:
        rows = [row for row in _outermost(code.generation.symbols.in_file(path)) if row.kind != "heading"]
        rows = [row for row in rows if row.kind in _DEFINITIONS and not row.name.startswith("_")] or rows
        named = ", ".join(f"`{_plain(row.qualname)}`" for row in rows[:8]) + (
            f" and {len(rows) - 8} more" if len(rows) > 8 else ""
        )
        what = f"defines {named}" if rows else "defines nothing that the index knows by name"
        draft.say(f"{display(path[len(folder) :])} {what}.", _head_of(code, path))
    draft.cut(MAX_LISTED, len(own), what=f"files of {display(folder)}")
    draft.cut(MAX_LISTED, len(below), what=f"folders of {display(folder)}")


def _named(query: StructureQuery, code: Sequence[Code]) -> list[_Found]:
    """Return what is called so: definitions before constants and variables, other code before tests, else by path."""
    found = [_Found(item, row) for item in code for row in _rows_named(query.name, item.generation) if row.kind != "heading"]
    proper = [item for item in found if item.row.kind in _DEFINITIONS]
    if query.plain or proper:
        found = proper
    return sorted(found, key=lambda item: _is_aside(item.code.generation, item.row.file))


def _rows_named(name: str, generation: Generation) -> list[SymbolRow]:
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


def _places_called(name: str, generation: Generation) -> dict[str, int]:
    """Return the files, and the folders with a slash at their end, that *name* can mean, read as exactly as may be.

    With each comes the number of the file, or of the folder's first one.
    """
    wanted = name.removeprefix("./").strip("/")
    paths = generation.files.paths
    number = generation.files.number(wanted)
    if number is not None:
        return {wanted: number}
    first = next((number for number, path in enumerate(paths) if path.startswith(f"{wanted}/")), None)
    if first is not None:
        return {f"{wanted}/": first}
    if ends := {path: number for number, path in enumerate(paths) if path.endswith(f"/{wanted}")}:
        return ends
    module = re.sub(r"::|\.", "/", wanted)
    found: dict[str, int] = {}
    for number, path in enumerate(paths):
        if "." in path and f"/{path.rpartition('.')[0]}".endswith(f"/{module}"):
            found[path] = number
        place = f"/{path}".find(f"/{module}/")
        if place >= 0:
            found.setdefault(path[: place + len(module) + 1], number)
    return found


def _farness(generation: Generation, path: str, first: int) -> tuple[bool, int, str]:
    """Return what sorts other code before tests, and what is near the top before what is deep down."""
    return _is_aside(generation, first), path.rstrip("/").count("/"), path


def _children(owner: _Found) -> list[SymbolRow]:
    return [row for row in owner.code.generation.symbols.in_file(owner.row.path) if row.parent == owner.row.qualname]


def _outermost(rows: Iterable[SymbolRow]) -> Iterator[SymbolRow]:
    for row in rows:
        if not row.parent:
            yield row


def _wanted(row: SymbolRow, members: str) -> bool:
    return members == "members" or (row.kind in _CALLABLES) == (members == "methods")


def _is_aside(generation: Generation, file: int) -> bool:
    return bool(int(generation.files.flags[file]) & (FileFlags.TEST | FileFlags.EXAMPLE | FileFlags.DOC))


def _place(item: _Found) -> Place:
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


def _head_of(code: Code, path: str) -> Place:
    files = code.generation.files
    number = files.number(path)
    if number is None:
        raise NotFound("The index holds no such file.", path=path)
    return Place(
        repo=code.generation.info.repo,
        repo_name=code.repo_name,
        commit=code.generation.info.commit,
        path=path,
        blob=files.blobs[number],
        start_line=1,
        end_line=max(1, min(int(files.lines[number]), _HEAD_LINES)),
    )


def _counted(rows: Sequence[SymbolRow]) -> str:
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row.kind] = kinds.get(row.kind, 0) + 1
    parts = [_number(count, kind) for kind, count in kinds.items()]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else _KIND_PLURALS.get(what, what + 's')}"


def _at(item: _Found) -> str:
    return f"{_shown(item.code, item.row.path)}:{item.row.start_line}"


def _shown(code: Code, path: str) -> str:
    return f"{code.label}{display(path)}"


def _lines(row: SymbolRow) -> str:
    return f"line {row.start_line}" if row.start_line == row.end_line else f"lines {row.start_line} to {row.end_line}"


def _plain(qualname: str) -> str:
    """Return a qualified name without the number that tells it from a namesake in the same file."""
    return re.sub(r"#\d+", "", qualname)
