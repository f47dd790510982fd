"""Who calls a definition, and what it calls, from the graph: each call with its place, how it is known and how surely."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.base.paths import display
from appliance.codeintel.citations import Place
from appliance.codeintel.query.draft import (
    CALLABLES,
    CLASSES,
    MAX_LISTED,
    Code,
    Draft,
    Found,
    is_aside,
    named,
    place_of,
    plain_name,
    several,
    stands_at,
)  # fmt: skip
from appliance.codeintel.questions import StructureQuery
from appliance.codeintel.resolve.families import FOLLOWED
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import CallGraph, EdgeRow, GraphInfo
from appliance.codeintel.store.symbols import SymbolRow

_NO_CODE = frozenset({"text", "markdown"})
CALLING = CALLABLES | CLASSES | {"property", "macro"}
_MOST_DEFINITIONS = 3  # of one name of which the calls are listed
_WEAK = {"references": 1, "tests": 2}  # kinds of edges that stand beside stronger ones of the same use
_MOST_NAMED = 3  # files in one warning
_MOST_OUTSIDE = 8  # names in one sentence


@dataclass(frozen=True, slots=True)
class Call:
    """A call at ``line`` of ``path``. ``caller`` is None at the top level of the file, ``callee`` outside the repository."""

    code: Code
    path: str
    line: int
    caller: SymbolRow | None
    callee: SymbolRow | None
    name: str  # of the callee
    kind: str
    how: str
    confidence: float

    def place(self) -> Place:
        """Return the line of the call."""
        info, files = self.code.generation.info, self.code.generation.files
        number = files.number(self.path) or 0
        symbol = self.caller.qualname if self.caller else ""
        kind = self.caller.kind if self.caller else ""
        return Place(
            info.repo, self.code.repo_name, info.commit, self.path, files.blobs[number], self.line, self.line, symbol, kind
        )


def asked_of(query: StructureQuery, code: Sequence[Code]) -> list[Found]:
    """Return the definitions called what *query* names that can call or be called."""
    return defined([item for item in named(query, code) if item.row.kind in CALLING])


def defined(found: Sequence[Found]) -> list[Found]:
    """Return *found* with what defines it in the place of what only declares it, each once; a type has its constructors."""
    whole: dict[tuple[str, int], Found] = {}
    for item in found:
        rows = item.code.generation.symbols.rows(_defining(item, [item.row.id])) or [item.row]
        for row in rows:
            whole.setdefault((item.code.generation.info.repo, row.id), Found(item.code, row))
    makers = {(repo, maker) for (repo, _), item in whole.items() for maker in _with_constructor(item)[1:]}
    return [item for key, item in whole.items() if key not in makers]


def _defining(found: Found, ids: Sequence[int]) -> list[int]:
    """Return what defines any of *ids* elsewhere."""
    graph = found.code.generation.graph
    return graph.defining(ids) if graph is not None else []


def callers(found: Found, graph: CallGraph) -> list[Call]:
    """Return the calls of a definition; of a class those that make one. Code before tests, sure before unsure, by place."""
    return _sorted(_calls(found.code, graph.callers(_with_constructor(found))))


def uses(found: Found, graph: CallGraph) -> list[Call]:
    """Return the uses of a definition, of whatever kind, in the order of `callers`.

    A line that calls something also reads its name, and a test that calls it is one of it: that is one use.
    """
    edges = sorted(graph.uses(_with_constructor(found)), key=lambda edge: _WEAK.get(edge.kind, 0))
    told: set[tuple[int, int]] = set()
    kept: list[EdgeRow] = []
    for edge in edges:
        if edge.kind not in _WEAK or (edge.source, edge.line) not in told:
            kept.append(edge)
        told.add((edge.source, edge.line))
    return _sorted(_calls(found.code, kept))


def callees(found: Found, graph: CallGraph) -> list[Call]:
    """Return the calls that stand in a definition, those that lead out of the repository last."""
    sources = with_inner(found)
    inside = _without_overrides(_sorted(_calls(found.code, graph.callees(sources))), found)
    outside = [
        replace(call_of(found.code, EdgeRow(-1, row.source, row.line, row.kind, "name", 1.0)), name=row.name)
        for row in graph.outside(sources)
    ]
    return [*inside, *outside]


def _without_overrides(calls: Sequence[Call], found: Found) -> list[Call]:
    """Return *calls* of *found* without those that reach what a test puts in the place of something that they reach, too."""
    generation = found.code.generation
    if is_aside(generation, found.row.file):
        return list(calls)
    proper = {(each.line, each.callee.name) for each in calls if each.callee and not is_aside(generation, each.callee.file)}
    return [
        each
        for each in calls
        if each.callee is None or not is_aside(generation, each.callee.file) or (each.line, each.callee.name) not in proper
    ]


def unresolved(found: Found, graph: CallGraph) -> int:
    """Return how many calls in a definition could not be told."""
    return graph.unresolved(with_inner(found))


def unfollowed(generation: Generation) -> list[str]:
    """Return what of *generation* is not followed, or only in part."""
    said = []
    if languages := sorted(set(generation.info.languages) - {*FOLLOWED, *_NO_CODE}):
        said.append(f"calls are not followed in {', '.join(languages)} yet.")
    if generation.graph is None:
        return ["its calls are still being followed.", *said]
    return [*said, *_shortfalls(generation, generation.graph.info)]


def _shortfalls(generation: Generation, info: GraphInfo) -> list[str]:
    """Return what a graph lacks of the languages that are followed, and the first of the files that could not be read."""
    said = []
    if count := generation.info.problems:
        named = ", ".join(map(display, generation.problems(limit=_MOST_NAMED)))
        said.append(f"{several(count, 'file')} could not be followed, their syntax cannot be used: {named}{_more(count)}.")
    if not info.changed and (count := info.skipped and info.skipped - _unusable(generation)) > 0:
        said.append(f"{several(count, 'file')} could not be followed: their parser was stopped, or they were gone.")
    if count := generation.info.left_out.get("unreadable", 0):
        named = ", ".join(display(each.path) for each in generation.left_out(reason="unreadable", limit=_MOST_NAMED))
        said.append(f"{several(count, 'file')} could not be read: {named}{_more(count)}.")
    if info.changed:
        said.append(f"{several(info.changed, 'file')} changed since its graph was made: their calls are not in it yet.")
    if info.cut:
        said.append(f"{several(info.cut, 'file')} could be followed in part only.")
    too_much = "that takes more memory than index.graph_memory allows."
    said += [f"calls in {language} are not followed: {too_much}" for language in info.refused]
    if not info.settled:
        said.append("there was more to learn when its graph was made: calls may be missing.")
    return said


def _unusable(generation: Generation) -> int:
    """Return of how many files, in languages that are followed, the syntax could not be used."""
    files = generation.files
    languages = (files.languages[files.by_path[path]] for path in generation.problems(limit=generation.info.problems))
    return sum(language in FOLLOWED for language in languages)


def _more(count: int) -> str:
    return f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""


def say_callers(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    """Put the answer to who calls what *query* names into *draft*."""
    for item in following(query, code, draft):
        graph = item.code.generation.graph
        if graph is None:
            continue
        calls = callers(item, graph)
        by = list(_grouped(calls))
        head = f"`{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"
        if not calls:
            draft.say(f"{head} is called by nothing that could be followed.", place_of(item))
        else:
            draft.say(f"{head} is called at {several(len(calls), 'place')} by {several(len(by), 'caller')}.", place_of(item))
        for group in by[:MAX_LISTED]:
            draft.say(_calling(group), *(call.place() for call in group[:3]))
        draft.cut(MAX_LISTED, len(by), what=f"callers of `{plain_name(item.row.qualname)}`")
        if lost := graph.unresolved_named(item.row.name):
            draft.warnings.append(f"{several(lost, 'call')} of something named `{item.row.name}` could not be told.")


def say_callees(query: StructureQuery, code: Sequence[Code], draft: Draft) -> None:
    """Put the answer to what is called by what *query* names into *draft*."""
    for item in following(query, code, draft):
        graph = item.code.generation.graph
        if graph is None:
            continue
        calls = callees(item, graph)
        inside = [call for call in calls if call.callee is not None]
        names = dict.fromkeys(call.name.removeprefix("builtins.") for call in calls if call.callee is None)
        outside = sorted(names, key=lambda name: f"builtins.{name}" in {call.name for call in calls})
        head = f"`{plain_name(item.row.qualname)}` ({item.row.kind}, {stands_at(item)})"
        distinct = list(dict.fromkeys(call.callee.id for call in inside if call.callee))
        what = f"{several(len(distinct), 'definition')} of this repository and {several(len(outside), 'thing')} outside"
        draft.say(f"{head} calls {what}.", place_of(item))
        for number in distinct[:MAX_LISTED]:
            group = [call for call in inside if call.callee and call.callee.id == number]
            draft.say(_called(group), *(call.place() for call in group[:3]))
        draft.cut(MAX_LISTED, len(distinct), what=f"definitions called by `{plain_name(item.row.qualname)}`")
        if outside:
            draft.say(f"Outside it calls {', '.join(f'`{name}`' for name in outside[:_MOST_OUTSIDE])}.", place_of(item))
            draft.cut(_MOST_OUTSIDE, len(outside), what="names outside")
        if lost := unresolved(item, graph):
            draft.warnings.append(f"{several(lost, 'call')} in `{plain_name(item.row.qualname)}` could not be told.")


def following(query: StructureQuery, code: Sequence[Code], draft: Draft) -> Iterator[Found]:
    """Yield the definitions to speak of; say of the others, and of languages that are not followed, why not."""
    found = asked_of(query, code)
    draft.cut(_MOST_DEFINITIONS, len(found), what=f"definitions of `{query.name}`")
    for item in found[:_MOST_DEFINITIONS]:
        generation = item.code.generation
        language = generation.files.languages[item.row.file]
        head = f"`{plain_name(item.row.qualname)}` is defined in {stands_at(item)} ({item.row.kind})"
        if language not in FOLLOWED:
            draft.say(f"{head}; calls are not followed in {language} yet.", place_of(item))
        elif generation.graph is None:
            draft.say(f"{head}; its calls are still being followed, ask again in a moment.", place_of(item))
        else:
            draft.warnings += [f"{item.code.repo_name}: {what}" for what in _shortfalls(generation, generation.graph.info)]
            yield item
    draft.warnings = list(dict.fromkeys(draft.warnings))


def _with_constructor(found: Found) -> list[int]:
    if found.row.kind not in CLASSES:
        return [found.row.id]
    makers = found.code.generation.symbols.makers(found.row)
    return [found.row.id, *makers, *_defining(found, makers)]


def with_inner(found: Found) -> list[int]:
    """Return a definition and what is defined in it: a class calls what its methods call."""
    inner = found.code.generation.symbols.inside(found.row)
    return [found.row.id, *inner, *(_defining(found, inner) if found.row.kind in CLASSES else ())]


def _calls(code: Code, rows: Sequence[EdgeRow]) -> list[Call]:
    ids = {number for row in rows for number in (row.source, row.target) if number >= 0}
    known = {row.id: row for row in code.generation.symbols.rows(sorted(ids))}
    return [call_of(code, row, known) for row in rows]


def call_of(code: Code, row: EdgeRow, known: Mapping[int, SymbolRow] | None = None) -> Call:
    """Return the edge *row* with what stands at its ends: *known* are the symbols among these, if they were looked up."""
    symbols = known if known is not None else {each.id: each for each in code.generation.symbols.rows(_real(row))}
    caller, callee = symbols.get(row.source), symbols.get(row.target)
    paths = code.generation.files.paths
    path = caller.path if caller else paths[-1 - row.source]
    name = callee.qualname if callee else paths[-1 - row.target]
    return Call(code, path, row.line, caller, callee, name, row.kind, row.how, row.confidence)


def _real(row: EdgeRow) -> list[int]:
    return sorted({number for number in (row.source, row.target) if number >= 0})


def _sorted(calls: list[Call]) -> list[Call]:
    def key(call: Call) -> tuple[bool, bool, str, int]:
        files = call.code.generation.files
        return call.how == "candidate", is_aside(call.code.generation, files.number(call.path) or 0), call.path, call.line

    return sorted(calls, key=key)


def _grouped(calls: list[Call]) -> Iterable[list[Call]]:
    """Return the calls of each caller together, sure ones apart from candidates."""
    groups: dict[tuple[bool, str, int], list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.how == "candidate", call.path, call.caller.id if call.caller else -1].append(call)
    return groups.values()


def _calling(group: list[Call]) -> str:
    first = group[0]
    where = f"{first.code.label}{display(first.path)}:{_lines(group)}"
    verb = "may call it (known by its name alone)" if first.how == "candidate" else "calls it"
    if first.caller is None:
        return f"The top level of {display(first.path)} {verb}, at {where}."
    return f"`{plain_name(first.caller.qualname)}` {verb} at {where}."


def _called(group: list[Call]) -> str:
    first = group[0]
    name = plain_name(first.callee.qualname) if first.callee else first.name
    verb = "may call" if first.how == "candidate" else "calls"
    at = f"{first.code.label}{display(first.callee.path)}:{first.callee.start_line}" if first.callee else ""
    return f"It {verb} `{name}` ({at}) at {'line' if len({call.line for call in group}) == 1 else 'lines'} {_lines(group)}."


def _lines(group: list[Call]) -> str:
    lines = list(dict.fromkeys(call.line for call in group))
    return ", ".join(map(str, lines[:5])) + (f" and {len(lines) - 5} more" if len(lines) > 5 else "")
