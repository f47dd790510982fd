"""Python's expressions: from nodes of the syntax tree to terms."""

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Param, Read
from appliance.codeintel.parse.flow.builder import AROUND, OUTSIDE, Builder, OpenScope
from appliance.codeintel.parse.flow.env import Env

_DEEPEST: Final = 120  # calls of this module's functions, about three a level
_LONGEST_KEY: Final = 60
_LONGEST_START: Final = 9
_PARTS_OF_STRING: Final = 3
_LONGEST_SHOWN: Final = 64  # items of a container
_SCALARS: Final = {
    "float": "float", "true": "bool", "false": "bool", "none": "None", "ellipsis": "ellipsis", "not_operator": "bool",
    "comparison_operator": "bool",
}  # fmt: skip
_LITERALS: Final = frozenset({"integer", "float", "true", "false", "none"})
_DISPLAYS: Final = {"list": "list", "tuple": "tuple", "set": "set", "expression_list": "tuple", "pattern_list": "tuple"}
_COMPREHENSIONS: Final = {
    "list_comprehension": "list", "set_comprehension": "set", "generator_expression": "list",
    "dictionary_comprehension": "dict",
}  # fmt: skip


class Expressions(ABC):
    """Reads expressions in the scope and environment that it stands in."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.builder = Builder()
        self.scope = 0
        self.env = Env(self.builder)
        self._depth = 0

    def text(self, node: Node) -> str:
        """Return the source of *node*."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def read(self, node: Node | None) -> int:
        """Return the term of *node*, an expression, and note what is called in it."""
        if node is None:
            return UNKNOWN
        reader = self._READERS.get(node.type)
        if self._depth > _DEEPEST:
            self.builder.cut = True
            return UNKNOWN
        self._depth += 1
        try:
            return reader(self, node) if reader else self.inside(node)
        finally:
            self._depth -= 1

    def named(self, name: str) -> int:
        """Return the term of what *name* holds here."""
        held = self.env.get(name)
        return self.builder.term(Op.READ, self.scope, self._early(name), text=name) if held is None else held

    def note_use(self, name: str, node: Node) -> None:
        """Note that *name* is read at *node*."""
        self.builder.use(self.scope, name, node.start_point.row + 1, early=self._early(name))

    def _early(self, name: str) -> int:
        """Return who else a *name* belongs to that a class's body reads before it binds it, 0 for any other name."""
        scope = self.builder.scopes[self.scope]
        if scope.kind != "class" or name in scope.bound:
            return 0
        return OUTSIDE if hasattr(builtins, name) else AROUND

    def path(self, node: Node | None) -> str:
        """Return the path that *node* spells, such as ``self.x`` or ``d["a"]``, or "" if it is none."""
        tail = ""
        while node is not None:
            kind = node.type
            if kind == "identifier":
                return self.text(node) + tail
            if kind == "attribute":
                attribute = node.child_by_field_name("attribute")
                tail = f".{self.text(attribute)}{tail}" if attribute else ""
                node = node.child_by_field_name("object")
            elif kind == "subscript":
                key = self.key(node.child_by_field_name("subscript"))
                if not key:
                    return ""
                tail = f"[{key}]{tail}"
                node = node.child_by_field_name("value")
            else:
                return ""
        return ""

    def key(self, node: Node | None) -> str:
        """Return how a constant key is called, "" for one that is not constant."""
        if node is None or node.end_byte - node.start_byte > _LONGEST_KEY:
            return ""
        if node.type == "integer":
            return f"int:{self.text(node)}"
        if node.type == "string" and _is_plain(node):
            value = self.text(node).lstrip("rRbBuU").strip("\"'")
            return f"str:{value}" if value else ""
        return ""

    def _identifier(self, node: Node) -> int:
        name = self.text(node)
        self.note_use(name, node)
        return self.named(name)

    def _attribute(self, node: Node) -> int:
        base = self.read(node.child_by_field_name("object"))
        attribute = node.child_by_field_name("attribute")
        if attribute is None:
            return UNKNOWN
        term = self.builder.term(Op.ATTR, base, text=self.text(attribute))
        self.builder.reads.append(Read(self.scope, term, attribute.start_point.row + 1))
        return self._known(node, term)

    def _subscript(self, node: Node) -> int:
        base = self.read(node.child_by_field_name("value"))
        keys = node.children_by_field_name("subscript")
        if len(keys) == 1 and keys[0].type == "slice":
            return self._slice(base, keys[0])
        read = [self.read(key) for key in keys]
        key = read[0] if len(read) == 1 else UNKNOWN
        return self._known(node, self.builder.term(Op.ITEM, base, key))

    def _slice(self, base: int, node: Node) -> int:
        for child in node.named_children:
            self.read(child)
        shown = node.children[0] if node.children else None
        key = self.key(shown) if shown and shown.type == "integer" else ""
        start = int(key[4:]) if key[4:].isdigit() and len(key) <= _LONGEST_START else 0
        return self.builder.term(Op.SLICE, base, start)

    def _known(self, node: Node, plain: int) -> int:
        """Return what the path that *node* spells holds, if that is known here, else *plain*."""
        if not self.env.paths or not (path := self.path(node)):
            return plain
        held = self.env.get(path)
        return plain if held is None else held

    def _string(self, node: Node) -> int:
        if not _is_plain(node):
            self.inside(node)
            content = node.named_child(1)
            return self.builder.started(self.text(content) if content and content.type == "string_content" else "")
        return self.builder.term(Op.CONST, text=self.key(node) or "str")

    def _strings(self, node: Node) -> int:
        self.inside(node)
        return self.builder.term(Op.CONST, text="str")

    def _integer(self, node: Node) -> int:
        return self.builder.term(Op.CONST, text=self.key(node) or "int")

    def _scalar(self, node: Node) -> int:
        self.inside(node)
        return self.builder.term(Op.CONST, text=_SCALARS[node.type])

    def _display(self, node: Node) -> int:
        items: list[int] = []
        place = 0
        children = node.named_children
        long = len(children) > _LONGEST_SHOWN
        for child in children:
            kind = child.type
            if kind == "comment" or (long and kind in _LITERALS):
                continue
            if kind == "list_splat":
                items += (UNKNOWN, self.builder.term(Op.ITEM, self.inside(child), UNKNOWN))
                place = -1
                continue
            key = self.builder.term(Op.CONST, text=f"int:{place}") if place >= 0 else UNKNOWN
            items += (key, self.read(child))
            place += place >= 0
        return self.made(_DISPLAYS[node.type], node, items)

    def _dictionary(self, node: Node) -> int:
        items: list[int] = []
        for child in node.named_children:
            if child.type == "pair":
                items += (self.read(child.child_by_field_name("key")), self.read(child.child_by_field_name("value")))
            elif child.type == "dictionary_splat":
                items += (UNKNOWN, self.builder.term(Op.ITEM, self.inside(child), UNKNOWN))
        return self.made("dict", node, items)

    def made(self, kind: str, node: Node, items: list[int]) -> int:
        """Return the term of a container: of the place where it is made, so that what is put in later is told apart.

        Of a long one only what is no literal is kept, at any place: tables of data are nothing that is called.
        """
        if len(items) > 2 * _LONGEST_SHOWN:
            kept = dict.fromkeys(value for value in items[1::2] if not self.builder.is_constant(value))
            items = [each for value in list(kept)[:_LONGEST_SHOWN] for each in (UNKNOWN, value)]
        return self.builder.term(Op.MAKE, text=kind, b=node.start_byte, items=tuple(items))

    def _comprehension(self, node: Node) -> int:
        outer, self.env = self.env, self.env.loop()
        body = node.child_by_field_name("body")
        for clause in node.named_children:
            if clause.type == "for_in_clause":
                left, right = clause.child_by_field_name("left"), clause.child_by_field_name("right")
                self.assign(left, self.iterated(self.read(right), clause))
            elif clause.type == "if_clause":
                self.inside(clause)
        if body is not None and body.type == "pair":
            key, value = self.read(body.child_by_field_name("key")), self.read(body.child_by_field_name("value"))
        else:
            key, value = UNKNOWN, self.read(body)
        self.env.close()
        self.env = outer
        return self.made(_COMPREHENSIONS[node.type], node, [key, value])

    def iterated(self, over: int, node: Node) -> int:
        """Return the term of what an iteration over *over* yields."""
        site = self.builder.site("iter", self.scope, over, node.start_point.row + 1)
        return self.builder.term(Op.NEXT, over, site)

    def _lambda(self, node: Node) -> int:
        within = self.builder.scopes[self.scope]
        within.lambdas += 1
        params = self.parameters(node.child_by_field_name("parameters"))
        scope = self.enter(OpenScope("lambda", f"<lambda{within.lambdas}>", self.scope, node.start_point.row + 1, params))
        outer, outer_scope = self.env, self.scope
        self.scope, self.env = scope, Env(self.builder)
        self.take_parameters(scope)
        self.builder.scopes[scope].results.append(self.read(node.child_by_field_name("body")))
        self.scope, self.env = outer_scope, outer
        return self.builder.term(Op.DEF, scope)

    def enter(self, scope: OpenScope) -> int:
        """Add *scope* and return its number."""
        self.builder.scopes.append(scope)
        return len(self.builder.scopes) - 1

    def parameters(self, node: Node | None) -> tuple[Param, ...]:
        """Return the parameters listed in *node*, their defaults and types read where the function stands."""
        return tuple(param for child in (node.named_children if node else []) if (param := self._parameter(child)))

    def _parameter(self, node: Node) -> Param | None:
        kind = node.type
        if kind == "identifier":
            return Param(self.text(node))
        if kind in {"default_parameter", "typed_default_parameter"}:
            name, declared = node.child_by_field_name("name"), self.declared(node.child_by_field_name("type"))
            return Param(self.text(name) if name else "", self.read(node.child_by_field_name("value")), declared)
        if kind == "typed_parameter":
            inner = self._parameter(node.named_children[0])
            declared = self.declared(node.child_by_field_name("type"))
            return inner and Param(inner.name, inner.default, declared, inner.star)
        if kind in {"list_splat_pattern", "dictionary_splat_pattern"}:
            star = "*" if kind == "list_splat_pattern" else "**"
            return Param(self.text(node).lstrip("*"), star=star)
        if kind == "keyword_separator":
            return Param("", star="*")
        return None

    def take_parameters(self, scope: int) -> None:
        """Let each parameter's name hold it at the start of *scope*."""
        for place, param in enumerate(self.builder.scopes[scope].params):
            if param.name:
                term = self.builder.term(Op.PARAM, scope, place)
                self.builder.bind(scope, param.name, term)
                self.env.set(param.name, term)

    def _either(self, node: Node) -> int:
        """Read ``a if c else b``, ``a or b``: any of the operands that the value can be."""
        read = [self.read(child) for child in node.named_children]
        if node.type == "conditional_expression" and len(read) == 3:
            del read[1]
        return self.builder.join(read)

    def _binary(self, node: Node) -> int:
        operands = []
        at: Node | None = node
        while at is not None and at.type == "binary_operator":  # a long sum leans to the left
            operands.append(at.child_by_field_name("right"))
            at = at.child_by_field_name("left")
        read = [self.read(operand) for operand in (at, *reversed(operands))]
        return self.builder.started(self.builder.value(read[0])) if self.builder.is_text(read[0]) else UNKNOWN

    def _parenthesized(self, node: Node) -> int:
        term = UNKNOWN
        for child in node.named_children:
            if child.type != "comment":
                term = self.read(child)
        return term

    def _walrus(self, node: Node) -> int:
        term = self.read(node.child_by_field_name("value"))
        self.assign(node.child_by_field_name("name"), term)
        return term

    def _yield(self, node: Node) -> int:
        scope = self.builder.scopes[self.scope]
        scope.generator = True
        term = self.inside(node)
        source = any(child.type == "from" for child in node.children)
        scope.yields.append(self.iterated(term, node) if source else term)
        return UNKNOWN

    def inside(self, node: Node) -> int:
        """Read everything in *node*; return the term of the last thing."""
        term = UNKNOWN
        for child in node.named_children:
            term = self.read(child)
        return term

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    def _call(self, node: Node) -> int:
        return self.call(node)

    @abstractmethod
    def call(self, node: Node) -> int:
        """Read a call, and return the term of what it gives."""

    @abstractmethod
    def assign(self, target: Node | None, term: int) -> None:
        """Let *target* hold *term*; statements say how."""

    @abstractmethod
    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names; types say how."""

    _READERS: ClassVar[dict[str, Callable[["Expressions", Node], int]]] = {
        "identifier": _identifier,
        "attribute": _attribute,
        "call": _call,
        "subscript": _subscript,
        "string": _string,
        "concatenated_string": _strings,
        "integer": _integer,
        "lambda": _lambda,
        "dictionary": _dictionary,
        "conditional_expression": _either,
        "boolean_operator": _either,
        "binary_operator": _binary,
        "parenthesized_expression": _parenthesized,
        "named_expression": _walrus,
        "yield": _yield,
        "comment": _nothing,
        "type": _nothing,
        "slice": inside,
        **dict.fromkeys(_SCALARS, _scalar),
        **dict.fromkeys(_DISPLAYS, _display),
        **dict.fromkeys(_COMPREHENSIONS, _comprehension),
    }


def _is_plain(node: Node) -> bool:
    """Return whether a string has nothing but its marks and at most one stretch of text."""
    parts = node.named_child_count
    if parts != _PARTS_OF_STRING:
        return parts < _PARTS_OF_STRING
    text = node.named_child(1)
    return text is not None and text.type == "string_content"


def first(node: Node) -> Node | None:
    """Return the first named child of *node*, or None if it has none."""
    named = node.named_children
    return named[0] if named else None
