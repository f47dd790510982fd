"""What comes out beside the calls: what a file uses by name, imports, inherits from and replaces."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from appliance.codeintel.facts import Import
from appliance.codeintel.flow import Op
from appliance.codeintel.resolve.bindings import EXPORT, Bindings, Named, Target
from appliance.codeintel.resolve.edges import How
from appliance.codeintel.resolve.members import EXTENDS
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.values import Class, External, Function, Instance, Module, Package, Value

UseKind = Literal["references", "imports", "inherits", "implements", "overrides", "defines"]
_SURE: Final[dict[How, float]] = {"name": 1.0, "self": 0.95, "type": 0.9, "value": 0.8, "protocol": 0.8}
_CANDIDATE: Final = 0.4
_MOST_FILES: Final = 20  # of one unit
_ALL: Final = frozenset({"*", ""})


class Use(NamedTuple):
    """A use in scope ``source`` of ``target``, or where that is None of ``external``, something outside.

    ``how``: it is used by its *name*, found through *self*, through the *type* of what it is a member of, or is only a
    *candidate*: the one member of that name, where nothing is known of what it is read of.
    """

    source: int
    target: Target | None
    external: str
    kind: UseKind
    line: int
    how: How
    confidence: float


class Uses:
    """Reads the uses off a solver that has learnt all it can."""

    def __init__(self, solver: Solver, bindings: Bindings) -> None:
        self._flows = solver.flows
        self._values = solver.values
        self._bindings = bindings
        self._members: dict[str, int] = {}  # the one class that has a member of each name, -1 where there are several
        self._bound: set[str] = set()  # names that anything but a variable of a function has
        common = self._values.words.common
        self._of_unit: dict[str, list[int]] = defaultdict(list)
        for file, unit in enumerate(getattr(self._values.modules, "of", ())):
            self._of_unit[unit].append(file)
        for number in range(len(self._values.scope_file)):
            scope = self._values.scope(number)
            if scope.kind != "lambda":
                self._bound.add(scope.name)
            if scope.kind in {"module", "class"}:
                self._bound.update(name.removeprefix(EXPORT) for name in scope.names)
            for name in scope.names if scope.kind == "class" else ():
                if name not in common and not name.startswith("__"):
                    self._members[name] = number if self._members.get(name, number) == number else -1

    def of(self, file: int, imports: Sequence[Import]) -> Iterator[Use]:
        """Yield every use in *file* that is no call, once for each place and target; *imports* are the file's."""
        yield from self._imported(file, imports)
        yield from self._classes(file)
        yield from self._named(file)
        yield from self._read(file)

    def _named(self, file: int) -> Iterator[Use]:
        first = self._values.first_scope[file]
        for scope, holder, name, line in self._flows[file].uses:
            targets = self._bindings.named(first + holder, name)
            yield from self._known(first + scope, targets, "references", line, "name")

    def _read(self, file: int) -> Iterator[Use]:
        flow = self._flows[file]
        for read in flow.reads:
            term = flow.terms[read.term]
            source = self._values.first_scope[file] + read.scope
            if term.op == Op.FROM and term.name in self._bound:
                taken = self._bindings.member((self._values.modules.find(term.text, importer=file),), term.name)
                yield from self._known(source, taken, "references", read.line, "name")
            if term.op != Op.ATTR or term.text not in self._bound:
                continue
            holders = self._values.of(file, term.a)
            targets = self._bindings.member(holders, term.text)
            if targets:
                yield from self._known(source, targets, "references", read.line, self._how(file, term.a, holders))
            elif not holders:
                yield from self._candidate(source, term.text, read.line)

    def _candidate(self, source: int, name: str, line: int) -> Iterator[Use]:
        holder = self._members.get(name, -1)
        if holder >= 0:
            for target in self._bindings.named(holder, name)[:1]:
                yield Use(source, target, "", "references", line, "candidate", _CANDIDATE)

    def _how(self, file: int, base: int, holders: Collection[Value]) -> How:
        if any(isinstance(each, Module | Package) for each in holders):
            return "name"
        term = self._flows[file].terms[base]
        own = term.op == Op.PARAM and term.b == 0 and self._values.owner(self._values.first_scope[file] + term.a) is not None
        if own:
            return "self"
        return "type" if any(isinstance(each, Class | Instance) for each in holders) else "value"

    def _known(self, source: int, targets: Collection[Target], kind: UseKind, line: int, how: How) -> Iterator[Use]:
        sure = round(_SURE[how] / (1 if len(targets) < 2 else 1.15 if len(targets) < 5 else 1.5), 2)
        for target in targets:
            yield Use(source, target, "", kind, line, how, sure)

    def _imported(self, file: int, imports: Sequence[Import]) -> Iterator[Use]:
        source, modules = self._values.first_scope[file], self._values.modules
        for each in imports:
            found = modules.find(each.module, importer=file)
            names = [name for name in each.names if name not in _ALL]
            if isinstance(found, External):
                for path in [f"{each.module}.{name}" for name in names] or [each.module]:
                    yield Use(source, None, path, "imports", each.line, "name", 1.0)
                continue
            for module in self._files(found):
                yield Use(source, module, "", "imports", each.line, "name", 1.0)
            for name in names:
                yield from self._known(source, self._taken(file, found, name), "imports", each.line, "name")

    def _taken(self, file: int, module: Module | Package, name: str) -> tuple[Target, ...]:
        taken = self._bindings.taken(module.file, name) if isinstance(module, Module) else ()
        found = taken or (self._bindings.within(module, name) if isinstance(module, Package) else ())
        below = None if found else self._values.modules.below(module, name, importer=file)
        return (below,) if isinstance(below, Module) else found

    def _files(self, found: Module | Package) -> Sequence[Module]:
        """Return the files that an import reads: those of a unit, if they are not too many to say anything."""
        files = [found.file] if isinstance(found, Module) else self._of_unit.get(found.name, ())
        return [Module(file) for file in files] if len(files) <= _MOST_FILES else ()

    def _classes(self, file: int) -> Iterator[Use]:
        first = self._values.first_scope[file]
        for number, scope in enumerate(self._flows[file].scopes, start=first):
            if scope.kind == "class":
                bases = scope.bases[EXTENDS in scope.marks :]  # the first is what it adds to
                for whole in self._values.whole(number):
                    yield from self._based(file, whole, bases, "inherits")
                    yield from self._based(file, whole, scope.promises, "implements")
                    yield from self._replaced(file, number, whole, (*bases, *scope.promises))
                for source, target in self._values.promised(number):
                    yield Use(source, target, "", "implements", self._values.scope(source).line, "type", 0.9)
            for each in self._values.defined_by(number):
                if isinstance(each, Function):
                    yield Use(each.scope, number, "", "defines", self._values.scope(each.scope).line, "name", 1.0)

    def _based(self, file: int, number: int, bases: Sequence[int], kind: UseKind) -> Iterator[Use]:
        line, promised = self._values.scope(number).line, "interface" in self._values.scope(number).marks
        for value in dict.fromkeys(each for base in bases for each in sorted(self._values.of(file, base), key=repr)):
            if isinstance(value, Class):
                abstract = "interface" in self._values.scope(value.scope).marks and not promised
                yield Use(number, value.scope, "", "implements" if abstract else kind, line, "name", 1.0)
            elif isinstance(value, External):
                yield Use(number, None, value.path, kind, line, "name", 1.0)

    def _replaced(self, file: int, number: int, whole: int, named: Sequence[int]) -> Iterator[Use]:
        """Yield the members of bases of *whole*, and of what is *named*, that methods in the class *number* replace."""
        scope = self._values.scope(number)
        above = [each for each in self._values.classes.order(whole)[1:] if isinstance(each, int)]
        for base in named:
            above += [each.scope for each in self._values.of(file, base) if isinstance(each, Class)]
        for name in (each for each in scope.names if above and self._values.replaceable(number, each)):
            for method in self._methods(number, name):
                for target in self._first(above, name):
                    owner = target.scope if isinstance(target, Named) else self._owner(target)
                    promised = owner is not None and "interface" in self._values.scope(owner).marks
                    kind: UseKind = "implements" if promised else "overrides"
                    yield Use(method, target, "", kind, self._values.scope(method).line, "type", 0.95)

    def _methods(self, number: int, name: str) -> Iterator[int]:
        for each in self._bindings.named(number, name):
            if isinstance(each, int) and self._values.scope(each).kind != "class":
                yield each

    def _first(self, classes: Sequence[int], name: str) -> Collection[int | Named]:
        for each in classes:
            if name in self._values.scope(each).names:
                return [found for found in self._bindings.named(each, name) if not isinstance(found, Module)]
        return ()

    def _owner(self, scope: int) -> int | None:
        parent = self._values.scope(scope).parent
        return None if parent < 0 else self._values.first_scope[self._values.scope_file[scope]] + parent
