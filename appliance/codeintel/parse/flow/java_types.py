"""Java's types: what a value of the type that is written down can be."""

from collections.abc import Iterable, Sequence
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.objects import Objects
from appliance.codeintel.parse.flow.typed import first

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
_PRIMITIVES: Final = frozenset({"integral_type", "floating_point_type", "boolean_type"})
_NAMES: Final = frozenset({"type_identifier", "scoped_type_identifier", "identifier", "scoped_identifier"})


class JavaTypes(Objects):
    """Reads types."""

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

    def instance_of(self, node: Node) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        kind = node.type
        if kind in _NAMES:
            return self._instance(self.text(node))
        if kind in _PRIMITIVES:
            return self.constant(self.text(node))
        if kind == "generic_type":
            return self._generic(node)
        if kind == "array_type":
            return self.held("list", node, [self.declared(node.child_by_field_name("element"))])
        if kind in {"annotated_type", "wildcard"}:
            return self.declared(
                next((each for each in reversed(node.named_children) if "annotation" not in each.type), None)
            )
        if kind == "catch_type":
            return self.builder.join(self.declared(each) for each in node.named_children)
        return UNKNOWN

    def _instance(self, name: str) -> int:
        if name in self.generics:
            return self.generics[name]
        if name == "String":
            return self.constant(name)
        return UNKNOWN if name == "var" else self.instance(self.type_named(name))

    def _generic(self, node: Node) -> int:
        named, given = self.parts(node)
        name = self.text(named)
        if self.is_library(name):
            found = self.container(name, node, [self.declared(each) for each in given])
            if found:
                return found
        return self._instance(name)

    def parts(self, node: Node) -> tuple[Node | None, Sequence[Node]]:
        """Return the name of the type *node*, without what it takes, and what it takes."""
        if node.type != "generic_type":
            return node, ()
        return first(node), next(
            (child.named_children for child in node.named_children if child.type == "type_arguments"), ()
        )

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
            return self.signature(node, held.get(gives, UNKNOWN), [held.get(place, UNKNOWN) for place in takes])
        return UNKNOWN

    def type_term(self, node: Node | None) -> int:
        """Return the term of the type itself that *node* names."""
        named = self.parts(node)[0] if node is not None else None
        if named is None or named.type not in _NAMES or self.text(named) in self.generics:
            return UNKNOWN
        return self.type_named(self.text(named))

    def take_generics(self, node: Node) -> None:
        """Know the parameters that the types of *node* take."""
        listed = node.child_by_field_name("type_parameters")
        for child in listed.named_children if listed is not None else ():
            bound = next((each for each in child.named_children if each.type == "type_bound"), None)
            self.generics[self.text(first(child))] = self.either(bound.named_children if bound is not None else ())

    def either(self, nodes: Iterable[Node]) -> int:
        """Return the term of an instance of any of the types *nodes*."""
        return self.builder.join(self.declared(each) for each in nodes)
