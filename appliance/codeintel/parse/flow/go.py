"""Go's declarations and statements, and with them the flow of one blob."""

import re
from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.go_expressions import Expressions
from appliance.codeintel.parse.flow.typed import Block, first, line_of

_VERSION: Final = re.compile(r"v\d+")
_COMMA_OK: Final = frozenset({"index_expression", "type_assertion_expression", "unary_expression"})
ALL: Final = "*"


def go_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, Go and UTF-8, whose syntax tree *root* is."""
    return _Statements(source).whole(root)


class _Statements(Expressions):
    def whole(self, root: Node) -> Flow:
        self.extended: dict[str, int] = {}  # class scopes by the types that they add methods to
        package = ""
        for child in root.named_children:
            if child.type == "package_clause":
                package = self.text(first(child))
            elif child.type == "import_declaration":
                self._import(child)
        self.each(root)
        return self.finish(package)

    def visit(self, node: Node) -> int:
        handler = self._HANDLERS.get(node.type)
        return handler(self, node) if handler else self.each(node)

    def _import(self, node: Node) -> None:
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at.type != "import_spec":
                waiting += at.named_children
                continue
            path, name = self.text(at.child_by_field_name("path")).strip('"`'), at.child_by_field_name("name")
            term = self.builder.term(Op.IMPORT, text=path)
            if name is None:
                for each in _called(path):
                    self.imports.setdefault(each, term)
            elif name.type == "dot":
                self.bind(ALL, term)
            else:
                self.imports[self.text(name)] = term

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    def _defined(self, node: Node) -> int:
        """Read a function."""
        name = self.text(node.child_by_field_name("name"))
        opened = OpenScope("function", name, self.scope, line_of(node))
        with self.inside(opened) as scope:
            self.take_generics(node)
            self.body(node, opened)
        self.bind(name, self.builder.term(Op.DEF, scope))
        return UNKNOWN

    def _method(self, node: Node) -> int:
        """Read a method: a member of the type that it is called on, which may stand in another file."""
        name, listed = self.text(node.child_by_field_name("name")), node.child_by_field_name("receiver")
        receiver = first(listed)
        shown = receiver.child_by_field_name("type") if receiver else None
        while shown is not None and shown.type in {"pointer_type", "parenthesized_type"}:
            shown = first(shown)
        generic = shown if shown is not None and shown.type == "generic_type" else None
        named = generic.child_by_field_name("type") if generic else shown
        holder = self._extends(named)
        opened = OpenScope("function", name, holder, line_of(node))
        with self.inside(opened) as scope:
            given = generic.child_by_field_name("type_arguments") if generic else None
            for each in given.named_children if given else ():
                self.generics[self.text(each)] = UNKNOWN
            called = self.text(receiver.child_by_field_name("name")) if receiver else ""
            self.parameter(RECEIVER, self.declared(named), called=called)
            self.body(node, opened)
        self.builder.bind(holder, name, self.builder.term(Op.DEF, scope))
        return UNKNOWN

    def _extends(self, node: Node | None) -> int:
        name = self.text(node)
        if name not in self.extended:
            self.extended[name] = len(self.builder.scopes)
            bases = (self.builder.term(Op.READ, 0, text=name),)
            line = line_of(node) if node is not None else 1
            self.builder.scopes.append(OpenScope("class", name, 0, line, bases=bases, marks=("extends",)))
        return self.extended[name]

    def _type(self, node: Node) -> int:
        for child in node.named_children:
            if child.type in {"type_spec", "type_alias"}:
                self._introduce(*self.defined_type(child))
        return UNKNOWN

    def _introduce(self, name: str, term: int) -> None:
        """Let *name* be one of the package, or of this block."""
        if self.scope:
            self.declare(name, term)
        else:
            self.bind(name, term)

    def _variables(self, node: Node) -> int:
        for child in node.named_children:
            if child.type == "var_spec_list":
                self._variables(child)
            elif child.type == "var_spec":
                names, declared = child.children_by_field_name("name"), self.declared(child.child_by_field_name("type"))
                values = self._values(child.child_by_field_name("value"), len(names))
                for name, value in zip(names, values, strict=True):
                    self._introduce(self.text(name), self._begun(declared, value))
        return UNKNOWN

    def _begun(self, declared: int, value: int) -> int:
        """Return the term of a variable; one of the package that nobody assigns to is what it was made as."""
        if declared and self.builder.is_instance(value) and not self.scope:
            return self.builder.term(Op.ELSE, value, declared)
        return self.typed(declared, value)

    def _constants(self, node: Node) -> int:
        declared = UNKNOWN
        for child in node.named_children:
            if child.type == "const_spec":
                shown, value = child.child_by_field_name("type"), child.child_by_field_name("value")
                names = child.children_by_field_name("name")
                values = self._values(value, len(names))
                if shown is not None or value is not None:
                    declared = self.declared(shown)
                for name, term in zip(names, values, strict=True):
                    self._introduce(self.text(name), declared or term)
        return UNKNOWN

    def _values(self, node: Node | None, wanted: int) -> list[int]:
        """Return the terms of the expressions of *node*, as many as are *wanted*: perhaps what one call gives."""
        listed = node.named_children if node is not None and node.type == "expression_list" else [node] if node else []
        shown = [child for child in listed if child.type != "comment"]
        terms = [self.read(child) for child in shown]
        if len(terms) == 1 < wanted:
            if shown[0].type in _COMMA_OK:
                return [terms[0], *[UNKNOWN] * (wanted - 1)]
            return [self.item(terms[0], place) for place in range(wanted)]
        return (terms + [UNKNOWN] * wanted)[:wanted]

    def _short(self, node: Node) -> int:
        left = node.child_by_field_name("left")
        names = left.named_children if left is not None else []
        for name, value in zip(names, self._values(node.child_by_field_name("right"), len(names)), strict=True):
            self._let(name, value, new=True)
        return UNKNOWN

    def _assigned(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        targets = left.named_children if left is not None else []
        for target, value in zip(targets, self._values(right, len(targets)), strict=True):
            self._let(target, value, new=False)
        return UNKNOWN

    def _let(self, target: Node, value: int, *, new: bool) -> None:
        """Let *target* hold *value*; a *new* name is declared, if its block does not have it."""
        name = self.text(target)
        if target.type == "identifier":
            if new and name not in self.block.names:
                self.declare(name, value)
            else:
                self.assign(name, value)
        elif target.type == "selector_expression":
            base, field = self.read(target.child_by_field_name("operand")), target.child_by_field_name("field")
            self.store(base, value, name=self.text(field))
        elif target.type == "index_expression":
            base = self.read(target.child_by_field_name("operand"))
            self.read(target.child_by_field_name("index"))
            self.store(base, value)
        else:
            self.read(target)

    def _block(self, node: Node) -> int:
        with self.nested():
            return self.each(node)

    def _for(self, node: Node) -> int:
        with self.nested():
            return self.each(node)

    def _range(self, node: Node) -> int:
        left, over = node.child_by_field_name("left"), self.read(node.child_by_field_name("right"))
        targets = left.named_children if left is not None else []
        new = any(child.type == ":=" for child in node.children)
        for target, value in zip(targets, (self.builder.term(Op.NEXT, over), self.item(over)), strict=False):
            self._let(target, value, new=new)
        return UNKNOWN

    def _if(self, node: Node) -> int:
        outer = self.block
        at: Node | None = node
        while at is not None and at.type == "if_statement":  # a long chain nests to the right
            self.block = Block(self.block)
            for name in ("initializer", "condition", "consequence"):
                self.read(at.child_by_field_name(name))
            at = at.child_by_field_name("alternative")
        self.read(at)
        self.block = outer
        return UNKNOWN

    def _type_switch(self, node: Node) -> int:
        with self.nested():
            self.read(node.child_by_field_name("initializer"))
            alias, value = node.child_by_field_name("alias"), self.read(node.child_by_field_name("value"))
            for child in node.named_children:
                if child.type not in {"type_case", "default_case"}:
                    continue
                with self.nested():
                    shown = child.children_by_field_name("type")
                    if alias is not None:
                        declared = self.builder.join(self.declared(each) for each in shown)
                        self.declare(self.text(alias), declared if shown else value)
                    for each in child.named_children:
                        if each not in shown:
                            self.read(each)
        return UNKNOWN

    def _send(self, node: Node) -> int:
        self.store(self.read(node.child_by_field_name("channel")), self.read(node.child_by_field_name("value")))
        return UNKNOWN

    def _return(self, node: Node) -> int:
        listed = first(node)
        terms = [self.read(child) for child in listed.named_children if child.type != "comment"] if listed else []
        opened = self.builder.scopes[self.scope]
        if len(terms) == 1 and (not self.builder.is_plain(terms[0]) or not opened.type):
            opened.results.append(terms[0])
        elif listed is not None and any(map(self.builder.is_open, filter(None, terms))):
            opened.results.append(self.tuple_(listed, terms))
        return UNKNOWN

    _HANDLERS: ClassVar[dict[str, Callable[["_Statements", Node], int]]] = {
        "package_clause": _nothing,
        "import_declaration": _nothing,
        "comment": _nothing,
        "function_declaration": _defined,
        "method_declaration": _method,
        "type_declaration": _type,
        "var_declaration": _variables,
        "const_declaration": _constants,
        "short_var_declaration": _short,
        "receive_statement": _short,
        "assignment_statement": _assigned,
        "block": _block,
        "for_statement": _for,
        "range_clause": _range,
        "if_statement": _if,
        "expression_switch_statement": _for,
        "expression_case": _for,
        "default_case": _for,
        "select_statement": _for,
        "communication_case": _for,
        "type_switch_statement": _type_switch,
        "send_statement": _send,
        "return_statement": _return,
        "label_name": _nothing,
        "identifier": Expressions.identifier,
        "selector_expression": Expressions.selector,
        "call_expression": Expressions.called,
        "type_conversion_expression": Expressions.conversion,
        "index_expression": Expressions.index,
        "slice_expression": Expressions.sliced,
        "type_assertion_expression": Expressions.assertion,
        "unary_expression": Expressions.unary,
        "binary_expression": Expressions.binary,
        "composite_literal": Expressions.literal,
        "func_literal": Expressions.function,
    }


def _called(path: str) -> list[str]:
    """Return what the package at *path* is probably called: by its folder, without a version and what libraries add."""
    parts = path.split("/")
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    stem = re.sub(r"\.v\d+$", "", parts[-1])
    short = stem.removeprefix("go-").removesuffix("-go").removesuffix(".go")
    return list(dict.fromkeys((stem, short, short.rpartition("-")[2])))
