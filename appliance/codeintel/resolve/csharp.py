"""What C#'s terms can be, which namespaces its files have parts of, and what its library's containers hold."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from appliance.codeintel.flow import UNKNOWN, Flow, Op, Term
from appliance.codeintel.resolve.cells import NOTHING, Values
from appliance.codeintel.resolve.objects import Objects
from appliance.codeintel.resolve.overloads import Overloads, Tables
from appliance.codeintel.resolve.units import Units
from appliance.codeintel.resolve.values import Class, Constant, Container, External, Function, Instance, Method, Super, Value
from appliance.codeintel.resolve.words import CSHARP

_PROPERTIES: Final = frozenset({"Keys", "Values", "Key", "Value", "Current", "Reader", "Writer", "Span", "Target"})
_HELD: Final = frozenset({"Value", "Result"})
_GLOBAL: Final = "global *"


class Namespaces(Units):
    """The namespaces of one repository: what a file says outside of any is in the one without a name."""

    def unit(self, file: int, flow: Flow) -> str:  # noqa: ARG002 - others need them
        """Return the name of the namespace around all others."""
        return ""


class CSharpContainers(Tables):
    """Looks into containers of C#'s library."""

    takes: ClassVar[frozenset[str]] = frozenset({
        "First", "FirstOrDefault", "Last", "LastOrDefault", "Single", "SingleOrDefault", "ElementAt", "ElementAtOrDefault",
        "Find", "FindLast", "Dequeue", "Pop", "Peek", "Aggregate", "Max", "Min", "MaxBy", "MinBy", "Current", "GetOrAdd",
        "AddOrUpdate", "GetValueOrDefault", "Value", "Target", "FirstAsync", "FirstOrDefaultAsync", "SingleAsync",
        "SingleOrDefaultAsync", "Read", "ReadAsync", "Take", "get_Item",
    })  # fmt: skip
    gives_itself: ClassVar[frozenset[str]] = frozenset({
        "Where", "OrderBy", "OrderByDescending", "ThenBy", "ThenByDescending", "ToList", "ToArray", "ToHashSet", "Skip",
        "Take", "TakeWhile", "SkipWhile", "Distinct", "DistinctBy", "Concat", "Union", "Intersect", "Except", "Reverse",
        "Append", "Prepend", "AsEnumerable", "AsQueryable", "AsReadOnly", "GetEnumerator", "GetRange", "FindAll",
        "DefaultIfEmpty", "OfType", "Cast", "AsParallel", "ToListAsync", "ToArrayAsync", "AsSpan", "AsMemory", "Slice",
        "Clone", "ToImmutableArray", "ToImmutableList", "Order", "Chunk", "SkipLast", "TakeLast", "AsNoTracking", "Include",
        "Reader", "Writer", "Span", "ReadAllAsync", "GetAsyncEnumerator", "WithCancellation", "ToFrozenSet",
        "GetConsumingEnumerable", "ToDictionary",
    })  # fmt: skip
    puts: ClassVar[frozenset[str]] = frozenset({
        "Add", "Enqueue", "Push", "Insert", "AddLast", "AddFirst", "TryAdd", "AddRange", "SetValue",
    })  # fmt: skip
    keys_of: ClassVar[frozenset[str]] = frozenset({"Keys", "Key"})
    values_of: ClassVar[frozenset[str]] = frozenset({"Values"})


class CSharpCalls(Overloads):
    """Works out what calls give."""

    boxes: ClassVar[Mapping[str, frozenset[str]]] = {
        "string": frozenset({"String", "IEnumerable", "IComparable", "IFormattable"}),
        **{
            kind: frozenset({"IComparable", "IFormattable", "IConvertible"})
            for kind in ("int", "long", "double", "float", "char")
        },
        "bool": frozenset({"Boolean"}),
    }
    maps: ClassVar[frozenset[str]] = frozenset({"Select", "SelectMany", "ConvertAll", "ContinueWith", "Zip"})
    text: ClassVar[str] = "string"
    texts: ClassVar[frozenset[str]] = frozenset({
        "ToString", "Substring", "Trim", "TrimEnd", "TrimStart", "Replace", "ToLower", "ToUpper", "ToLowerInvariant",
        "ToUpperInvariant", "ReadLine", "ReadToEnd", "String.Format", "string.Format", "String.Join", "string.Join",
        "String.Concat", "string.Concat", "PadLeft", "PadRight",
    })  # fmt: skip
    keepers: ClassVar[frozenset[str]] = frozenset({
        "Equals", "GetHashCode", "ToString", "WriteLine", "Write", "Format", "Add", "Insert", "Contains", "Remove",
        "IndexOf", "ThrowIfNull", "NotNull", "ReferenceEquals", "Append", "nameof", "KeepAlive", "Equal", "NotEqual",
        "Same", "NotSame", "Null", "AreEqual", "AreNotEqual", "AreSame", "IsNull", "IsNotNull", "IsType", "IsInstanceOf",
        "SuppressFinalize", "CreateDelegate",
    })  # fmt: skip


class CSharp(Objects):
    """Evaluates C#: namespaces are seen from those in them, and a class can have parts."""

    words = CSHARP
    calls_as = CSharpCalls
    containers_as = CSharpContainers
    sees_outer: ClassVar[bool] = True
    _others: "dict[int, int] | None" = None
    of_all: ClassVar[frozenset[str]] = frozenset({
        "GetType", "Equals", "GetHashCode", "ToString", "MemberwiseClone", "ReferenceEquals", "HasFlag", "CompareTo",
        "Method", "Target", "GetInvocationList",
    })  # fmt: skip

    def __init__(self, flows: Sequence[Flow], modules: Units) -> None:
        named = ((file, flow.scopes[0].names.get(_GLOBAL, UNKNOWN)) for file, flow in enumerate(flows))
        self._everywhere = [(file, term) for file, term in named if term]  # what is imported for all files
        super().__init__(flows, modules)

    def attribute(self, value: Value, name: str) -> Values:
        """Return what *name* of *value* can be."""
        if isinstance(value, Container) and name in _PROPERTIES:
            return self.containers.method(Method(value, name), ())
        found = super().attribute(value, name)
        if not found and name in _HELD and isinstance(value, Instance | Container | Constant):
            return frozenset((value,))  # what is waited for, or may be missing, is what it holds
        if not found and name in self.of_all and isinstance(value, Instance | Class | Super | Function):
            return frozenset((External(f"{self.words.builtins}.object.{name}"),))
        return found

    def parts(self) -> Mapping[int, int]:
        """Return the parts of partial classes but the first of each, by their scopes, and what the first one's is."""
        if self._others is None:
            firsts: dict[str, int] = {}
            self._others = {}
            for file, flow in enumerate(self.flows):
                full: list[str] = []
                for number, scope in enumerate(flow.scopes):
                    full.append(f"{full[scope.parent]}.{scope.name}" if scope.parent >= 0 else "")
                    whole = self.first_scope[file] + number
                    if "partial" in scope.marks and (main := firsts.setdefault(full[number], whole)) != whole:
                        self._others[whole] = main
        return self._others

    def _plain(self, file: int, term: Term, number: int) -> Values:
        found = super()._plain(file, term, number)
        if term.op != Op.DEF:
            return found
        others = self.parts()
        return frozenset(Class(others.get(each.scope, each.scope)) if isinstance(each, Class) else each for each in found)

    def _alone(self, scope: int, name: str) -> Values:
        """Return what *name* alone is of what the type *scope* has: no class has the members of its interfaces."""
        found = super()._alone(scope, name)
        if "interface" in self.scope(scope).marks:
            return found
        return frozenset(each for each in found if not isinstance(each, Function) or not self._promised(each.scope))

    def _promised(self, scope: int) -> bool:
        owner = self.owner(scope)
        return owner is not None and "interface" in self.scope(owner).marks

    def _brought(self, scope: int, name: str) -> Values:
        found = super()._brought(scope, name)
        sources = self.union(self.of(file, term) for file, term in self._everywhere) if not found else NOTHING
        return found or frozenset(
            brought for each in sources for brought in self.attribute(each, name) if not isinstance(brought, External)
        )
