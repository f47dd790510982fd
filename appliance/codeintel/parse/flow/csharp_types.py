"""C#'s types: what a value of the type that is written down can be."""

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.objects import Objects
from appliance.codeintel.parse.flow.typed import first

_SAME: Final = frozenset(
    {"Task", "ValueTask", "Nullable", "Lazy", "Ref", "TaskCompletionSource", "AsyncLocal", "ThreadLocal"}
)
_HOLD: Final = frozenset({
    "List", "IList", "IReadOnlyList", "IEnumerable", "IAsyncEnumerable", "IEnumerator", "IAsyncEnumerator", "ICollection",
    "IReadOnlyCollection", "Collection", "ReadOnlyCollection", "ObservableCollection", "HashSet", "ISet", "IReadOnlySet",
    "SortedSet", "Queue", "Stack", "LinkedList", "ConcurrentBag", "ConcurrentQueue", "ConcurrentStack",
    "BlockingCollection", "ImmutableArray", "ImmutableList", "ImmutableHashSet", "IQueryable", "IOrderedEnumerable", "Span",
    "ReadOnlySpan", "Memory", "ReadOnlyMemory", "ArraySegment", "WeakReference", "PriorityQueue", "Channel",
    "ChannelReader", "ChannelWriter",
})  # fmt: skip
_MAP: Final = frozenset({
    "Dictionary", "IDictionary", "IReadOnlyDictionary", "SortedDictionary", "SortedList", "ConcurrentDictionary",
    "ImmutableDictionary", "IImmutableDictionary", "ReadOnlyDictionary", "FrozenDictionary", "ILookup", "Lookup",
    "ConditionalWeakTable",
})  # fmt: skip
_PAIR: Final = frozenset({"KeyValuePair", "IGrouping"})
_FUNCTIONS: Final = frozenset({
    "Func", "Action", "Predicate", "Comparison", "Converter", "EventHandler", "Delegate", "MulticastDelegate", "Expression",
})  # fmt: skip
_NAMES: Final = frozenset(
    {"identifier", "qualified_name", "alias_qualified_name", "generic_name", "member_access_expression"}
)
_WRAPPED: Final = frozenset({"nullable_type", "ref_type", "scoped_type", "pointer_type"})


class CSharpTypes(Objects):
    """Reads types."""

    texts = "string"

    def instance_of(self, node: Node) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        kind = node.type
        if kind == "predefined_type":
            name = self.text(node)
            return UNKNOWN if name in {"void", "dynamic"} else self.constant(name)
        if kind in _WRAPPED:
            return self.declared(node.child_by_field_name("type"))
        if kind == "array_type":
            return self.held("list", node, [self.declared(node.child_by_field_name("type"))])
        if kind == "tuple_type":
            return self.tuple_(node, [self.declared(each.child_by_field_name("type")) for each in node.named_children])
        if kind not in _NAMES:
            return UNKNOWN
        names, given = self.parts(node)
        if len(names) == 1 and names[0] in self.generics:
            return self.generics[names[0]]
        return self._known(names[-1], node, given) or self.instance(self.type_named(".".join(names)))

    def _known(self, name: str, node: Node, given: Sequence[Node]) -> int:
        """Return the term of an instance of the library's *name* of *given*: a container, a function, or UNKNOWN."""
        if name in _FUNCTIONS:
            gives = bool(given) and name in {"Func", "Converter"}
            taken = [self.declared(each) for each in given]
            if name == "Expression" and given:
                return taken[0]
            return self.signature(node, taken[-1] if gives else UNKNOWN, taken[:-1] if gives else taken)
        if not given:
            return UNKNOWN
        if name in _SAME:
            return self.declared(given[0])
        if name in _HOLD:
            return self.held("list", node, [self.declared(given[0])])
        if name in _MAP or name in _PAIR:
            kind = "map" if name in _MAP else "pair"
            items = tuple(self.declared(each) for each in (given[0], given[-1]))
            return self.builder.term(Op.MAKE, text=kind, name=f"{node.start_byte}:{node.end_byte}", items=items)
        return UNKNOWN

    def parts(self, node: Node | None) -> tuple[list[str], Sequence[Node]]:
        """Return the names of the type *node*, one in another, and what the last one takes."""
        names: list[str] = []
        given: Sequence[Node] = ()
        at = node
        while at is not None:
            last = at.child_by_field_name("name") if at.type in _NAMES - {"identifier", "generic_name"} else at
            if last is not None and last.type == "generic_name":
                listed = next((child for child in last.named_children if child.type == "type_argument_list"), None)
                given = given if names or listed is None else listed.named_children
                last = first(last)
            names.insert(0, self.text(last))
            at = at.child_by_field_name("qualifier") or at.child_by_field_name("expression")
        return names or [""], given

    def type_term(self, node: Node | None) -> int:
        """Return the term of the type itself that *node* names."""
        if node is not None and node.type == "predefined_type":
            return self.builder.term(Op.BUILTIN, text=self.text(node))
        if node is None or node.type not in _NAMES:
            return UNKNOWN
        names, _ = self.parts(node)
        return UNKNOWN if names[0] in self.generics else self.type_named(".".join(names))

    def extended(self, node: Node | None) -> int:
        """Return the term of the type that an extension for *node* adds to: of a class, or of something in the library."""
        if node is None:
            return UNKNOWN
        names, given = self.parts(node)
        known = self._known(names[-1], node, given) if node.type in _NAMES else UNKNOWN
        if names[-1] in self.generics:
            return UNKNOWN
        return known or (self.declared(node) if node.type == "array_type" else self.type_term(node))

    def take_generics(self, node: Node) -> None:
        """Know the parameters that the types of *node* take."""
        listed = node.child_by_field_name("type_parameters")
        listed = listed or next((child for child in node.named_children if child.type == "type_parameter_list"), None)
        for child in listed.named_children if listed is not None else ():
            if child.type == "type_parameter":
                self.generics[self.text(child.child_by_field_name("name"))] = UNKNOWN
        for clause in node.named_children:
            if clause.type == "type_parameter_constraints_clause":
                kinds = [child.child_by_field_name("type") for child in clause.named_children[1:]]
                self.generics[self.text(first(clause))] = self.builder.join(self.declared(each) for each in kinds)
