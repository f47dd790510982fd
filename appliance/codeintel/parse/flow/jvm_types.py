"""What Java and Kotlin call by its full name, and the containers and functions of their libraries."""

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.objects import Objects

_HOLD: Final = frozenset({
    "List", "ArrayList", "LinkedList", "CopyOnWriteArrayList", "Vector", "Stack", "Collection", "Iterable", "Iterator",
    "ListIterator", "Set", "HashSet", "LinkedHashSet", "TreeSet", "SortedSet", "NavigableSet", "EnumSet", "Queue", "Deque",
    "ArrayDeque", "PriorityQueue", "BlockingQueue", "LinkedBlockingQueue", "ArrayBlockingQueue", "ConcurrentLinkedQueue",
    "BlockingDeque", "Enumeration", "Spliterator", "Stream", "Optional", "CompletableFuture", "CompletionStage", "Future",
    "AtomicReference", "ThreadLocal", "WeakReference", "SoftReference", "Reference",
})  # fmt: skip
_MAP: Final = frozenset({
    "Map", "HashMap", "LinkedHashMap", "TreeMap", "SortedMap", "NavigableMap", "ConcurrentMap", "ConcurrentHashMap",
    "EnumMap", "WeakHashMap", "IdentityHashMap", "Hashtable",
})  # fmt: skip
_NONE: Final = 9  # none of the type's arguments
_FUNCTIONS: Final = {  # functions of a type: which of the type's arguments they take, and which they give
    "Function": ((0,), 1), "BiFunction": ((0, 1), 2), "Supplier": ((), 0), "Callable": ((), 0), "UnaryOperator": ((0,), 0),
    "BinaryOperator": ((0, 0), 0), "IntFunction": ((_NONE,), 0), "LongFunction": ((_NONE,), 0),
    "BiConsumer": ((0, 1), _NONE), "BiPredicate": ((0, 1), _NONE), "Comparator": ((0, 0), _NONE),
    **dict.fromkeys(("Consumer", "Predicate", "ToIntFunction", "ToLongFunction", "ToDoubleFunction"), ((0,), _NONE)),
}  # fmt: skip


class JvmTypes(Objects):
    """Knows the types of the libraries, and what is imported."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.origins: dict[str, str] = {}  # imported types by their names, and the packages that they are in
        self.brought: list[str] = ["java.lang"]  # packages all of whose names are imported

    def is_library(self, name: str) -> bool:
        """Return whether *name* is one of Java's own library here."""
        if any(name in home.types or name == home.name for home in self.homes):
            return False
        package = self.origins.get(name)
        if package is None:
            return any(each.startswith("java.") and each != "java.lang" for each in self.brought) or name == "Iterable"
        return package.startswith("java.")

    def container(self, name: str, node: Node, given: Sequence[int]) -> int:
        """Return the term of an instance of the library's *name* of *given*: a container, a function, or UNKNOWN."""
        if name in _HOLD:
            return self.held("list", node, given[:1])
        if name in _MAP or name in {"Map.Entry", "Entry"}:
            kind = "map" if name in _MAP else "pair"
            key, value = given if len(given) == 2 else (UNKNOWN, UNKNOWN)
            place = f"{node.start_byte}:{node.end_byte}"
            return self.builder.term(Op.MAKE, text=kind, name=place, items=(key, value))
        if name in _FUNCTIONS:
            takes, gives = _FUNCTIONS[name]
            held = dict(enumerate(given))
            taken, full = (
                [held.get(place, UNKNOWN) for place in takes],
                f"{self.origins.get(name, 'java.util.function')}.{name}",
            )
            return self.signature(node, held.get(gives, UNKNOWN), taken, marks=("outside",), name=full)
        return UNKNOWN

    def taken(self, parts: Sequence[str]) -> int:
        """Return the term of what is imported by the full name *parts*: a type of a package, or a member of one."""
        end = next((place for place, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
        term = self.builder.term(Op.FROM, text=".".join(parts[:end]), name=parts[end])
        for each in parts[end + 1 :]:
            term = self.attribute(term, each)
        return term

    def inherited(self, name: str) -> int:
        """Return the term of *name*, a member of a class around, or what is imported by that name."""
        found, imported = self.builder.term(Op.READ, self.scope, text=name), self.imports.get(name)
        return self.builder.term(Op.ELSE, found, imported) if imported else found
