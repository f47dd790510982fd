"""What Rust's terms can be."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import UNKNOWN, Flow, Op, Site, Term
from appliance.codeintel.resolve.calls import Arguments
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.containers import ANY
from appliance.codeintel.resolve.crates import Crates
from appliance.codeintel.resolve.evaluate import some
from appliance.codeintel.resolve.typed import UNDERLYING, TypedEvaluator
from appliance.codeintel.resolve.typed_calls import TypedCalls, TypedContainers
from appliance.codeintel.resolve.values import (
    Class,
    Container,
    External,
    Function,
    Instance,
    Method,
    Package,
    Value,
)
from appliance.codeintel.resolve.words import RUST

_SAME: Final = frozenset({
    "clone", "borrow", "borrow_mut", "as_ref", "as_mut", "to_owned", "lock", "read", "write", "get_mut", "into",
    "unwrap", "expect", "deref", "deref_mut", "get", "await", "as_deref", "as_deref_mut", "into_inner", "try_borrow",
    "cloned", "by_ref", "upgrade", "into_iter", "iter", "get_or_init", "try_into", "load", "make_mut",
})  # fmt: skip
_HOLDS_THE_SAME: Final = (_SAME - {"unwrap", "expect"}) | frozenset({
    "iter_mut", "first", "last", "first_mut", "last_mut", "next", "next_back", "copied", "take", "rev", "skip",
    "filter", "chain", "collect", "drain", "values", "values_mut", "into_values", "ok", "peek", "entry", "find", "nth",
    "max_by_key", "min_by_key", "to_vec", "as_slice", "ok_or", "ok_or_else", "map_err", "context", "with_context", "or",
    "or_else", "peekable", "split_first", "split_last", "skip_while", "take_while", "step_by", "inspect", "cycle",
    "replace", "get_key_value", "chunks", "windows", "front", "back", "front_mut", "back_mut", "pop", "pop_front",
    "pop_back", "max_by", "min_by", "reduce", "retain", "into_boxed_slice", "as_mut_slice", "last_entry", "split_off",
    "unzip", "partition", "send", "recv", "flatten", "append", "try_recv", "range", "or_insert", "or_insert_with",
    "or_default", "remove", "swap_remove", "insert",
})  # fmt: skip
_TAKES: Final = frozenset({
    "unwrap", "expect", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "remove", "swap_remove", "or_insert",
    "or_insert_with", "or_default", "get_or_insert_with", "get_or_insert", "unwrap_unchecked",
})  # fmt: skip
_PUTS: Final = frozenset({"push", "push_back", "push_front", "insert", "set", "or_insert", "send", "replace"})
_DERIVED: Final = frozenset({
    "default", "eq", "ne", "cmp", "partial_cmp", "hash", "fmt", "to_string", "from", "try_from", "lt", "le", "gt", "ge",
    "max", "min", "type_id",
})  # fmt: skip
LIBRARY: Final = frozenset({
    "vec!", "println!", "print!", "eprintln!", "eprint!", "format!", "write!", "writeln!", "panic!", "assert!",
    "assert_eq!", "assert_ne!", "debug_assert!", "debug_assert_eq!", "debug_assert_ne!", "dbg!", "todo!",
    "unreachable!", "matches!", "unimplemented!", "concat!", "include_str!", "env!", "option_env!", "cfg!",
})  # fmt: skip
_MAKERS: Final = ("into_iter", "iter")
_MOST_BEHIND: Final = 8  # types that a type dereferences to, or iterators that it makes
_FOLDS: Final = frozenset({"fold", "try_fold", "scan"})
_PAIRS: Final = frozenset({"enumerate", "drain_enumerated"})


class RustContainers(TypedContainers):
    """Looks into what Rust's library holds things in."""

    def __init__(self, evaluator: TypedEvaluator) -> None:
        super().__init__(evaluator)
        self._open: set[Value] = set()  # what is being iterated over: an iterator may make another one, and so on

    takes = _TAKES
    gives_itself = _HOLDS_THE_SAME
    puts = _PUTS

    def item(self, value: Value, keys: set[str]) -> Values:
        """Return what stands in *value* at *keys*; in a ``Result`` that is what is good, if nobody asks for what is not."""
        match value:
            case Container(kind="Result") if ANY in keys:
                return super().item(value, {"int:0"})
            case Instance() if (text := next(iter(keys))).startswith("int:"):
                return self._typed.attribute(value, f".{text.removeprefix('int:')}") or super().item(value, keys)
            case _:
                return super().item(value, keys)

    def iterated(self, value: Value) -> Values:
        """Return what an iteration over *value* yields: of a type of the repository what its iterator does."""
        if not isinstance(value, Instance) or self._typed.underlying(value):
            return super().iterated(value)
        following = self._called(value, self._typed.words.following)
        if following:
            return self._typed.union(self.item(each, {ANY}) for each in following)
        if value in self._open or len(self._open) >= _MOST_BEHIND:
            return NOTHING
        self._open.add(value)
        found = self._typed.union(self.iterated(each) for name in _MAKERS for each in self._called(value, name))
        self._open.discard(value)
        return found

    def method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:
        """Return what a method of a container gives, or one that hands on what it is called on."""
        if isinstance(method.of, Instance):
            return frozenset((method.of,))
        if method.name in _PAIRS and isinstance(method.of, Container):
            return frozenset((Container(method.of.term, "pairs"),))
        given = super().method(method, arguments)
        return given | self.item(method.of, {ANY}) if method.name in _TAKES else given


class RustCalls(TypedCalls):
    """Works out what Rust's calls give."""

    def result(self, value: Value) -> Values:
        """Return what a call of *value* gives, whatever it is called with."""
        if isinstance(value, External):
            of, _, name = value.path.rpartition(".")
            if of and name in _HOLDS_THE_SAME:
                return frozenset((External(of),))
        return super().result(value)

    maps: ClassVar[frozenset[str]] = frozenset({"map", "map_or", "map_or_else", "then", "scan", "map_while", "filter_map"})

    def calls_back(self, path: str) -> bool:
        """Return whether what lies outside at *path* may call functions that it is given: methods of builtin types do."""
        return path.count(".") > 1 or super().calls_back(path)

    def onward(self, file: int, site: Site, called: Values) -> Iterator[tuple[Function, Arguments]]:
        """Yield the functions that are handed to what may call them, with what an iterator of the repository yields."""
        term = self._typed.flows[file].terms[site.function]
        base = self._typed.of(file, term.a) if term.op == Op.ATTR else NOTHING
        made = self._typed.union(self._typed.containers.iterated(each) for each in base if isinstance(each, Instance))
        for function, given in super().onward(file, site, called):
            if term.text in _FOLDS and site.arguments:
                yield function, [("", self._typed.of(file, site.arguments[0][1])), *given]
            else:
                yield function, given or ([("", made)] if made else [])

    def _method(self, method: Method, arguments: Sequence[tuple[str, Values]]) -> Values:
        if method.name in {"and_then", "flat_map", "filter_map", "fold"}:
            return self._typed.union(self.called(values) for _, values in arguments)
        return super()._method(method, arguments)


class Rust(TypedEvaluator):
    """Evaluates Rust: types get methods from traits, and some methods hand on what they are called on."""

    words = RUST
    calls_as = RustCalls
    containers_as = RustContainers

    def __init__(self, flows: Sequence[Flow], modules: Crates) -> None:
        self._crates = modules
        self._macros: dict[str, list[int]] = {}
        super().__init__(flows, modules)
        for file, flow in enumerate(flows):
            for number, scope in enumerate(flow.scopes):
                if "macro" in scope.marks:
                    self._macros.setdefault(f"{scope.name}!", []).append(self.first_scope[file] + number)

    def _named(self, scope: int, name: str, *, builtins: bool) -> Values:
        found = super()._named(scope, name, builtins=builtins)
        if self.scope(scope).kind == "module":  # a module may have the name of a function
            found |= some(self.units.below(Package(self.unit_of(scope)), name, importer=self.scope_file[scope]))
        return found

    def _elsewhere(self, scope: int, name: str) -> Values:
        """Return what *name* means where nothing around binds it: a macro, a module, a crate, or something outside."""
        file = self.scope_file[scope]
        if name.endswith("!"):
            known = frozenset(map(Function, self._macro(name, file)))
            return known or frozenset((External(f"{self.words.builtins}.{name}"),))
        unit = self._crates.beside(name, importer=file) or self._crates.find(name, importer=file)
        if isinstance(unit, Package):
            return frozenset((unit,))
        return frozenset((External(name if name[:1].islower() else f"{self.words.builtins}.{name}"),))

    def _macro(self, name: str, file: int) -> list[int]:
        """Return the macros *name*: of this file, else of this crate, else any; of a name of the library's of this file."""
        known = self._macros.get(name, [])
        here = [each for each in known if self.scope_file[each] == file]
        if here or name in LIBRARY:
            return here
        own = [each for each in known if self._crates.crate(self.scope_file[each]) == self._crates.crate(file)]
        return own or known

    def _taken(self, file: int, term: Term) -> Values:
        if term.name.endswith("!"):
            crate = self.modules.find(term.text, importer=file)
            if isinstance(crate, External):
                return frozenset((External(f"{term.text}.{term.name}"),))
            return frozenset(map(Function, self._macro(term.name, file)))
        return super()._taken(file, term)

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be, also through what it dereferences to. A field's begins with a dot."""
        match value:
            case Function(scope) if "variant" in self.scope(scope).marks:
                field = self.of(self.scope_file[scope], self.scope(scope).names.get(name, UNKNOWN))
                return field or self.union(self.attribute(each, name) for each in self.instance(value))
            case External():
                return super().attribute(value, name.removeprefix("."))
            case Class(scope) if "alias" in self.scope(scope).marks:
                held = self.classes.own(scope, UNDERLYING, Instance(scope))
                return frozenset(Method(each, name) for each in held if isinstance(each, Container))
            case Class() | Instance():
                return self._of_type(value, name)
            case _:
                return super().attribute(value, name)

    def _of_type(self, value: Class | Instance, name: str) -> Values:
        found = self._member(value, name)
        if found and not all(isinstance(each, External) for each in found):
            return found
        for each in self._behind(value):
            if inner := self._member(each, name) if isinstance(each, Instance) else super().attribute(each, name):
                return inner
        derived = frozenset((Method(Instance(value.scope), name),)) if name in _SAME or name in _DERIVED else NOTHING
        return derived or found

    def _member(self, value: Class | Instance, name: str) -> Values:
        if name.startswith("."):
            return self.classes.own(self.classes.declaring(value.scope, name), name, value)
        return super().attribute(value, name)

    def _behind(self, value: Value) -> list[Value]:
        """Return what *value* dereferences to, and what that does, nearest first."""
        behind = [value]
        for each in behind:
            if isinstance(each, Instance) and len(behind) < _MOST_BEHIND:
                targets = self.classes.own(each.scope, "Target", Class(each.scope))
                made = self.union(self.instance(target) for target in targets)
                behind += sorted(made - set(behind), key=repr)
        return behind[1:]

    def instance(self, value: Value) -> Values:
        """Return an instance of the type *value*, or what a variant makes, or a type under another name."""
        match value:
            case Function(scope) if "variant" in self.scope(scope).marks:
                return self.of(self.scope_file[scope], self.scope(scope).type)
            case Class(scope) if "alias" in self.scope(scope).marks:
                return self.classes.own(scope, UNDERLYING, Instance(scope))
            case Instance() | Container():
                return frozenset((value,))
            case _:
                return super().instance(value)

    def converts(self, file: int, site: Site) -> bool:
        """Return whether a call makes a variant, which is nothing that runs."""
        called = self.of(file, site.function)
        return any(isinstance(each, Function) and "variant" in self.scope(each.scope).marks for each in called)
