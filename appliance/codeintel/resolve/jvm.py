"""What Java's and Kotlin's terms can be, and what their library's containers hold."""

from collections.abc import Mapping
from typing import ClassVar, Final

from appliance.codeintel.flow import FlowScope
from appliance.codeintel.resolve.cells import Values
from appliance.codeintel.resolve.objects import Objects
from appliance.codeintel.resolve.overloads import Overloads, Tables
from appliance.codeintel.resolve.values import (
    Class,
    Container,
    External,
    Function,
    Instance,
    Method,
    Package,
    Results,
    Super,
    Value,
)
from appliance.codeintel.resolve.words import Words

_PROPERTIES: Final = frozenset({"values", "keys", "entries", "key", "value", "first", "second"})  # of Kotlin's containers
_BEANS: Final = frozenset({"get", "set"})  # what Java's methods begin with that Kotlin takes for properties
_ANYTHING: Final = "java.lang.Any"  # what extensions of anything add to
_CALL: Final = "()"  # stands behind the name of a method, which a field may have too


_BOXES: Final = {"byte": "Byte", "short": "Short", "int": "Integer", "long": "Long", "float": "Float", "double": "Double"}


class JvmContainers(Tables):
    """Looks into containers of Java's library."""

    takes: ClassVar[frozenset[str]] = frozenset({
        "value", "second", "component1", "component2", "firstOrNull", "lastOrNull", "single", "singleOrNull", "getOrNull",
        "getOrElse", "getOrPut", "elementAtOrNull", "random", "find", "findLast", "removeAt", "removeFirstOrNull", "await",
        "getOrThrow", "maxOf", "minOf", "maxBy", "minBy", "maxByOrNull", "minByOrNull", "receive", "fold", "get",
        "getOrDefault", "getFirst", "getLast", "first", "last", "floor", "ceiling", "higher", "lower", "remove",
        "removeFirst", "removeLast", "poll", "pollFirst", "pollLast", "peekFirst", "peekLast", "pop", "element", "take",
        "next", "previous", "nextElement", "elementAt", "firstElement", "lastElement", "orElse", "orElseThrow", "orElseGet",
        "join", "computeIfAbsent", "computeIfPresent", "compute", "putIfAbsent", "merge", "put", "set", "getValue",
        "getAndSet", "getNow",
    })  # fmt: skip
    gives_itself: ClassVar[frozenset[str]] = frozenset({
        "filterNot", "filterNotNull", "filterIsInstance", "sortedBy", "sortedByDescending", "sortedWith",
        "sortedDescending", "distinctBy", "take", "takeLast", "drop", "dropLast", "toMutableList", "toMutableSet",
        "toHashSet", "toSortedSet", "asSequence", "asIterable", "asReversed", "plus", "minus", "union", "intersect",
        "subtract", "onEach", "shuffled", "orEmpty", "copyOf", "toTypedArray", "asFlow", "toMap", "toMutableMap", "chunked",
        "withIndex", "asList", "ifEmpty", "partition", "slice", "reversed", "flowOn", "stateIn", "shareIn", "asStateFlow",
        "asSharedFlow", "iterator", "listIterator", "descendingIterator", "stream", "parallelStream", "sequential",
        "parallel", "unordered", "filter", "sorted", "distinct", "limit", "skip", "takeWhile", "dropWhile", "peek",
        "findFirst", "findAny", "min", "max", "reduce", "collect", "toList", "toArray", "subList", "headSet", "tailSet",
        "subSet", "descendingSet", "clone", "or", "spliterator", "onClose", "boxed", "headMap", "tailMap", "subMap",
        "whenComplete", "elements", "toSet",
    })  # fmt: skip
    puts: ClassVar[frozenset[str]] = frozenset({
        "add", "addFirst", "addLast", "put", "putIfAbsent", "offer", "offerFirst", "offerLast", "push", "set", "addElement",
        "complete",
    })  # fmt: skip

    keys_of: ClassVar[frozenset[str]] = frozenset({"keySet", "getKey", "navigableKeySet", "keys", "key", "first"})
    values_of: ClassVar[frozenset[str]] = frozenset({"values"})
    pairs_of: ClassVar[frozenset[str]] = frozenset({"entrySet", "entries"})


class JvmCalls(Overloads):
    """Works out what calls give."""

    boxes: ClassVar[Mapping[str, frozenset[str]]] = {
        "String": frozenset({"String", "CharSequence"}),
        "char": frozenset({"Character"}),
        "boolean": frozenset({"Boolean"}),
        **{kind: frozenset({"Number", box}) for kind, box in _BOXES.items()},
    }
    text: ClassVar[str] = "String"
    texts: ClassVar[frozenset[str]] = frozenset({
        "toString", "substring", "trim", "concat", "replace", "replaceAll", "replaceFirst", "toLowerCase", "toUpperCase",
        "getName", "getSimpleName", "getMessage", "strip", "repeat", "readLine", "String.valueOf", "String.format",
        "String.join", "joinToString", "lowercase", "uppercase", "trimIndent", "trimMargin",
    })  # fmt: skip
    keepers: ClassVar[frozenset[str]] = frozenset({
        "requireNonNull", "requireNonNullElse", "checkNotNull", "requireNotNull", "equals", "hashCode", "toString",
        "println", "print", "printf", "format", "valueOf", "add", "put", "set", "of", "asList", "singletonList",
        "singleton", "ofNullable", "append", "isInstance", "cast", "contains", "remove", "indexOf", "listOf", "setOf",
        "mutableListOf", "assertEquals", "assertSame", "assertNotNull", "assertNull", "assertThat", "entry",
        "identityHashCode", "debug", "info", "warn", "error",
    })  # fmt: skip
    maps: ClassVar[frozenset[str]] = frozenset({
        "map", "flatMap", "mapToObj", "thenApply", "thenCompose", "thenApplyAsync", "mapMulti", "mapNotNull", "mapIndexed",
        "flatMapTo", "mapTo", "mapValues",
    })  # fmt: skip


class Jvm(Objects):
    """Evaluates Java and Kotlin."""

    words = Words(
        constructor="new()",
        iterator="iterator()",
        following="next()",
        builtins="java.lang",
        common=frozenset(
            {
                "accept",
                "add",
                "addAll",
                "append",
                "apply",
                "build",
                "call",
                "clear",
                "close",
                "compare",
                "compareTo",
                "contains",
                "copy",
                "create",
                "equals",
                "execute",
                "filter",
                "find",
                "first",
                "flush",
                "forEach",
                "format",
                "get",
                "getId",
                "getKey",
                "getName",
                "getType",
                "getValue",
                "handle",
                "hasNext",
                "hashCode",
                "init",
                "invoke",
                "isEmpty",
                "iterator",
                "join",
                "keySet",
                "last",
                "length",
                "load",
                "log",
                "map",
                "next",
                "of",
                "open",
                "parse",
                "peek",
                "poll",
                "pop",
                "process",
                "push",
                "put",
                "read",
                "remove",
                "replace",
                "reset",
                "run",
                "save",
                "send",
                "set",
                "setName",
                "setValue",
                "size",
                "split",
                "start",
                "stop",
                "stream",
                "submit",
                "substring",
                "test",
                "toList",
                "toString",
                "trim",
                "update",
                "validate",
                "value",
                "values",
                "wait",
                "with",
                "write",
            }
        ),
    )
    calls_as = JvmCalls
    containers_as = JvmContainers
    called: ClassVar[str] = _CALL
    of_all: ClassVar[frozenset[str]] = frozenset({
        "getClass()", "equals()", "hashCode()", "toString()", "notify()", "notifyAll()", "wait()", "andThen()", "compose()",
        "negate()", "reversed()", "thenComparing()", "thenComparingInt()", "thenComparingLong()", "name()", "ordinal()",
        "getDeclaringClass()", "plus()", "minus()", "times()", "div()", "rem()", "rangeTo()", "not()", "inc()", "dec()",
        "contains()", "plusAssign()", "minusAssign()", "compareTo()",
    })  # fmt: skip

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be; a method of something outside has no parentheses behind its name."""
        if isinstance(value, Container | Results) and name in _PROPERTIES:
            return self.containers.method(Method(value, name), ())
        found = super().attribute(value, name)
        if all(isinstance(each, External) for each in found) and not isinstance(value, Package):
            found = self.classes.added(_ANYTHING, name, value) or found
        if not name.endswith(_CALL):
            return found
        if not found and name in self.of_all and isinstance(value, Instance | Class | Super | Function):
            return frozenset((External(f"{self.words.builtins}.Object.{name.removesuffix(_CALL)}"),))
        return frozenset(map(_plain, found))

    def property_name(self, scope: FlowScope) -> str:
        """Return by what name the property is read that *scope* is the function of: Kotlin leaves off Java's ``get``."""
        name = scope.name
        bean = name[:3] in _BEANS and name[3:4].isupper()
        return f"{name[3].lower()}{name[4:]}" if bean else name

    def _elsewhere(self, scope: int, name: str) -> Values:
        """Return what *name* means where nothing around binds it: a package, or something of the language's own."""
        found = super()._elsewhere(scope, name)
        if name[:1].islower() and not name.endswith(_CALL):
            return frozenset(External(name) if isinstance(each, External) else each for each in found)
        if self.units.paths[self.scope_file[scope]].endswith((".kt", ".kts")):
            return frozenset((External(f"kotlin.{name.removesuffix(_CALL)}"),)) if name.endswith(_CALL) else found
        return frozenset(map(_plain, found))


def _plain(value: Value) -> Value:
    match value:
        case External(path):
            return External(path.removesuffix(_CALL))
        case Method(of, name):
            return Method(of, name.removesuffix(_CALL))
        case _:
            return value
