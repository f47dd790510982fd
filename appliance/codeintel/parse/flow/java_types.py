"""Java's types: what a value of the type that is written down can be."""

from collections.abc import Iterable, Sequence
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.parse.flow.jvm_types import JvmTypes
from appliance.codeintel.parse.flow.typed import first

_PRIMITIVES: Final = frozenset({"integral_type", "floating_point_type", "boolean_type"})
_NAMES: Final = frozenset({"type_identifier", "scoped_type_identifier", "identifier", "scoped_identifier"})


class JavaTypes(JvmTypes):
    """Reads types."""

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
