"""From a goal to its parts, and from these to what each junior is to do: by words and names alone, the same each time."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from appliance.codeintel.questions import Intent, StructureQuery, classify
from appliance.codeintel.support import identifiers

MOST_PARTS: Final = 6
MOST_SYMBOLS: Final = 2  # of a goal of which more is told than was asked
_ASKS: Final = (
    "who|what|where|how|why|when|which|whose|does|do|is|are|can"
    "|explain|describe|find|show|list|trace|tell|summari[sz]e|compare"
)
_ENDS: Final = re.compile(r"(?<=[?!.;])\s+")
_JOINS: Final = re.compile(
    rf",?\s+(?:and|then|also|and then|and also)\s+(?=(?:{_ASKS})\b)|,\s+(?=(?:{_ASKS})\b)", re.IGNORECASE
)
_PRONOUN: Final = re.compile(r"\b(?:(?:this|that) (?:function|method|class)|it|this|that)\b", re.IGNORECASE)
_ASKING: Final = re.compile(rf"\b(?:{_ASKS})\b", re.IGNORECASE)
_LEADING_WORDS: Final = 6  # at most, of what only leads to a question
_LONGEST_QUESTION: Final = 2_000
# What each kind of task wants to know of a name beside where it is: what the goal asks for, and what helps.
_ASKED: Final[Mapping[str, tuple[Intent, ...]]] = {
    "callers": ("callers",), "callees": ("callees",), "impact": ("impact",), "history": ("history",)
}  # fmt: skip
_HELPS: Final[Mapping[str, tuple[Intent, ...]]] = {
    "overview": ("members",), "review": ("impact",), "test": ("callers",), "edit": ("callers", "impact"),
}  # fmt: skip
_REACHES: Final = re.compile(
    r"\bchang(?:e|es|ing)\b.*\b(?:reach|affect|break)|\b(?:reach|affect|break)\w*\b.*\bchang", re.IGNORECASE
)
_OF_ALL: Final[frozenset[Intent]] = frozenset({"where", "contents"})  # asked of every definition of a name
_OF_ONE: Final[frozenset[Intent]] = frozenset({"history", "members"})
_BESIDE: Final[tuple[Intent, ...]] = ("where", "callers", "history")

Junior = Literal["researcher", "tracer", "historian", "reviewer"]


@dataclass(frozen=True, slots=True)
class Part:
    """One question of a goal. ``query`` is what it asks of the graph, None where it wants prose."""

    text: str
    query: StructureQuery | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """One question of structure to be asked. ``asked``: the goal asks it; else it is told beside that, in short."""

    intent: Intent
    name: str
    part: int
    other: str = ""
    members: str = "members"
    asked: bool = True

    def same(self, other: "Look") -> bool:
        """Return whether it asks the same."""
        return (self.intent, self.name, self.other) == (other.intent, other.name, other.other)


@dataclass(frozen=True, slots=True)
class Task:
    """What one junior is commissioned with: looks at the structure, or one question to research."""

    junior: Junior
    objective: str
    looks: tuple[Look, ...] = ()
    question: str = ""
    part: int = 0  # of the question
    symbol: str = ""  # what the question names, where the index knows it


def parts_of(goal: str) -> tuple[list[Part], int]:
    """Return the questions of *goal*, and how many more there are than a mission takes on.

    ``it`` and ``this`` in a question without a name of its own mean the last name before.
    """
    found: list[Part] = []
    last = ""
    for text in _merged(piece for sentence in _ENDS.split(goal) for piece in _JOINS.split(sentence)):
        part = _part(text)
        if not part.names and last and _PRONOUN.search(text):
            part = _part(_PRONOUN.sub(f"`{last}`", text, count=1))
        last = part.names[0] if part.names else last
        found.append(part)
    return found[:MOST_PARTS], max(0, len(found) - MOST_PARTS)


def names_of(parts: Sequence[Part]) -> list[str]:
    """Return what the parts name, in order, each once."""
    return list(dict.fromkeys(name for part in parts for name in part.names))


def is_read(part: Part, kind: str) -> bool:
    """Return whether *part*, of that *kind* of task, wants lines that are read: no name in it tells its answer exactly."""
    return part.query is None and not (part.names and (kind in _ASKED or _REACHES.search(part.text)))


def tasks_of(parts: Sequence[Part], *, types: Sequence[str], known: Mapping[str, str], first: int = 0) -> list[Task]:
    """Return what is to be done for *parts*, numbered from *first*, each of its type of task.

    *known* gives what is meant by each known name. What the graph can answer is the tracer's, what git can is the
    historian's, the rest is to be researched; and of the first names a little more is told than was asked: where they are,
    who calls them, who changed them. Where nothing says which of several definitions is meant, since none of the parts is
    read, the graph is asked of all of them.
    """
    tasks: list[Task] = []
    meant = known if any(map(is_read, parts, types)) else {}
    for number, (part, kind) in enumerate(zip(parts, types, strict=True), start=first):
        tasks += _for(part, kind, number, known, meant)
    done = [look for task in tasks for look in task.looks]
    more: list[Look] = []
    for name in [name for name in names_of(parts) if name in known][:MOST_SYMBOLS]:
        beside = [Look(intent, known[name], first + _part_with(name, parts), asked=False) for intent in _BESIDE]
        more += [look for look in beside if not any(_told(look, other, name) for other in done)]
    return _joined([*tasks, *_split(more, f"More of {', '.join(dict.fromkeys(f'`{look.name}`' for look in more))}")])


def again(question: str, names: Sequence[str]) -> str:
    """Return *question* as bare words, for a second look where the first found little."""
    words = [word for word in re.findall(r"\w+", question) if len(word) > 3 and not re.fullmatch(_ASKS, word, re.IGNORECASE)]
    return " ".join(dict.fromkeys([*names, *words])) or question


def _for(part: Part, kind: str, number: int, known: Mapping[str, str], meant: Mapping[str, str]) -> list[Task]:
    query = part.query
    if query is not None:
        one = {} if query.intent in _OF_ALL else known if query.intent in _OF_ONE else meant
        name = one.get(query.name, query.name)
        return _split([Look(query.intent, name, number, query.other, query.members)], part.text)
    mine = [known[name] for name in part.names if name in known][:MOST_SYMBOLS]
    kind = "impact" if _REACHES.search(part.text) else kind
    asked = [Look(intent, name, number) for name in mine for intent in _ASKED.get(kind, ())]
    looks = [*asked, *(Look("where", name, number, asked=kind == "locate") for name in mine)]
    looks += [Look(intent, name, number, asked=False) for name in mine for intent in _HELPS.get(kind, ())]
    if kind == "path" and len(mine) == MOST_SYMBOLS:
        looks.append(Look("path", mine[0], number, other=mine[1]))
    past = [Task("historian", part.text, question=part.text[:_LONGEST_QUESTION], part=number)]
    reading = () if asked else (research(part, number, known),)
    return [*_split(looks, part.text), *(past if kind == "history" and not mine else ()), *reading]


def research(part: Part, number: int, known: Mapping[str, str]) -> Task:
    """Return the task to gather what bears on *part*."""
    symbol = next((known[name] for name in part.names if name in known), "")
    return Task("researcher", part.text, question=part.text[:_LONGEST_QUESTION], part=number, symbol=symbol)


def _part_with(name: str, parts: Sequence[Part]) -> int:
    return next((number for number, part in enumerate(parts) if name in part.names), 0)


def _split(looks: Sequence[Look], objective: str) -> list[Task]:
    """Give the looks at history to the historian, the others to the tracer."""
    past = tuple(look for look in looks if look.intent == "history")
    rest = tuple(look for look in looks if look.intent != "history")
    each: list[tuple[Junior, tuple[Look, ...]]] = [("tracer", rest), ("historian", past)]
    return [Task(junior, objective, mine) for junior, mine in each if mine]


def _joined(tasks: Sequence[Task]) -> list[Task]:
    """Return *tasks*, those of one junior with looks as one: each is commissioned once, and asked nothing twice."""
    joined: list[Task] = []
    for task in tasks:
        at = next((n for n, other in enumerate(joined) if other.junior == task.junior and other.looks and task.looks), None)
        if at is None:
            joined.append(task)
            continue
        before = joined[at]
        fresh = tuple(look for look in task.looks if not any(look.same(other) for other in before.looks))
        objective = before.objective if task.objective in before.objective else f"{before.objective}; {task.objective}"
        joined[at] = replace(before, looks=before.looks + fresh, objective=objective)
    return joined


def _told(look: Look, other: Look, name: str) -> bool:
    return look.intent == other.intent and other.name in {look.name, name}


def _part(text: str) -> Part:
    query = classify(text)
    names = identifiers(text)
    if query is not None:
        names = list(dict.fromkeys([*_named(query), *names]))
    return Part(text, query, tuple(names))


def _named(query: StructureQuery) -> list[str]:
    return [name for name in (query.name, query.other) if name and "/" not in name]


def _merged(pieces: Iterable[str]) -> list[str]:
    """Return *pieces*, those too short to ask anything joined with what follows."""
    found: list[str] = []
    held = ""
    for piece in pieces:
        text = f"{held}, {piece.strip()}" if held else piece.strip()
        held = ""
        if _leads(text):
            held = text
        elif text:
            found.append(text)
    if held:
        found[-1:] = [f"{found[-1]} {held}"] if found else [held]
    return found


def _leads(text: str) -> bool:
    """Return whether *text* asks nothing by itself, and only leads to what follows."""
    short = len(text.split()) <= _LEADING_WORDS and not text.endswith((".", "?", "!", ";"))
    return short and not _ASKING.search(text) and not identifiers(text) and classify(text) is None
