"""Answers that the symbol table gives exactly: where a name is defined, what a file or folder holds, what a class has.

No model is asked. Every sentence is put together here from facts, and names the place that it speaks of.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.citations import Place, Texts
from appliance.codeintel.query.calls import say_callees, say_callers
from appliance.codeintel.query.draft import (
    CALLABLES,
    CLASSES,
    DEFINITIONS,
    MAX_LISTED,
    Code,
    Draft,
    Found,
    StructureAnswer,
    is_aside,
    lines_of,
    named,
    path_of,
    place_of,
    plain_name,
    several,
    stands_at,
)  # fmt: skip
from appliance.codeintel.query.impact import say_impact
from appliance.codeintel.query.spoken import say_history, say_uses, say_way
from appliance.codeintel.questions import Intent, StructureQuery
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import NotFound

_MOST_PLACES = 2  # files or folders of one name that are listed in full
_HEAD_LINES = 12  # of a file on the card


def answer(query: StructureQuery, *, code: Sequence[Code], texts: Texts | None = None) -> StructureAnswer | None:
    """Return what the symbol tables say to *query*, or None when they know no such name: then it is no such question."""
    draft = Draft("git" if query.intent == "history" else "graph")
    if query.intent == "history":
        if texts is not None:
            say_history(query, code, draft, texts)
    else:
        _SAYERS[query.intent](query, code, draft)
    return draft.done()


def _contents_first(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    _contents(query, code, draft)
    if not draft.sentences:
        _members(query, code, draft)


def _members_first(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    _members(query, code, draft)
    if not draft.sentences and query.members == "members":
        _contents(query, code, draft)


def _definitions(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    found = named(query, code)
    for item in found[:MAX_LISTED]:
        row = item.row
        of = f" of `{plain_name(row.parent)}`" if row.parent else ""
        draft.say(f"`{plain_name(row.qualname)}` is defined in {stands_at(item)} ({row.kind}{of}).", place_of(item))
    draft.cut(MAX_LISTED, len(found), what=f"definitions of `{query.name}`")


def _signatures(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    found = [item for item in named(query, code) if item.row.kind in CALLABLES | CLASSES | {"macro"}]
    for item in found[:MAX_LISTED]:
        head = item.row.signature or item.row.name
        draft.say(f"`{plain_name(item.row.qualname)}` has the signature `{head}`, in {stands_at(item)}.", place_of(item))
    draft.cut(MAX_LISTED, len(found), what=f"definitions of `{query.name}`")


def _members(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    owners = [item for item in named(query, code) if item.row.kind in CLASSES]
    for owner in owners[:3]:
        rows = [row for row in _children(owner) if _wanted(row, query.members)]
        what = _counted(rows) if rows else f"no {query.members} in the index"
        draft.say(f"`{plain_name(owner.row.qualname)}` ({owner.row.kind}, {stands_at(owner)}) has {what}.", place_of(owner))
        for row in rows[:MAX_LISTED]:
            item = Found(owner.code, row)
            draft.say(f"`{row.name}`, {row.kind} at {lines_of(row)}: `{row.signature or row.name}`", place_of(item))
        draft.cut(MAX_LISTED, len(rows), what=f"{query.members} of `{plain_name(owner.row.qualname)}`")
    draft.cut(3, len(owners), what=f"definitions of `{query.name}`")


def _contents(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
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
        others = ", ".join(path_of(item, path) for _, item, path in places[_MOST_PLACES:][:5])
        draft.warnings.append(
            f"`{display(query.name)}` can also mean {several(len(places) - _MOST_PLACES, 'place')} more: {others}."
        )


def _file_contents(code: Code, path: str, draft: Draft) -> None:
    number = code.generation.files.number(path)
    lines = 0 if number is None else int(code.generation.files.lines[number])
    rows = list(_outermost(code.generation.symbols.in_file(path)))
    what = f"defines {_counted(rows)}" if rows else "defines nothing that the index knows by name"
    draft.say(f"{path_of(code, path)} ({several(lines, 'line')}) {what}.", _head_of(code, path))
    for row in rows[:MAX_LISTED]:
        draft.say(f"`{plain_name(row.qualname)}`, {row.kind} at {lines_of(row)}.", place_of(Found(code, row)))
    draft.cut(MAX_LISTED, len(rows), what=f"definitions in {display(path)}")


def _folder_contents(code: Code, folder: str, draft: Draft) -> None:
    inside = [path for path in code.generation.files.by_path if path.startswith(folder)]
    own = [path for path in inside if "/" not in path[len(folder) :]]
    below = sorted({path[len(folder) :].partition("/")[0] for path in inside if "/" in path[len(folder) :]})
    parts = [several(len(own), "file")] if own else []
    parts += [f"{several(len(below), 'folder')} ({', '.join(display(name) + '/' for name in below[:MAX_LISTED])})"] * bool(
        below
    )
    draft.say(f"{path_of(code, folder)} holds {' and '.join(parts)}.", *(_head_of(code, path) for path in inside[:1]))
    for path in own[:MAX_LISTED]:
        rows = [row for row in _outermost(code.generation.symbols.in_file(path)) if row.kind != "heading"]
        rows = [row for row in rows if row.kind in DEFINITIONS and not row.name.startswith("_")] or rows
        named = ", ".join(f"`{plain_name(row.qualname)}`" for row in rows[:8]) + (
            f" and {len(rows) - 8} more" if len(rows) > 8 else ""
        )
        what = f"defines {named}" if rows else "defines nothing that the index knows by name"
        draft.say(f"{display(path[len(folder) :])} {what}.", _head_of(code, path))
    draft.cut(MAX_LISTED, len(own), what=f"files of {display(folder)}")
    draft.cut(MAX_LISTED, len(below), what=f"folders of {display(folder)}")


def _places_called(name: str, generation: Generation) -> dict[str, int]:
    """Return the files, and the folders with a slash at their end, that *name* can mean, read as exactly as may be.

    With each comes the number of the file, or of the folder's first one.
    """
    wanted = name.removeprefix("./").strip("/")
    paths = generation.files.by_path
    number = generation.files.number(wanted)
    if number is not None:
        return {wanted: number}
    first = next((number for path, number in paths.items() if path.startswith(f"{wanted}/")), None)
    if first is not None:
        return {f"{wanted}/": first}
    if ends := {path: number for path, number in paths.items() if path.endswith(f"/{wanted}")}:
        return ends
    module = re.sub(r"::|\.", "/", wanted)
    found: dict[str, int] = {}
    for path, number in paths.items():
        if "." in path and f"/{path.rpartition('.')[0]}".endswith(f"/{module}"):
            found[path] = number
        place = f"/{path}".find(f"/{module}/")
        if place >= 0:
            found.setdefault(path[: place + len(module) + 1], number)
    return found


def _farness(generation: Generation, path: str, first: int) -> tuple[bool, int, str]:
    """Return what sorts other code before tests, and what is near the top before what is deep down."""
    return is_aside(generation, first), path.rstrip("/").count("/"), path


def _children(owner: Found) -> list[SymbolRow]:
    return [row for row in owner.code.generation.symbols.in_file(owner.row.path) if row.parent == owner.row.qualname]


def _outermost(rows: Iterable[SymbolRow]) -> Iterator[SymbolRow]:
    for row in rows:
        if not row.parent:
            yield row


def _wanted(row: SymbolRow, members: str) -> bool:
    return members == "members" or (row.kind in CALLABLES) == (members == "methods")


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
    parts = [several(count, kind) for kind, count in kinds.items()]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


_SAYERS: Final[Mapping[Intent, Callable[[StructureQuery, Sequence[Code], Draft], None]]] = {
    "where": _definitions,
    "contents": _contents_first,
    "members": _members_first,
    "signature": _signatures,
    "callers": say_callers,
    "callees": say_callees,
    "impact": say_impact,
    "references": say_uses,
    "path": say_way,
}
