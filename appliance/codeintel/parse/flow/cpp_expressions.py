"""C++'s expressions: what they can be, and what is called in them."""

from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.cpp_types import Types
from appliance.codeintel.parse.flow.typed import first

_CASTS: Final = frozenset({"static_cast", "dynamic_cast", "const_cast", "reinterpret_cast"})
_MAKERS: Final = frozenset({"make_unique", "make_shared", "allocate_shared", "make_optional"})
_PLAIN: Final = frozenset({"&&", "||", ",", "<=>"})


class Expressions(Types):
    """Reads C++'s expressions."""

    def qualified(self, node: Node) -> int:
        """Read ``A::b``."""
        return self.path(node)

    def this(self, node: Node) -> int:
        """Read ``this``."""
        del node
        return self.named(RECEIVER) if self.find(RECEIVER) is not None else UNKNOWN

    def pointer(self, node: Node) -> int:
        """Read ``*a`` and ``&a``."""
        term = self.argument(node)
        starred = self.text(node.child_by_field_name("operator")) == "*"
        return self.builder.term(Op.ENTER, term) if starred and term else term

    def field(self, node: Node) -> int:
        """Read ``a.b``, ``a->b`` and ``a->*b``."""
        base, field = self.argument(node), node.child_by_field_name("field")
        between = {child.type for child in node.children}
        if between & {".*", "->*"} or any(child.is_error for child in node.children):
            return self.named(self.text(field))  # a pointer to a member is a variable
        if "->" in between and node.child_by_field_name("argument") is not None:
            if self.text(node.child_by_field_name("argument")) != "this":
                self.protocol(node, self.attribute(base, "operator->"))
            base = self.builder.term(Op.ENTER, base) if base else base
        if field is not None and field.type == "qualified_identifier":  # ``a.Base::f``
            return self.path(field)
        return self.attribute(base, self.unparametrised(field)) if base else UNKNOWN

    def call_(self, node: Node) -> int:
        """Read a call, a cast by a template, or what makes something."""
        function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        named = function
        while named is not None and named.type == "qualified_identifier":
            named = named.child_by_field_name("name")
        if named is not None and named.type == "template_function":
            name, given = self.text(named.child_by_field_name("name")), named.child_by_field_name("arguments")
            kind = first(given)
            if kind is not None and name in _CASTS:
                return self.known(self.declared(kind), self.builder.join(self.arguments(listed)))
            if kind is not None and name in _MAKERS:
                made = self.made(node, self.kind_of(kind), self.arguments(listed))
                return self.held("pointer", node, (made,))
        if function is not None and function.type == "primitive_type":
            self.arguments(listed)
            return self.constant("number")
        return super().call_(node)

    def function(self, node: Node | None) -> int:
        """Read what is called."""
        if node is not None and node.type in {"qualified_identifier", "template_function"}:
            return self.path(node)
        return super().function(node)

    def kind_of(self, node: Node) -> int:
        """Return the term of the type itself that *node* names, or UNKNOWN."""
        shown = node.child_by_field_name("type") if node.type == "type_descriptor" else node
        named = shown is not None and shown.type in {"type_identifier", "qualified_identifier", "template_type"}
        return self.type_named(shown) if shown is not None and named else UNKNOWN

    def made(self, node: Node, kind: int, arguments: list[int]) -> int:
        """Note that one of the type *kind* is made, and return the term of it."""
        if not kind:
            return UNKNOWN
        self.call(kind, self.line(node), [("", each) for each in arguments])
        return self.instance(kind)

    def new(self, node: Node) -> int:
        """Read ``new T(a)``."""
        kind = node.child_by_field_name("type")
        arguments = self.arguments(node.child_by_field_name("arguments"))
        declared = self.declared(kind)
        named = self.kind_of(kind) if kind is not None else UNKNOWN
        if node.child_by_field_name("declarator") is None:
            self.made(node, named, arguments)
        return declared

    def literal(self, node: Node) -> int:
        """Read ``T{a, b}``."""
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        declared = self.declared(kind)
        named = self.kind_of(kind) if kind is not None else UNKNOWN
        if named and value is not None:
            self.made(node, named, self.arguments(value))
            return declared
        return self.initial(value, declared, array=False)

    def delete(self, node: Node) -> int:
        """Read ``delete a``."""
        term = self.inner(node)
        if term:
            self.protocol(node, self.attribute(term, "~"))
        return UNKNOWN

    def binary(self, node: Node) -> int:
        """Read ``a + b``, which may call an operator."""
        chain: list[Node] = []
        at: Node | None = node
        while at is not None and at.type == "binary_expression":  # a long sum leans to the left
            chain.append(at)
            at = at.child_by_field_name("left")
        term = self.read(at)
        for each in reversed(chain):
            right = self.read(each.child_by_field_name("right"))
            term = self.operated(each, self.text(each.child_by_field_name("operator")), term, right)
        return term

    def operated(self, node: Node, operator: str, left: int, right: int) -> int:
        """Return the term of what the *operator* makes of two things."""
        if operator in _PLAIN or (self.builder.is_constant(left) and self.builder.is_constant(right)):
            return UNKNOWN
        name, given = f"operator{operator}", UNKNOWN
        free = self.protocol(node, self.builder.term(Op.READ, self.scope, text=name), (left, right))
        if not self.builder.is_constant(left):
            given = self.protocol(node, self.attribute(left, name), (right,))
        given = self.builder.join((given, free))
        return self.builder.term(Op.ELSE, given, left) if operator in {"+", "-", "<<"} and left else given

    def subscript(self, node: Node) -> int:
        """Read ``a[b]``, which may call an operator."""
        base = self.argument(node)
        key = self.read(node.child_by_field_name("index") or node.child_by_field_name("indices"))
        if not base:
            return UNKNOWN
        self.protocol(node, self.attribute(base, "operator[]"), (key,))
        return self.builder.term(Op.ITEM, base, key if self.builder.is_constant(key) else UNKNOWN)

    def assignment(self, node: Node) -> int:
        """Read ``a = b`` and ``a += b``."""
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "=":
            return super().assignment(node)
        left, right = self.read(node.child_by_field_name("left")), self.read(node.child_by_field_name("right"))
        if not self.builder.is_constant(left):
            self.protocol(node, self.attribute(left, f"operator{operator}"), (right,))
        return left

    def lambda_(self, node: Node) -> int:
        """Read a lambda."""
        within = self.builder.scopes[self.scope]
        within.lambdas += 1
        declarator = node.child_by_field_name("declarator")
        self.read(node.child_by_field_name("captures"))
        with self.inside(OpenScope("lambda", f"<anonymous{within.lambdas}>", self.scope, self.line(node))) as scope:
            if declarator is not None:
                self.parameters(declarator)
                trailing = next((each for each in declarator.named_children if each.type == "trailing_return_type"), None)
                self.builder.scopes[scope].type = self.declared(first(trailing))
            self.read(node.child_by_field_name("body"))
        return self.builder.term(Op.DEF, scope)

    def capture(self, node: Node) -> int:
        """Read what a lambda takes under a name of its own: ``[a = b]``."""
        name = node.child_by_field_name("left") or first(node)
        value = self.read(node.child_by_field_name("right"))
        if name is not None and value:
            self.declare(self.text(name), UNKNOWN)
            self.assign(self.text(name), value)
        return UNKNOWN

    CPP_READERS: ClassVar[dict[str, "Callable[[Expressions, Node], int]"]] = {
        "qualified_identifier": qualified,
        "template_function": qualified,
        "this": this,
        "pointer_expression": pointer,
        "field_expression": field,
        "call_expression": call_,
        "new_expression": new,
        "compound_literal_expression": literal,
        "delete_expression": delete,
        "binary_expression": binary,
        "subscript_expression": subscript,
        "assignment_expression": assignment,
        "lambda_expression": lambda_,
        "lambda_capture_initializer": capture,
        "decltype": Types.nothing,
        "noexcept": Types.nothing,
        "static_assert_declaration": Types.nothing,
        "raw_string_literal": Types.text_constant,
    }
