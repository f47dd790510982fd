"""Which definition a name stands for: in its scope, through imports and re-exports, or as a member of what it is read of."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from appliance.codeintel.flow import UNKNOWN, Op, Term
from appliance.codeintel.resolve.classes import EMPTY
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.values import Class, Container, External, Function, Instance, Module, Package, Super, Value


class Named(NamedTuple):
    """A name of a scope that no function or class stands behind: a variable, a constant, a field."""

    scope: int
    name: str


Target = int | Named | Module
"""The scope of a function or class, a name of a scope, or a whole module."""

_DEEPEST: Final = 20  # re-exports behind one another
_MOST_KNOWN: Final = 30_000  # answers that are remembered: a large repository asks a million times
EXPORT: Final = "export "  # stands before the names of a module that others see
_WHOLE: Final = "="


class Bindings:
    """Looks names up. *defined* says whether the index has a definition of a name in a scope."""

    def __init__(self, values: Evaluator, defined: Callable[[int, str], bool]) -> None:
        self._values = values
        self._defined = defined
        self._known: dict[tuple[int, str], tuple[Target, ...]] = {}
        self._members: dict[tuple[Value, str], tuple[Target, ...]] = {}
        self._open: set[tuple[int, str]] = set()

    def named(self, scope: int, name: str) -> tuple[Target, ...]:
        """Return what *name* of *scope* stands for; nothing for what lies outside, or has no definition."""
        key = (scope, name)
        found = self._known.get(key)
        if found is None:
            if key in self._open or len(self._open) > _DEEPEST:
                return ()
            self._open.add(key)
            if len(self._known) + len(self._members) > _MOST_KNOWN:
                self._known.clear()
                self._members.clear()
            found = self._known[key] = tuple(dict.fromkeys(self._named(scope, name)))
            self._open.discard(key)
        return found

    def taken(self, file: int, name: str) -> tuple[Target, ...]:
        """Return what *name* of the module *file* stands for, seen from another."""
        if name == _WHOLE:
            return (Module(file),)
        scope, key = self._values.exported(file, name)
        return self.named(scope, key) or self._called(Module(file), name)

    def within(self, unit: Package, name: str) -> tuple[Target, ...]:
        """Return what *name* of *unit* stands for."""
        scopes = self._values.declaring(unit, name)
        return tuple(dict.fromkeys(target for scope in scopes for target in self.named(scope, name)))

    def member(self, holders: Iterable[Value], name: str) -> tuple[Target, ...]:
        """Return what *name* of any of *holders* stands for; nothing where that lies outside, or has no definition."""
        found: dict[Target, None] = {}
        for holder in holders:
            targets = self._members.get((holder, name))
            if targets is None:
                targets = self._members[holder, name] = self._of(holder, name)
            found.update(dict.fromkeys(targets))
        return tuple(found)

    def _named(self, scope: int, name: str) -> Iterator[Target]:
        file, one = self._values.scope_file[scope], self._values.scope(scope)
        if name not in one.names:
            if one.kind == "module" and (bringer := self._values.bringer(file, name)) is not None:
                yield from self.named(self._values.first_scope[bringer], name)
            return
        terms = list(self._parts(file, one.names[name]))
        own = [number for each in terms if (number := self._own(file, each, name)) is not None]
        yield from own
        exported = name.startswith(EXPORT)
        followed = [] if self._defined(scope, name) and not exported else self._all_followed(file, terms, name)
        yield from followed
        if self._defined(scope, name) and not own and not followed:
            yield Named(scope, name)

    def _all_followed(self, file: int, terms: Iterable[Term], name: str) -> list[Target]:
        return [target for each in terms for target in self._followed(file, each, name)]

    def _parts(self, file: int, term: int, depth: int = 3) -> Iterator[Term]:
        one = self._values.flows[file].terms[term]
        if one.op == Op.JOIN and depth:
            for each in one.items:
                yield from self._parts(file, each, depth - 1)
        elif one.op == Op.ELSE:
            yield from self._parts(file, one.a, depth)
        elif term != UNKNOWN:
            yield one

    def _own(self, file: int, term: Term, name: str) -> int | None:
        """Return the scope of the function or class that *term* is, if it was written down under this *name*."""
        if term.op != Op.DEF:
            return None
        scope = self._values.first_scope[file] + term.a
        called = self._values.scope(scope).name
        return scope if called in {_plain(name), name.removeprefix(EXPORT)} or name in {"export default", "new()"} else None

    def _followed(self, file: int, term: Term, name: str) -> Iterator[Target]:
        through = name.startswith(EXPORT)
        if term.op == Op.FROM:
            source = self._values.modules.find(term.text, importer=file)
            if isinstance(source, Module):
                found = self.taken(source.file, term.name)
                below = self._values.modules.below(source, term.name, importer=file)
                yield from found or ([below] if isinstance(below, Module) else [])
            elif isinstance(source, Package):
                below = self._values.modules.below(source, term.name, importer=file)
                yield from [below] if isinstance(below, Module) else []
        elif term.op == Op.DEF and through:
            yield self._values.first_scope[file] + term.a
        elif term.op == Op.IMPORT:
            source = self._values.modules.find(term.text, importer=file)
            yield from [source] if isinstance(source, Module) else []
        elif term.op == Op.ATTR and term.text == _plain(name):
            yield from self.member(self._values.of(file, term.a), term.text)
        elif term.op == Op.READ and through:
            yield from self.named(self._values.first_scope[file] + term.a, term.text)

    def _of(self, holder: Value, name: str) -> tuple[Target, ...]:
        match holder:
            case Module(file):
                return self.taken(file, name)
            case Class(scope) | Instance(scope) if self._values.scope(scope).kind == "class":
                return self._member(self._values.classes.order(scope), name)
            case Super(after, Instance(scope) | Class(scope)):
                order = self._values.classes.order(scope)
                return self._member(order[order.index(after) + 1 :] if after in order else (), name)
            case Container(kind="dict"):
                return tuple(self._written(holder, name)) or self._called(holder, name)
            case _:
                return self._called(holder, name)

    def _written(self, holder: Container, name: str) -> Iterator[Target]:
        """Yield what stood at *name* of an object where it was made."""
        for file, term in self._values.containers.written(holder, f"str:{name}"):
            if self._values.flows[file].scopes[0].names.get(name) == term:
                yield from self.named(self._values.first_scope[file], name)
            else:
                yield from self._followed(file, self._values.flows[file].terms[term], f"{EXPORT}{name}")

    def _member(self, order: Iterable[int | External], name: str) -> tuple[Target, ...]:
        for each in order:
            if isinstance(each, External):
                if each.path not in EMPTY:
                    return ()  # it may be a member of what lies outside
            elif name in self._values.scope(each).names:
                return self.named(each, name)
        return ()

    def _called(self, holder: Value, name: str) -> tuple[Target, ...]:
        """Return the functions and classes that *name* of *holder* can be, and that are called so."""
        found = (each for each in self._values.attribute(holder, name) if isinstance(each, Function | Class))
        return tuple(sorted(each.scope for each in found if self._values.scope(each.scope).name == name))


def _plain(name: str) -> str:
    return name.partition("@")[0].removesuffix("()")  # without the block that it is of, and the mark of a method
