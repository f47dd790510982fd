"""What comes out: each call with its place, how it is known and how surely, and what could not be told."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from appliance.codeintel.flow import RECEIVER, SETTER, UNKNOWN, Op, Site, SiteKind, Term
from appliance.codeintel.resolve.classes import PROPERTIES
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.values import Class, External, Function, Instance, Method, Value

How = Literal["name", "self", "type", "value", "protocol", "candidate"]

_SURE: Final[dict[How, float]] = {"name": 1.0, "self": 0.95, "type": 0.9, "value": 0.8, "protocol": 0.8}
_MOST_CANDIDATES: Final = 3  # methods of one name; more say nothing of any
_CANDIDATE: Final = 0.4
_INVOKED: Final = "invoke()"  # what calls a value in Kotlin
_SILENT: Final = frozenset({"interface", "implicit"})
_MANY: Final = 12  # methods behind one name of an interface


class Edge(NamedTuple):
    """A call from scope ``caller`` to scope ``target``, or where that is None to ``external``, something outside.

    ``how``: the function is called by its *name*, found through *self*, through the *type* of what it is called on, or as a
    *value* that was handed around; it is called by the language's *protocol* (a loop, ``with``, a property); or it is only a
    *candidate*: the one of very few that have this name, where nothing is known of what it is called on.
    """

    file: int
    caller: int
    target: int | None
    external: str
    kind: SiteKind
    line: int
    how: How
    confidence: float


class Unresolved(NamedTuple):
    """A call of ``name`` of which nothing is known."""

    file: int
    caller: int
    name: str
    line: int


class Edges:
    """Reads the edges off a solver that has learnt all it can."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self._values = solver.values
        self._properties: set[str] = set()
        self._methods: dict[str, list[int]] = defaultdict(list)
        common = self._values.words.common
        for number in range(len(self._values.scope_file)):
            scope = self._values.scope(number)
            if not PROPERTIES.isdisjoint(scope.marks):
                self._properties.add(self._values.property_name(scope))
            if scope.kind == "function" and self._is_method(number) and scope.name not in common:
                alike = self._methods[scope.name]
                alike += [number] if len(alike) <= _MOST_CANDIDATES else []

    def _is_method(self, number: int) -> bool:
        params = self._values.scope(number).params
        in_object = bool(params) and params[0].name == RECEIVER and params[0].default != UNKNOWN
        return in_object or self._values.owner(number) is not None

    def of(self, file: int) -> Iterator[Edge | Unresolved]:
        """Yield every call in *file*, once for each place and target, and after that what is read of properties."""
        first = self._values.first_scope[file]
        for site in self._solver.flows[file].sites:
            called = list(self._solver.functions(file, site))
            found = self._targets(called)
            targets = dict.fromkeys(found if site.kind != "get" else (each for each in found if each[0] is not None))
            handed = dict.fromkeys(each for each in self._targets(self._solver.handed(file, site)) if each not in targets)
            if targets:
                yield from self._known(file, site, targets, self._how(file, site))
            if handed:
                yield from self._known(file, site, handed, "value")
            elif not targets and site.kind == "call" and not self._is_silent(called, file, site):
                yield from self._unknown(file, first + site.scope, site)
        yield from self._read(file)

    def _is_silent(self, called: Sequence[Value], file: int, site: Site) -> bool:
        """Return whether *site* calls what has no code of its own: what makes an interface, or what nobody wrote."""
        if self._values.converts(file, site):
            return True
        marks = [self._values.scope(each.scope).marks for each in called if isinstance(each, Class | Function)]
        return bool(called) and len(marks) == len(called) and not any(map(_SILENT.isdisjoint, marks))

    def _known(self, file: int, site: Site, targets: Collection[tuple[int | None, str]], how: How) -> Iterator[Edge]:
        sure = round(_SURE[how] / _shared(sum(target is not None for target, _ in targets)), 2)
        caller = self._values.first_scope[file] + site.scope
        for target, external in targets:
            yield Edge(file, caller, target, external, site.kind, site.line, how, sure)

    def _how(self, file: int, site: Site) -> How:
        if site.kind in {"iter", "with", "raise", "implied"}:
            return "protocol"
        terms = self._solver.flows[file].terms
        term = terms[site.function]
        while term.op == Op.ELSE:
            known = any(not isinstance(each, External) for each in self._values.of(file, term.a))
            term = terms[term.a if known else term.b]
        if term.op in {Op.DEF, Op.READ, Op.FROM, Op.BUILTIN}:
            return "name"
        if term.op != Op.ATTR:
            return "value"
        base = terms[term.a]
        if base.op in {Op.IMPORT, Op.FROM} or self._values.is_named(file, term.a):
            return "name"
        owner = self._values.owner(self._values.first_scope[file] + base.a) if base.op == Op.PARAM and base.b == 0 else None
        return "type" if owner is None else "self"

    def _unknown(self, file: int, caller: int, site: Site) -> Iterator[Edge | Unresolved]:
        terms = self._solver.flows[file].terms
        term = terms[site.function]
        while term.op == Op.ELSE:
            term = terms[term.a]
        if term.op != Op.ATTR:
            yield Unresolved(file, caller, self._spelled(file, term), site.line)
            return
        candidates = self._methods.get(term.text.removesuffix("()"), ()) if not self._values.of(file, term.a) else ()
        if not candidates or len(candidates) > _MOST_CANDIDATES:
            yield Unresolved(file, caller, self._spelled(file, term), site.line)
            return
        for target in candidates:
            sure = round(_CANDIDATE / len(candidates), 2)
            yield Edge(file, caller, target, "", "call", site.line, "candidate", sure)

    def _spelled(self, file: int, term: Term) -> str:
        if term.op == Op.PARAM:
            return self._values.scope(self._values.first_scope[file] + term.a).params[term.b].name
        if term.op == Op.ATTR and term.text == _INVOKED:
            return self._spelled(file, self._solver.flows[file].terms[term.a])
        return term.text.partition("@")[0].removeprefix(".").removesuffix("()")  # without the block that it is of

    def _read(self, file: int) -> Iterator[Edge]:
        flow = self._solver.flows[file]
        for read in flow.reads:
            if flow.terms.text(read.term).removeprefix(SETTER) not in self._properties:
                continue
            term = flow.terms[read.term]
            caller = self._values.first_scope[file] + read.scope
            found = self._values.union(self._values.getters(value, term.text) for value in self._values.of(file, term.a))
            targets = dict.fromkeys(each.scope for each in found if isinstance(each, Function))
            sure = round(_SURE["protocol"] / _shared(len(targets)), 2)
            yield from (Edge(file, caller, each, "", "get", read.line, "protocol", sure) for each in targets)

    def _targets(self, called: Iterable[Value]) -> Iterator[tuple[int | None, str]]:
        for value in called:
            match value:
                case Function(scope):
                    yield from self._function(scope)
                case Class(scope) if "interface" not in self._values.scope(scope).marks:
                    yield from self._constructors(scope)
                case Instance():
                    yield from ((e.scope, "") for e in self._values.attribute(value, "__call__") if isinstance(e, Function))
                case External(path):
                    yield None, path
                case Method():
                    if name := self._values.calls.name_of(value):
                        yield None, name
                case _:
                    pass

    def _function(self, scope: int) -> Iterator[tuple[int | None, str]]:
        """Yield the function *scope*; one of a type that is written down is not told, or outside if that has a name."""
        one = self._values.scope(scope)
        if "signature" not in one.marks:
            yield scope, ""
        elif "outside" in one.marks:
            yield None, one.name

    def _constructors(self, scope: int) -> Iterator[tuple[int | None, str]]:
        found = False
        for each in self._values.attribute(Instance(scope), self._values.words.constructor):
            if isinstance(each, Function):
                found = True
                yield each.scope, ""
            elif isinstance(each, External):  # of a base that stands outside
                yield None, each.path
        if not found:
            yield scope, ""


def _shared(targets: int) -> float:
    """Return by what a confidence is divided where one place can call so many *targets*."""
    return 1 if targets < 2 else 1.15 if targets < 5 else 1.5 if targets < _MANY else 3
