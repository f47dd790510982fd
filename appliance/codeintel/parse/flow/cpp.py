"""C++'s statements, and with them the flow of one blob."""

from collections.abc import Callable
from typing import ClassVar

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.c import Statements as CStatements
from appliance.codeintel.parse.flow.c_types import declared_by
from appliance.codeintel.parse.flow.cpp_definitions import CPP, Definitions


def cpp_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, which is C++ and UTF-8, and whose syntax tree *root* is."""
    walk = _Statements(source)
    walk.builder.scopes[0].marks = (CPP,)
    walk.block_of(root)
    return walk.finish()


class _Statements(Definitions):
    """Reads C++'s statements as well."""

    def range_for(self, node: Node) -> None:
        """Read ``for (T a : b)``."""
        with self.nested():
            self.read(node.child_by_field_name("initializer"))
            over = self.read(node.child_by_field_name("right"))
            yielded = self.builder.term(Op.NEXT, over) if over else UNKNOWN
            declared = self.declared(node.child_by_field_name("type"))
            name = declared_by(node.child_by_field_name("declarator")).name
            if name is not None and name.type == "structured_binding_declarator":
                self.unpack(name, yielded)
            elif name is not None:
                self.declare(self.text(name), UNKNOWN)
                self.assign(self.text(name), self.known(declared, yielded))
            self.read(node.child_by_field_name("body"))

    def catch(self, node: Node) -> None:
        """Read ``catch (T a) { … }``."""
        with self.nested():
            listed = node.child_by_field_name("parameters")
            for child in listed.named_children if listed else ():
                if child.type == "parameter_declaration":
                    declared, by = self.value_of(child, child.child_by_field_name("declarator"))
                    if by.name is not None:
                        self.declare(self.text(by.name), declared)
            self.read(node.child_by_field_name("body"))

    HANDLERS: ClassVar[dict[str, "Callable[..., int | None]"]] = {
        **CStatements.HANDLERS,
        **Definitions.CPP_READERS,
        **Definitions.CPP_DEFINITIONS,
        "for_range_loop": range_for,
        "catch_clause": catch,
        "condition_clause": CStatements.block_of,
    }
