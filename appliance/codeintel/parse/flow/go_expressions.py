"""Go's expressions: from nodes of the syntax tree to terms."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.go_types import Types
from appliance.codeintel.parse.flow.typed import DEEPEST, first, line_of

_LISTS: Final = frozenset({"slice_type", "array_type", "implicit_length_array_type"})
_MAKERS: Final = frozenset({"make", "new"})
_CONSTANTS: Final = frozenset({"true", "false", "nil", "iota", "_"})


class Expressions(Types):
    """Reads expressions as well."""

    def identifier(self, node: Node) -> int:
        """Read a name."""
        name = self.text(node)
        return UNKNOWN if name in _CONSTANTS else self.named(name)

    def selector(self, node: Node) -> int:
        """Read ``a.b``."""
        field = node.child_by_field_name("field")
        return self.attribute(self.read(node.child_by_field_name("operand")), self.text(field), at=field)

    def called(self, node: Node) -> int:
        """Read a call."""
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return self.each(node)
        name = self.text(function) if function.type == "identifier" else ""
        if name in _MAKERS and self.find(name) is None and given is not None and given.named_children:
            for child in given.named_children[1:]:
                self.read(child)
            return self.declared(first(given))
        last = function.child_by_field_name("field") if function.type == "selector_expression" else None
        return self.call(self.read(function), line_of(last or node), self.arguments(given))

    def arguments(self, given: Node | None) -> list[tuple[str, int]]:
        """Read what a call hands over."""
        return [
            ("*" if child.type == "variadic_argument" else "", self.read(child))
            for child in (given.named_children if given else ())
            if child.type != "comment"
        ]

    def conversion(self, node: Node) -> int:
        """Read ``T(x)`` where T is no mere name; ``f[T](x)`` looks like one too."""
        shown, operand = node.child_by_field_name("type"), node.child_by_field_name("operand")
        given = self.read(operand)
        if shown is not None and shown.type in {"generic_type", "qualified_type"}:
            return self.call(self.type_named(shown), line_of(node), [("", given)])
        return self.declared(shown)

    def index(self, node: Node) -> int:
        """Read ``a[b]``."""
        base = self.read(node.child_by_field_name("operand"))
        self.read(node.child_by_field_name("index"))
        return self.item(base)

    def sliced(self, node: Node) -> int:
        """Read ``a[b:c]``: something that holds the same."""
        for name in ("start", "end", "capacity"):
            self.read(node.child_by_field_name(name))
        return self.read(node.child_by_field_name("operand"))

    def assertion(self, node: Node) -> int:
        """Read ``x.(T)``."""
        self.read(node.child_by_field_name("operand"))
        return self.declared(node.child_by_field_name("type"))

    def unary(self, node: Node) -> int:
        """Read ``&x``, ``*x``, ``<-x`` and the like."""
        operator = self.text(node.child_by_field_name("operator"))
        term = self.read(node.child_by_field_name("operand"))
        return self.item(term) if operator == "<-" else term if operator in {"&", "*"} else UNKNOWN

    def binary(self, node: Node) -> int:
        """Read a sum or a comparison: nothing that is called."""
        at: Node | None = node
        while at is not None and at.type == "binary_expression":  # a long sum leans to the left
            self.read(at.child_by_field_name("right"))
            at = at.child_by_field_name("left")
        self.read(at)
        return UNKNOWN

    def literal(self, node: Node) -> int:
        """Read ``T{...}``."""
        shown = node.child_by_field_name("type")
        return self._filled(node.child_by_field_name("body"), shown)

    def _filled(self, body: Node | None, shown: Node | None) -> int:
        """Return the term of a literal of the type *shown* with what stands in *body*."""
        while shown is not None and shown.type in {"pointer_type", "parenthesized_type"}:
            shown = first(shown)
        if shown is None or body is None:
            return UNKNOWN
        if shown.type in _LISTS or shown.type == "map_type":
            return self._container(body, shown)
        base = self.declared(shown)
        for place, child in enumerate(body.named_children):
            if child.type == "keyed_element":
                key = first(child.child_by_field_name("key"))
                term = self._element(child.child_by_field_name("value"), None)
                if key is not None and key.type == "identifier":
                    self.store(base, term, name=self.text(key))
                else:
                    self.read(key)
                    self.store(base, term)
            elif child.type == "literal_element":
                self.store(base, self._element(child, None), key=self.constant(f"int:{place}"))
        return base

    def _container(self, body: Node, shown: Node) -> int:
        element = shown.child_by_field_name("value" if shown.type == "map_type" else "element")
        held = [self.declared(element)]
        for child in body.named_children:
            value = child.child_by_field_name("value") if child.type == "keyed_element" else child
            if child.type == "keyed_element":
                key = child.child_by_field_name("key")
                self._element(key, shown.child_by_field_name("key"))
            term = self._element(value, element)
            if not self.builder.is_plain(term) or not held[0]:
                held.append(term)
        kind = "map" if shown.type == "map_type" else "list"
        return self.held(kind, body, [each for each in held if each])

    def _element(self, node: Node | None, shown: Node | None) -> int:
        """Read one element, whose type *shown* need not be written down once more."""
        inner = first(node) if node is not None and node.type == "literal_element" else node
        if inner is not None and inner.type == "literal_value":
            self.depth += 1
            term = self._filled(inner, shown) if shown is not None and self.depth < DEEPEST else self.each(inner)
            self.depth -= 1
            return term
        return self.read(inner)

    def function(self, node: Node) -> int:
        """Read a function that is an expression."""
        opened = OpenScope("lambda", "<anonymous>", self.scope, line_of(node))
        with self.inside(opened) as scope:
            self.body(node, opened)
        return self.builder.term(Op.DEF, scope)

    def body(self, node: Node, opened: OpenScope) -> None:
        """Read the parameters, results and statements of the function *node*."""
        self.parameters(node.child_by_field_name("parameters"))
        self.take_results(node, opened)
        result = node.child_by_field_name("result")
        for child in result.named_children if result is not None and result.type == "parameter_list" else ():
            shown = self.declared(child.child_by_field_name("type"))
            for name in child.children_by_field_name("name"):
                self.declare(self.text(name), shown)
        block = node.child_by_field_name("body")
        if block is not None:
            self.each(block)
