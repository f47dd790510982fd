"""What a front end has found so far: terms, each once, scopes with what their names hold, sites and stores."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from appliance.codeintel.flow import (
    REST,
    UNKNOWN,
    Flow,
    FlowScope,
    Op,
    Param,
    Read,
    Reads,
    Row,
    ScopeKind,
    Site,
    SiteKind,
    Sites,
    Store,
    Terms,
    Uses,
)

_PLACE: Final = re.compile("[%{]")
AROUND: Final = 1  # a name is one of the scopes around, or else one of the class that reads it before it has it
OUTSIDE: Final = 2  # a name is one of the scopes around, or else of the language: the class does not have it yet
_MOST_JOINED = 64  # a variable that may hold more things than that tells nobody anything


@dataclass(slots=True)
class OpenScope:
    """A scope on its way to a `FlowScope`. ``bound`` is everything that a name was ever bound to."""

    kind: ScopeKind
    name: str
    parent: int
    line: int
    params: tuple[Param, ...] = ()
    bound: dict[str, list[int]] = field(default_factory=dict)
    shared: dict[str, list[int]] = field(default_factory=dict)  # what functions within bind by `global` or `nonlocal`
    final: dict[str, int] = field(default_factory=dict)  # of a module or class: names at its end
    elsewhere: dict[str, int] = field(default_factory=dict)  # names that `global` or `nonlocal` gives to another scope
    results: list[int] = field(default_factory=list)
    yields: list[int] = field(default_factory=list)
    type: int = UNKNOWN
    bases: tuple[int, ...] = ()
    marks: tuple[str, ...] = ()
    promises: tuple[int, ...] = ()
    generator: bool = False
    lambdas: int = 0


class Builder:
    """Collects the flow of one blob."""

    def __init__(self) -> None:
        self._rows: list[Row] = [(Op.UNKNOWN, 0, 0, "", "", ())]
        self._known: dict[Row, int] = {self._rows[0]: UNKNOWN}
        self.scopes: list[OpenScope] = []
        self.sites: list[Site] = []
        self.stores: list[Store] = []
        self.reads: list[Read] = []
        self.stars: list[str] = []
        self._uses: list[tuple[int, int, int | None, str, int]] = []
        self.cut = False

    def term(
        self, op: Op, a: int = 0, b: int = 0, text: str = "", name: str = "", items: tuple[int, ...] = ()
    ) -> int:  # fmt: skip
        """Return the number of this term."""
        row = (op, a, b, text, name, items)
        number = self._known.get(row)
        if number is None:
            number = self._known[row] = len(self._rows)
            self._rows.append(row)
        return number

    def join(self, terms: Iterable[int]) -> int:
        """Return the term of what is any of *terms*."""
        distinct = tuple(dict.fromkeys(term for term in terms if term))[:_MOST_JOINED]
        if len(distinct) < 2:
            return distinct[0] if distinct else UNKNOWN
        return self.term(Op.JOIN, items=distinct)

    def loose(self) -> int:
        """Return a new term that `tie` says the meaning of later, as a loop needs it."""
        self._rows.append((Op.JOIN, 0, 0, "", "", ()))
        return len(self._rows) - 1

    def tie(self, term: int, terms: Iterable[int]) -> None:
        """Let the loose *term* be any of *terms*."""
        distinct = tuple(dict.fromkeys(each for each in terms if each not in {UNKNOWN, term}))[:_MOST_JOINED]
        self._rows[term] = (Op.JOIN, 0, 0, "", "", distinct)

    def is_text(self, term: int) -> bool:
        """Return whether *term* is a string's."""
        op, _, _, text, _, _ = self._rows[term]
        return op == Op.CONST and text.lower().startswith("str")

    def value(self, term: int) -> str:
        """Return the string that *term* is, or how it starts, as far as it is known."""
        _, _, _, text, _, _ = self._rows[term]
        return text.partition(":")[2].removesuffix(REST)

    def started(self, text: str) -> int:
        """Return the term of a string that starts with *text*, up to what is put in there; only names are kept."""
        start = _PLACE.split(text, 1)[0]
        return self.term(Op.CONST, text=f"str:{start}{REST}" if start.isidentifier() else "str")

    def member(self, term: int) -> tuple[int, str]:
        """Return of which term *term* is which attribute, (UNKNOWN, "") if it is none."""
        op, of, _, name, _, _ = self._rows[term]
        return (of, name) if op == Op.ATTR else (UNKNOWN, "")

    def is_constant(self, term: int) -> bool:
        """Return whether *term* is a literal's, or nothing."""
        return self._rows[term][0] in {Op.CONST, Op.UNKNOWN}

    def shown(self, term: int) -> int:
        """Return how many items *term* has, if it is a list or tuple as it was written down, or 0."""
        op, _, _, kind, _, items = self._rows[term]
        fixed = op == Op.MAKE and kind in {"list", "tuple"} and UNKNOWN not in items[::2]
        return len(items) // 2 if fixed else 0

    def item(self, term: int, place: int) -> int:
        """Return the term at *place* of such a list or tuple, or UNKNOWN."""
        return self._rows[term][5][2 * place + 1] if 0 <= place < self.shown(term) else UNKNOWN

    def entries(self, term: int) -> dict[str, int]:
        """Return what the constant keys of a dictionary hold, as it was written down."""
        op, _, _, kind, _, items = self._rows[term]
        keys = [self._rows[key] for key in items[::2]] if op == Op.MAKE and kind == "dict" else []
        return {row[3]: value for row, value in zip(keys, items[1::2], strict=False) if row[0] == Op.CONST}

    def site(self, kind: SiteKind, scope: int, function: int, line: int, arguments: Iterable[tuple[str, int]] = ()) -> int:
        """Note that *function* is called in *scope*, and return the site's number."""
        self.sites.append(Site(kind, scope, function, line, tuple(arguments)))
        return len(self.sites) - 1

    def use(self, scope: int, name: str, line: int, *, of: int | None = None, early: int = 0) -> None:
        """Note that *name* is read in *scope*: it is one of scope *of*, or of the first one around that binds it.

        *early*: `AROUND` or `OUTSIDE`, if *scope* is a class that has not bound it yet.
        """
        self._uses.append((scope, early, of, name, line))

    def bind(self, scope: int, name: str, term: int, *, from_within: bool = False) -> None:
        """Note that *name* of *scope* can hold *term*; *from_within*: a function that stands in the scope binds it."""
        self.scopes[scope].bound.setdefault(name, []).append(term)
        if from_within:
            self.scopes[scope].shared.setdefault(name, []).append(term)

    def finish(self) -> Flow:
        """Return everything, with each name that is read looked up in the scopes around."""
        terms = [self._placed(row) for row in self._rows]
        names = [self._names(number) for number in range(len(self.scopes))]  # makes terms of its own
        terms += [self._placed(row) for row in self._rows[len(terms) :]]
        scopes = tuple(self._closed(scope, held) for scope, held in zip(self.scopes, names, strict=True))
        terms += [self._placed(row) for row in self._rows[len(terms) :]]
        return Flow(
            Terms.of(terms),
            scopes,
            Sites.of(self.sites),
            tuple(self.stores),
            Reads.of(self.reads),
            tuple(self.stars),
            self.cut,
            uses=Uses.of(self._told()),
        )

    def _told(self) -> Iterator[tuple[int, int, str, int]]:
        """Yield the uses of names that a definition may stand behind: variables of functions are nobody else's."""
        holders: dict[tuple[int, str, int], int] = {}
        for scope, early, of, name, line in self._uses:
            holder = of if of is not None else holders.get((scope, name, early))
            if holder is None:
                holder = holders[scope, name, early] = self._belongs(scope, name, early)
            if holder >= 0 and (self.scopes[holder].kind in {"module", "class"} or self._defines(holder, name)):
                yield scope, holder, name, line

    def _defines(self, scope: int, name: str) -> bool:
        return any(self._rows[term][0] in {Op.DEF, Op.FROM, Op.IMPORT} for term in self.scopes[scope].bound.get(name, ()))

    def _names(self, number: int) -> dict[str, int]:
        scope = self.scopes[number]
        if scope.kind in {"module", "class"}:
            known = {name: scope.final.get(name) or self.join(bound) for name, bound in scope.bound.items()}
            return {name: self.join([term, *scope.shared.get(name, ())]) for name, term in known.items() if term}
        return {name: self.join(bound) for name, bound in scope.bound.items()}

    def _closed(self, scope: OpenScope, names: dict[str, int]) -> FlowScope:
        return FlowScope(
            scope.kind, scope.name, scope.parent, scope.line, scope.params, names, self.join(scope.results), scope.type,
            self.join(scope.yields), scope.bases, scope.marks, scope.generator, scope.promises,
        )  # fmt: skip

    def _placed(self, row: Row) -> Row:
        op, scope, early, name, _, _ = row
        if op != Op.READ:
            return row
        holder = self._belongs(scope, name, early)
        return (Op.BUILTIN, 0, 0, name, "", ()) if holder < 0 else (Op.READ, holder, 0, name, "", ())

    def _belongs(self, scope: int, name: str, early: int) -> int:
        """Return what `_holder` does, also for a class that does not have the *name* yet."""
        if not early:
            return self._holder(scope, name)
        around = self.scopes[scope].parent
        while self.scopes[around].kind == "class":
            around = self.scopes[around].parent
        found = self._holder(around, name)
        known = found >= 0 and name in self.scopes[found].bound
        return scope if early == AROUND and not known and name in self.scopes[scope].bound else found

    def _holder(self, scope: int, name: str) -> int:
        """Return the scope whose *name* is read in *scope*, or -1: a class's names are its own alone."""
        at = scope
        while at >= 0:
            one = self.scopes[at]
            if (one.kind != "class" or at == scope) and (name in one.bound or name in one.final):
                return at
            at = one.parent
        return 0 if self.stars else -1
