"""Rust's items, and with them the flow of one blob."""

import re
from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.rust_expressions import LITERALS, Expressions
from appliance.codeintel.parse.flow.rust_macros import opened as with_macros
from appliance.codeintel.parse.flow.typed import Block, line_of

_TEST: Final = re.compile(r"#\[\s*(?:\w+::)*\w*test\b|\bcfg\(\s*(?:all\(\s*)?test\b")
_ABOVE: Final = frozenset({"attribute_item", "line_comment", "block_comment"})
_SAME: Final = ("reference_expression", "unary_expression", "await_expression", "parenthesized_expression")


def rust_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, Rust and UTF-8, whose syntax tree *root* is."""
    return _Items(source).whole(root)


class _Items(Expressions):
    attributed = False  # whether what comes next is said to be a test, or there for tests alone

    def whole(self, root: Node) -> Flow:
        tree, self.macros = with_macros(root, self.source)
        self.each(tree)
        return self.finish()

    def visit(self, node: Node) -> int:
        kind = node.type
        handler = self._HANDLERS.get(kind)
        term = handler(self, node) if handler else self.each(node)
        self.attributed = self.attributed and kind in _ABOVE
        return term

    def _attribute(self, node: Node) -> int:
        self.attributed = self.attributed or _TEST.search(self.text(node)) is not None
        return UNKNOWN

    def _tests(self) -> tuple[str, ...]:
        """Return the mark of what comes next if it is there for tests."""
        known, self.attributed = self.attributed, False
        return ("test",) * known

    def _module(self, node: Node) -> int:
        body = node.child_by_field_name("body")
        if body is None:
            return UNKNOWN
        name = self.text(node.child_by_field_name("name"))
        outer, self.block = self.block, Block()
        with self.inside(OpenScope("module", name, self.scope, line_of(node), marks=self._tests())):
            self.within.append(name)
            self.each(body)
            self.within.pop()
        self.block = outer
        return UNKNOWN

    def _use(self, node: Node) -> int:
        self.used(node.child_by_field_name("argument"))
        return UNKNOWN

    def _crate(self, node: Node) -> int:
        name, alias = self.text(node.child_by_field_name("name")), node.child_by_field_name("alias")
        if alias is not None:
            self._introduce(self.text(alias), self.builder.term(Op.IMPORT, text=name))
        return UNKNOWN

    def _introduce(self, name: str, term: int) -> None:
        """Let *name* be one of the module or the type around, or of this block."""
        if self.builder.scopes[self.scope].kind in {"module", "class"}:
            self.bind(name, term)
        else:
            self.declare(name, term)

    def _function(self, node: Node) -> int:
        name, body = self.text(node.child_by_field_name("name")), node.child_by_field_name("body")
        result = node.child_by_field_name("return_type")
        marks = ("gives",) * (result is not None) + ("abstract",) * (body is None) + self._tests()
        opened = OpenScope("function", name, self.scope, line_of(node), marks=marks)
        term = self.builder.term(Op.DEF, len(self.builder.scopes))
        self._introduce(name, term)
        bounds, self.bounds = self.bounds, dict(self.bounds)
        with self.inside(opened):
            self.take_generics(node)
            self._parameters(node.child_by_field_name("parameters"))
            opened.type = self.declared(result)
            if body is not None:
                ended = self.tail(body)
                opened.results = [each for each in (*opened.results, ended) if not self.builder.is_plain(each)]
        self.bounds = bounds
        return UNKNOWN

    def _parameters(self, node: Node | None) -> None:
        for child in node.named_children if node else ():
            pattern = child.child_by_field_name("pattern")
            if child.type == "self_parameter" or (pattern is not None and pattern.type == "self"):
                self.parameter(RECEIVER, self.instance(self.own_type), called="self")
            elif child.type == "parameter":
                self.taken(pattern, child.child_by_field_name("type"))

    def _structure(self, node: Node) -> int:
        name = self.text(node.child_by_field_name("name"))
        self._typed(node, OpenScope("class", name, self.scope, line_of(node)), lambda _: self.fields(_body(node)))
        return UNKNOWN

    def _enum(self, node: Node) -> int:
        def variants(term: int) -> None:
            for child in (_body(node) or node).named_children:
                if child.type == "enum_variant":
                    self.bind(self.text(child.child_by_field_name("name")), self.variant(child, term))

        name = self.text(node.child_by_field_name("name"))
        self._typed(node, OpenScope("class", name, self.scope, line_of(node)), variants)
        return UNKNOWN

    def _trait(self, node: Node) -> int:
        name, bounds = self.text(node.child_by_field_name("name")), node.child_by_field_name("bounds")
        bases = tuple(filter(None, map(self._trait_named, bounds.named_children if bounds else ())))
        opened = OpenScope("class", name, self.scope, line_of(node), marks=("interface",), bases=bases)
        self._typed(node, opened, lambda _: self._each_of(_body(node)))
        return UNKNOWN

    def _trait_named(self, node: Node) -> int:
        return self.path(node) if "lifetime" not in node.type else UNKNOWN

    def _each_of(self, body: Node | None) -> None:
        if body is not None:
            self.each(body)

    def _typed(self, node: Node, opened: OpenScope, fill: Callable[[int], None]) -> None:
        """Introduce the type *opened*, whose body *fill* reads."""
        term = self.builder.term(Op.DEF, len(self.builder.scopes))
        self._introduce(opened.name, term)
        before = self.own_type, self.bounds
        self.own_type, self.bounds = term, dict(self.bounds)
        with self.inside(opened):
            self.take_generics(node)
            fill(term)
        self.own_type, self.bounds = before

    def _impl(self, node: Node) -> int:
        before = self.own_type, self.bounds
        self.bounds = dict(self.bounds)
        shown, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
        opened = OpenScope("class", self._last_type(shown), self.scope, line_of(node), marks=("extends",))
        with self.inside(opened):
            self.take_generics(node)
            self.own_type, promised = self._extended(shown), self._trait_of(trait)
            through = promised == self.own_type  # of a reference to whatever has the trait: that is not the trait itself
            opened.bases = (UNKNOWN if through else self.own_type, *filter(None, (promised,)))
            self._each_of(node.child_by_field_name("body"))
        self.own_type, self.bounds = before
        return UNKNOWN

    def _last_type(self, node: Node | None) -> str:
        while node is not None and node.type in {"reference_type", "generic_type"}:
            node = node.child_by_field_name("type")
        return self._last(node)

    def _extended(self, node: Node | None) -> int:
        """Return the term of the type that an ``impl`` is for: of a container the container itself."""
        while node is not None and node.type in {"reference_type", "pointer_type"}:
            node = node.child_by_field_name("type")
        if node is not None and node.type in {"array_type", "tuple_type"}:
            return self.declared(node)
        if node is not None and node.type == "generic_type":
            term = self.declared(node)
            return term if self.builder.is_made(term) else self.path(node.child_by_field_name("type"))
        if node is not None and node.type == "dynamic_type":
            node = node.child_by_field_name("trait")
        return self.path(node)

    def _trait_of(self, node: Node | None) -> int:
        if node is not None and node.type == "generic_type":
            node = node.child_by_field_name("type")
        return self.path(node) if node is not None else UNKNOWN

    def _alias(self, node: Node) -> int:
        """Read ``type A = B``, also of a trait."""
        name, shown = self.text(node.child_by_field_name("name")), node.child_by_field_name("type")
        generics, bounds = dict(self.generics), dict(self.bounds)
        self.take_generics(node)
        declared = self.declared(shown)
        if self.builder.is_instance(declared):
            self._introduce(name, self.builder.type_of(declared))
        else:
            opened = OpenScope("class", name, self.scope, line_of(node), marks=("alias",))
            with self.inside(opened) as scope:
                self.bind("=", declared)
            self._introduce(name, self.builder.term(Op.DEF, scope))
        self.generics, self.bounds = generics, bounds
        return UNKNOWN

    def _promised(self, node: Node) -> int:
        """Read a type that a trait leaves open: it is known by what it is at least."""
        bounds = node.child_by_field_name("bounds")
        traits = [self._bound(child) for child in (bounds.named_children if bounds else ())]
        self.bind(self.text(node.child_by_field_name("name")), self.builder.join(traits))
        return UNKNOWN

    def _value(self, node: Node) -> int:
        """Read a ``const`` or a ``static``."""
        declared, value = self.declared(node.child_by_field_name("type")), self.read(node.child_by_field_name("value"))
        name = self.text(node.child_by_field_name("name"))
        self._introduce(name, self.typed(declared, value))
        return UNKNOWN

    def _macro_defined(self, node: Node) -> int:
        name = self.text(node.child_by_field_name("name"))
        self.builder.scopes.append(OpenScope("function", name, self.scope, line_of(node), marks=("macro",)))
        self.bind(f"{name}!", self.builder.term(Op.DEF, len(self.builder.scopes) - 1))
        return UNKNOWN

    def _inside_one(self, node: Node) -> int:
        return self.read(next((child for child in node.named_children if child.type != "mutable_specifier"), None))

    _HANDLERS: ClassVar[dict[str, Callable[["_Items", Node], int]]] = {
        "mod_item": _module,
        "use_declaration": _use,
        "extern_crate_declaration": _crate,
        "function_item": _function,
        "function_signature_item": _function,
        "struct_item": _structure,
        "union_item": _structure,
        "enum_item": _enum,
        "trait_item": _trait,
        "impl_item": _impl,
        "type_item": _alias,
        "associated_type": _promised,
        "const_item": _value,
        "static_item": _value,
        "macro_definition": _macro_defined,
        "macro_invocation": Expressions.macro,
        "attribute_item": _attribute,
        "inner_attribute_item": Expressions.ignored,
        "line_comment": Expressions.ignored,
        "block_comment": Expressions.ignored,
        **dict.fromkeys(LITERALS, Expressions.literal),
        "label": Expressions.ignored,
        "let_declaration": Expressions.let,
        "block": Expressions.block_of,
        "if_expression": Expressions.if_,
        "let_condition": Expressions.let_condition,
        "match_expression": Expressions.match,
        "for_expression": Expressions.for_,
        "while_expression": Expressions.while_,
        "loop_expression": Expressions.while_,
        "return_expression": Expressions.returned,
        "identifier": Expressions.identifier,
        "self": Expressions.self_,
        "scoped_identifier": Expressions.identifier,
        "generic_function": Expressions.identifier,
        "field_expression": Expressions.field,
        "call_expression": Expressions.called,
        "try_expression": Expressions.tried,
        "index_expression": Expressions.index,
        "type_cast_expression": Expressions.cast,
        "binary_expression": Expressions.binary,
        "assignment_expression": Expressions.assigned,
        "struct_expression": Expressions.struct,
        "array_expression": Expressions.listed,
        "tuple_expression": Expressions.tuple_read,
        "closure_expression": Expressions.closure,
        **dict.fromkeys(_SAME, _inside_one),
    }


def _body(node: Node) -> Node | None:
    return node.child_by_field_name("body")
