"""C's statements, and with them the flow of one blob."""

from collections.abc import Callable
from typing import ClassVar

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow
from appliance.codeintel.parse.flow.c_definitions import TYPES, Definitions
from appliance.codeintel.parse.flow.typed import first


def c_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, which is C and UTF-8, and whose syntax tree *root* is."""
    walk = Statements(source)
    walk.block_of(root)
    return walk.finish()


class Statements(Definitions):
    """Reads statements as well."""

    def visit(self, node: Node) -> int:
        """Read *node* for `read`, which counts the steps down."""
        handler = self.HANDLERS.get(node.type)
        if handler is not None:
            return handler(self, node) or UNKNOWN
        return self.declared(node) if node.type in TYPES else self.each(node)

    def block_of(self, node: Node) -> None:
        """Read all that stands in *node*."""
        for child in node.named_children:
            self.read(child)

    def compound(self, node: Node) -> None:
        """Read a block with names of its own."""
        with self.nested():
            self.block_of(node)

    def expression(self, node: Node) -> None:
        """Read an expression for what it does."""
        shown = first(node)
        outside = self.builder.scopes[self.scope].kind in {"module", "class"}
        if shown is not None and outside and shown.type == "call_expression" and (name := self.torn(shown)):
            self.begin(name, UNKNOWN)
        else:
            self.read(shown)

    def returned(self, node: Node) -> None:
        """Read ``return``."""
        shown = first(node)
        opened = self.builder.scopes[self.scope]
        if shown is not None and shown.type == "initializer_list":
            self.initial(shown, opened.type, array=False)
        else:
            opened.results.append(self.read(shown))

    def labelled(self, node: Node) -> None:
        """Read what stands behind a label."""
        for child in node.named_children:
            if child.type != "statement_identifier":
                self.read(child)

    HANDLERS: ClassVar[dict[str, "Callable[[Statements, Node], int | None]"]] = {
        **Definitions.READERS,
        **Definitions.DEFINITIONS,
        "compound_statement": compound,
        "declaration_list": block_of,
        "expression_statement": expression,
        "return_statement": returned,
        "labeled_statement": labelled,
        "preproc_call": lambda walk, node: None,  # noqa: ARG005 - nothing is run
        **dict.fromkeys(("if_statement", "for_statement", "while_statement", "do_statement", "switch_statement"), compound),
        **dict.fromkeys(
            ("else_clause", "case_statement", "linkage_specification", "preproc_if", "preproc_ifdef", "preproc_elif",
             "preproc_elifdef", "preproc_else", "ERROR", "translation_unit"),
            block_of,
        ),
    }  # fmt: skip
