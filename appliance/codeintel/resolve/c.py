"""What the terms of C and C++ can be: a name is a file's own, what it includes, or what the linker finds elsewhere."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import Flow, Op, Term
from appliance.codeintel.parse.flow.c_definitions import EXTERN
from appliance.codeintel.parse.flow.c_expressions import FUNCTION
from appliance.codeintel.parse.flow.c_types import TAG
from appliance.codeintel.parse.flow.cpp_definitions import CPP, INIT
from appliance.codeintel.resolve.c_calls import INTERNAL, PROTOTYPE, CCalls, CContainers, CMembers
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.evaluate import some
from appliance.codeintel.resolve.includes import CUnits
from appliance.codeintel.resolve.members import EXTENDS
from appliance.codeintel.resolve.typed import TypedEvaluator
from appliance.codeintel.resolve.values import Class, Constant, Container, External, Function, Instance, Package, Value
from appliance.codeintel.resolve.words import C as C_WORDS

_PLACES: Final = {"first": "int:0", "second": "int:1"}
_QUIET: Final = frozenset({"~", "new()"})
_MOST_ALIKE: Final = 3  # folders with definitions that are as near as one another; more are other programs
_MOST_DECLARED: Final = 24  # definitions: one for each system, say; more say nothing of any
LIBRARY: Final = frozenset({
    "abort", "abs", "accept", "access", "atexit", "atof", "atoi", "atol", "bind", "bsearch", "calloc", "close",
    "connect", "dup", "dup2", "errno", "exit", "fclose", "fcntl", "feof", "fflush", "fgets", "fopen", "fork",
    "fprintf", "fputc", "fputs", "fread", "free", "fseek", "fstat", "ftell", "fwrite", "getenv", "getpid",
    "gettimeofday", "ioctl", "isalnum", "isalpha", "isdigit", "isspace", "kill", "listen", "localtime", "longjmp",
    "lseek", "malloc", "memchr", "memcmp", "memcpy", "memmove", "memset", "mmap", "munmap", "open", "perror", "pipe",
    "poll", "printf", "putchar", "puts", "qsort", "raise", "rand", "read", "realloc", "recv", "select", "send",
    "setjmp", "signal", "sleep", "snprintf", "socket", "sprintf", "srand", "sscanf", "stat", "strcat", "strchr",
    "strcmp", "strcpy", "strdup", "strerror", "strlen", "strncat", "strncmp", "strncpy", "strrchr", "strstr",
    "strtod", "strtok", "strtol", "strtoul", "system", "time", "tolower", "toupper", "unlink", "usleep", "vfprintf",
    "vprintf", "vsnprintf", "wait", "waitpid", "write", "assert", "main",
})  # fmt: skip


class C(TypedEvaluator):
    """Evaluates C and C++."""

    words = C_WORDS
    calls_as = CCalls
    containers_as = CContainers
    members_as = CMembers
    classes: CMembers
    sees_outer: ClassVar[bool] = True
    most: ClassVar[int] = 400  # the table of commands of a server has hundreds of functions in one field

    def __init__(self, flows: Sequence[Flow], modules: CUnits) -> None:
        self._files = modules
        self._marks: dict[int, frozenset[str]] = {}
        super().__init__(flows, modules)
        for scope, units in self.classes.of_namespaces().items():
            for unit in units:
                for name in self.scope(scope).names:
                    self._declaring[unit, name].append(scope)

    def _named(self, scope: int, name: str, *, builtins: bool) -> Values:
        one, file = self.scope(scope), self.scope_file[scope]
        if one.kind in {"function", "lambda"}:
            around = self.first_scope[file] + one.parent  # of a type that stands in a function
            held = super()._named(scope, name, builtins=builtins)
            return held if name in one.names else self.name(around, name, builtins=builtins)
        spellings = (name, TAG + name) if self._is_cpp(file) and not name.startswith(TAG) else (name,)
        for each in spellings:
            if found := self._in_type(scope, each) if one.kind == "class" else self._in_namespace(scope, each):
                return found
        if one.parent >= 0:
            return self.name(self.first_scope[file] + one.parent, name, builtins=builtins)
        if not builtins:
            return NOTHING
        below = self._files.below(Package(""), name, importer=file)
        if below is None and name not in LIBRARY and self._has_many(name):
            return NOTHING
        return frozenset((below or External(name.removeprefix(TAG)),))

    def _has_many(self, name: str) -> bool:
        """Return whether several files define *name* for others: which one is meant is not told, but none outside is."""
        return any(self._has_linkage(scope, name) for scope in self.declaring(Package(""), name)[:_MOST_DECLARED])

    def unit_of(self, scope: int) -> str:
        """Return the full name of the namespace that *scope* stands in; one in torn code may stand in a function."""
        while self.scope(scope).kind != "module":
            scope = self.first_scope[self.scope_file[scope]] + self.scope(scope).parent
        return super().unit_of(scope)

    def _is_cpp(self, file: int) -> bool:
        return CPP in self._marked(self.first_scope[file])

    def _in_namespace(self, scope: int, name: str) -> Values:
        return self._visible(self.scope_file[scope], self.unit_of(scope), name) or self._brought(scope, name)

    def _in_type(self, scope: int, name: str) -> Values:
        """Return what *name* alone is in the type *scope*, or in the namespace that *scope* adds a function to."""
        found = self.union(self._of_this(each, name) for each in self.classes.whole(scope))
        if found or EXTENDS not in self.scope(scope).marks:
            return found
        file = self.scope_file[scope]
        units = [each.name for each in self.of(file, self.scope(scope).bases[0]) if isinstance(each, Package)]
        return self.union(self._visible(file, unit, name) for unit in units)

    def _visible(self, file: int, unit: str, name: str) -> Values:
        """Return what *name* of the namespace *unit* is for *file*: its own, what it includes, or what others define."""
        return self.cells.recall(("seen", file, unit, name), lambda: self._seen_from(file, unit, name))

    def _seen_from(self, file: int, unit: str, name: str, *, macros: bool = True) -> Values:
        below = some(self._files.below(Package(unit), name, importer=file)) if unit else NOTHING
        binding = self.declaring(Package(unit), name)
        if not binding:
            return below
        seen = self._files.seen(file)
        own = [scope for scope in binding if self.scope_file[scope] == file]
        near = [scope for scope in binding if self.scope_file[scope] in seen]
        for scopes in (own, near):
            found = self._held(scopes, name)
            defined = frozenset(
                each for each in found if not self._is_prototype(each) and (macros or not self._is_macro(each))
            )
            if defined:
                return defined
        declared = frozenset(each for each in self._held(near, name) if self._is_prototype(each))
        if any(INTERNAL in self.scope(each.scope).marks for each in declared if isinstance(each, Function)):
            return declared
        others = [each for each in binding if each not in near]
        return self._linked(file, near, others, name) or declared or below or self._expanded(file, others, name)

    def _held(self, scopes: Iterable[int], name: str) -> Values:
        """Return what *name* holds in any of the module *scopes*."""
        found = [self.of(self.scope_file[each], self.scope(each).names[name]) for each in scopes]
        return self.union([*found, *(self.stored("static", each, name) for each in scopes)])

    def _is_prototype(self, value: Value) -> bool:
        return isinstance(value, Function) and PROTOTYPE in self.scope(value.scope).marks

    def _linked(self, file: int, near: Sequence[int], others: Sequence[int], name: str) -> Values:
        """Return what *name* is in the nearest of *others*, which *file* does not include, as the linker would find it.

        Of several those count that include what declares it to *file*, which are the scopes *near*.
        """
        if not near and name in LIBRARY:
            return NOTHING
        outer = {self.scope_file[each]: each for each in others if self._defines(each, name)}
        linked = [number for number, scope in outer.items() if self._has_linkage(scope, name)]
        headers = {self.scope_file[each] for each in near}
        telling = [number for number in linked if headers & self._files.seen(number)]
        nearest = self._files.nearest(file, telling or linked)
        if len(nearest) > _MOST_DECLARED or (not telling and self._files.folders(nearest) > _MOST_ALIKE):
            return NOTHING
        found = self._held([outer[number] for number in nearest], name)
        return frozenset(each for each in found if self._is_linked(each, name))

    def _expanded(self, file: int, others: Sequence[int], name: str) -> Values:
        """Return the macro *name* that the nearest of *others* define: whoever includes *file* may know it."""
        close = [each for each in others if name not in LIBRARY and self._files.share(file, self.scope_file[each])]
        found = {self.scope_file[each]: each for each in close if any(map(self._is_macro, self._held((each,), name)))}
        nearest = self._files.nearest(file, list(found))
        return self._held([found[each] for each in nearest], name) if len(nearest) <= _MOST_ALIKE else NOTHING

    def _marked(self, scope: int) -> frozenset[str]:
        """Return the marks of *scope*, among them the names that are its file's alone, and the pointers."""
        known = self._marks.get(scope)
        if known is None:
            known = self._marks[scope] = frozenset(self.scope(scope).marks)
        return known

    def _defines(self, scope: int, name: str) -> bool:
        """Return whether the module *scope* may define *name* for others: it does not keep it, nor only declare it."""
        return not {name, EXTERN + name} & self._marked(scope)

    def _has_linkage(self, scope: int, name: str) -> bool:
        found = self._held((scope,), name)
        return not found or any(self._is_linked(each, name) for each in found)

    def _is_linked(self, value: Value, name: str) -> bool:
        """Return whether other files than its own can know *value* by its *name*, or as what a variable of it holds."""
        if not isinstance(value, Function | Class):
            return True
        one = self.scope(value.scope)
        return one.name != name.removeprefix(TAG) or not {PROTOTYPE, INTERNAL} & set(one.marks)

    def _evaluate(self, file: int, term: Term) -> Values:
        if term.op == Op.ATTR:
            return self.union(self._member(file, value, term.text) for value in self.of(file, term.a))
        return super()._evaluate(file, term)

    def _member(self, file: int, value: Value, name: str) -> Values:
        """Return what *name* of *value* is, seen from *file*."""
        match value:
            case Package(unit):
                return self._of_namespace(file, unit, name)
            case Class():
                return self.attribute(value, name) or self.attribute(value, TAG + name)
            case _:
                return self.attribute(value, name)

    def _of_namespace(self, file: int, unit: str, name: str) -> Values:
        found = self._visible(file, unit, name) or self.attribute(Package(unit), name)
        found = found or (NOTHING if name.startswith(TAG) else self._visible(file, unit, TAG + name))
        if found or self.declaring(Package(unit), name) or self.declaring(Package(unit), TAG + name):
            return found
        return frozenset((External(f"{unit}.{name.removeprefix(TAG)}"),))  # a namespace that goes on outside, as ``std``

    def _of_unit(self, unit: Package, name: str) -> Values:
        """Return what *name* of a namespace is, seen from anywhere."""
        found = super()._of_unit(unit, name)
        return frozenset(each for each in found if not self._is_prototype(each)) or found

    def _taken(self, file: int, term: Term) -> Values:
        scope = self.first_scope[file] + term.a
        if term.text == FUNCTION:
            return self._function(self._place(scope), term.name)
        if term.text == INIT:
            return self._makers(self._place(scope), term.name)
        return self._holder(self._place(scope), term.name)

    def _makers(self, scope: int, name: str) -> Values:
        """Return the constructors of the base or of the member *name* of the type *scope*."""
        if any(f"*{name}" in self._marked(each) for each in self.classes.whole(scope)):
            return NOTHING
        held = self.union(self.classes.own(each, name, Instance(each)) for each in self.classes.whole(scope))
        kinds = {each.scope for each in held if isinstance(each, Instance)}
        if not held:
            kinds = {each.scope for each in self.name(scope, TAG + name) if isinstance(each, Class)}
        return self.union(self.attribute(Instance(each), self.words.constructor) for each in kinds)

    def _function(self, scope: int, name: str) -> Values:
        """Return what *name* is in *scope* where no macro is meant."""
        file, at = self.scope_file[scope], scope
        while self.scope(at).kind != "module":
            at = self.first_scope[file] + self.scope(at).parent
        found = NOTHING
        while not found and at >= self.first_scope[file]:
            found = self._seen_from(file, self.unit_of(at), name, macros=False)
            at = self.first_scope[file] + self.scope(at).parent
        return found or frozenset((External(name),))

    def replaceable(self, scope: int, name: str) -> bool:
        """Return whether *name* of the class *scope* can replace that of a base, and does not only hide it."""
        return self.classes.is_virtual(scope, name)

    def defined_by(self, scope: int) -> Values:
        """Return the functions that define what *scope* only declares: as those would be found that call it from there."""
        one, file = self.scope(scope), self.scope_file[scope]
        if PROTOTYPE not in one.marks:
            return NOTHING
        around = self.first_scope[file] + one.parent
        if self.scope(around).kind == "class":
            found = self.union(self.classes.definitions(each, scope) for each in self.classes.whole(around))
        else:
            found = self._seen_from(file, self.unit_of(around), one.name, macros=False)
        return frozenset(each for each in found if not self._is_prototype(each))

    def _is_macro(self, value: Value) -> bool:
        return isinstance(value, Function) and "macro" in self.scope(value.scope).marks

    def _place(self, scope: int) -> int:
        """Return the type or the namespace that *scope* stands in."""
        while (one := self.scope(scope)).kind in {"function", "lambda"}:
            scope = self.first_scope[self.scope_file[scope]] + one.parent
        return scope

    def stored(self, kind: str, scope: int, name: str) -> Values:
        """Return what was stored as *name* of *scope*: fields are also stored by their places."""
        return self.cells.read((kind, scope, name))

    def _holder(self, scope: int, name: str) -> Values:
        """Return what holds the variable that *name* is in *scope*: a module or a type, as a class, or an instance."""
        one, file = self.scope(scope), self.scope_file[scope]
        if one.kind == "class":
            for each in self.classes.whole(scope):
                if self.classes.has(each, name):
                    return frozenset((Instance(each),))
            return self._holder(self._place(self.first_scope[file] + one.parent), name)
        binding = self.declaring(Package(self.unit_of(scope)), name)
        known = [each for each in binding if EXTERN + name not in self._marked(each)]
        seen = self._files.seen(file)
        near = [each for each in known if self.scope_file[each] == file]
        near = near or [each for each in known if self.scope_file[each] in seen]
        if not near:
            outer = {self.scope_file[each]: each for each in known if self._defines(each, name)}
            near = [outer[each] for each in self._files.nearest(file, list(outer))]
        if near or one.parent < 0:
            return frozenset(map(Class, near or (each for each in binding if self.scope_file[each] in seen)))
        return self._holder(self.first_scope[file] + one.parent, name)

    def instance(self, value: Value) -> Values:
        """Return an instance of the type *value*; a second name of a container stands for that."""
        return frozenset((value,)) if isinstance(value, Container) else super().instance(value)

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be; nothing is known of what is made and unmade outside."""
        quiet = name in _QUIET or name.startswith("operator")
        if isinstance(value, Constant) or (quiet and isinstance(value, Container | External)):
            return NOTHING
        if isinstance(value, Container) and name in _PLACES:
            return self.containers.item(value, {_PLACES[name]})
        return super().attribute(value, name.removeprefix(TAG) if isinstance(value, External) else name)
