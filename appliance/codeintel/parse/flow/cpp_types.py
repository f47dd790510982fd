"""C++'s types: names in namespaces and types, what the standard library holds, and parameters of templates."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.c import Statements
from appliance.codeintel.parse.flow.c_types import TAG, declared_by
from appliance.codeintel.parse.flow.typed import first

_POINTERS: Final = frozenset({
    "unique_ptr", "shared_ptr", "weak_ptr", "optional", "atomic", "reference_wrapper", "future", "shared_future",
})  # fmt: skip
_SEQUENCES: Final = frozenset({
    "vector", "list", "deque", "set", "array", "span", "queue", "stack", "unordered_set", "multiset", "initializer_list",
    "forward_list", "priority_queue", "valarray", "unordered_multiset",
})  # fmt: skip
_MAPPINGS: Final = frozenset({"map", "unordered_map", "multimap", "unordered_multimap"})
_TUPLES: Final = frozenset({"pair", "tuple"})
NAMES: Final = frozenset({"type_identifier", "qualified_identifier", "template_type"})


class Types(Statements):
    """Reads C++'s types."""

    language = "cpp"

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.of_library: set[str] = set()  # what is taken from ``std`` by its bare name, "*" for all

    def type_of(self, node: Node) -> int:
        """Read the type *node* for `declared`, which counts the steps down."""
        kind = node.type
        if kind in {"qualified_identifier", "template_type"}:
            given = self._given(node)
            library = self._library(node) if given is not None else ""
            if given is not None and library:
                return self._container(library, given)
            return self.instance(self.type_named(node))
        if kind == "dependent_type":
            shown = first(node)
            return self.declared(shown)
        return super().type_of(node)

    def _given(self, node: Node) -> Node | None:
        """Return the arguments that the template which *node* names is given."""
        at: Node | None = node
        while at is not None and at.type == "qualified_identifier":
            at = at.child_by_field_name("name")
        return at.child_by_field_name("arguments") if at is not None and at.type == "template_type" else None

    def _library(self, node: Node) -> str:
        """Return the name of what the template *node* is in the standard library, "" if it is none of its."""
        if node.type == "template_type":
            name = self.text(node.child_by_field_name("name"))
            return name if self.of_library & {name, "*"} else ""
        name = self.text(node).partition("<")[0].replace(" ", "").removeprefix("::")
        return name.rpartition("::")[2] if name.startswith("std::") else ""

    def _container(self, name: str, given: Node) -> int:
        kinds = [child for child in given.named_children if child.type != "comment"]
        held = [self.declared(kind) for kind in kinds] or [UNKNOWN]
        if name in _POINTERS:
            return self.held("pointer", given, held[:1])
        if name in _SEQUENCES:
            return self.held("list", given, held[:1])
        if name in _MAPPINGS:
            return self.held("map", given, held[1:2])
        if name in _TUPLES:
            return self.tuple_(given, held)
        return UNKNOWN if name == "function" else self.instance(self._outside(name))

    def _outside(self, name: str) -> int:
        return self.attribute(self.builder.term(Op.READ, 0, text="std"), name)

    def type_named(self, node: Node) -> int:
        """Return the term of the type that *node* names."""
        return self.path(node, TAG)

    def path(self, node: Node | None, kind: str = "") -> int:
        """Return the term of what *node* names, through namespaces and types; *kind* stands before the last name."""
        if node is None:
            return UNKNOWN
        if node.type in {"template_type", "template_function"}:
            return self.path(node.child_by_field_name("name"), kind)
        if node.type != "qualified_identifier":
            name = self.spelled(node)
            return UNKNOWN if kind and name in self.generics else self.named(kind + name)
        base, at = self._begun(node.child_by_field_name("scope")), node.child_by_field_name("name")
        while at is not None and at.type == "qualified_identifier":
            base = self._next(base, self.unparametrised(at.child_by_field_name("scope")))
            at = at.child_by_field_name("name")
        return self._next(base, kind + self.unparametrised(at))

    def _begun(self, node: Node | None) -> int:
        """Return the term of the first part of a qualified name; nothing stands before the global ``::``."""
        if node is None:
            return -1
        name = self.unparametrised(node)
        return UNKNOWN if name in self.generics else self.named(name)

    def _next(self, base: int, name: str) -> int:
        if base < 0:
            return self.builder.term(Op.READ, 0, text=name)
        return self.attribute(base, name) if base else UNKNOWN

    def unparametrised(self, node: Node | None) -> str:
        """Return the name that *node* is without what a template is given."""
        while node is not None and node.type in {"template_type", "template_function", "template_method", "dependent_name"}:
            inner = node.child_by_field_name("name") or first(node)
            if inner is None:
                break
            node = inner
        return "" if node is None else self.spelled(node)

    def spelled(self, node: Node) -> str:
        """Return how the name *node* is written: that of an operator without blanks."""
        text = self.text(node)
        if node.type == "operator_cast":
            return "operator" + "".join(self.text(node.child_by_field_name("type")).split())
        return "".join(text.split()) if node.type in {"operator_name", "destructor_name"} else text

    def take_template(self, node: Node) -> None:
        """Know the parameters that the template *node* takes."""
        listed = node.child_by_field_name("parameters")
        for child in listed.named_children if listed else ():
            named = declared_by(child.child_by_field_name("declarator")).name or child.child_by_field_name("name")
            named = named or next((each for each in child.named_children if each.type == "type_identifier"), None)
            if named is not None:
                self.generics[self.text(named)] = UNKNOWN
