"""JavaScript's functions and classes, and TypeScript's interfaces."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Op, Param, Store
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.env import Env
from appliance.codeintel.parse.flow.javascript_bindings import Bindings
from appliance.codeintel.parse.flow.javascript_names import Block, first

_CONSTRUCTOR: Final = "new()"  # the key of a constructor among the members of its class
_PATTERNS: Final = frozenset({"object_pattern", "array_pattern"})
_PARAMETERS: Final = frozenset({"required_parameter", "optional_parameter"})
_MEMBERS: Final = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_FIELDS: Final = frozenset({"field_definition", "public_field_definition", "property_signature"})


class Definitions(Bindings):
    """Reads definitions as well."""

    def function(
        self, node: Node, name: str, *, receiver: int = UNKNOWN, owner: bool = False, marks: tuple[str, ...] = ()
    ) -> int:
        """Return the term of the function *node*, called *name* if it has no name of its own.

        Its this is *receiver*, an instance of its class with *owner*, and else what it makes itself.
        """
        if self.too_deep():
            return UNKNOWN
        self.depth += 1
        arrow = node.type == "arrow_function"
        own = None if node.type in _MEMBERS else node.child_by_field_name("name")
        opened = OpenScope(
            "lambda" if arrow else "function", self.text(own) or name or self._anonymous(), self.scope,
            node.start_point.row + 1, marks=marks if owner and not arrow else ("staticmethod", *marks),
            generator=any(child.type == "*" for child in node.children) or node.type.startswith("generator"),
        )  # fmt: skip
        scope = self.enter(opened)
        term = self.builder.term(Op.DEF, scope)
        before = (self.scope, self.env, self.block, self.this, self.take_generics(node))
        self.scope, self.env, self.block = scope, Env(self.builder), Block(scope, self.block)
        if own is not None and node.type.endswith("expression"):
            self.declare(self.text(own))
            self.bind(self.text(own), term)
        if not arrow:
            made = UNKNOWN if owner or receiver else self.builder.term(Op.INSTANCE, term)
            opened.params = (Param(RECEIVER, receiver, made),)
            self.this = self.builder.term(Op.PARAM, scope, 0)
        opened.type = self.declared(node.child_by_field_name("return_type"))
        self._parameters(node, opened, scope)
        self._body(node.child_by_field_name("body"), opened)
        self.scope, self.env, self.block, self.this, self.generics = before
        self.depth -= 1
        return term

    def _anonymous(self) -> str:
        within = self.builder.scopes[self.scope]
        within.lambdas += 1
        return f"<anonymous{within.lambdas}>"

    def _body(self, body: Node | None, opened: OpenScope) -> None:
        if body is None:
            return
        if body.type == "statement_block":
            self.nested(body, self.env, block=self.block)
        else:
            opened.results.append(self.read(body))

    def _parameters(self, node: Node, opened: OpenScope, scope: int) -> None:
        listed = node.child_by_field_name("parameters")
        alone = node.child_by_field_name("parameter")
        found = [child for child in (listed.named_children if listed else [alone]) if child is not None]
        patterns: list[tuple[Node, int]] = []
        for child in found:
            if child.type == "comment" or (pattern := self._pattern(child)) is None:
                continue
            declared = self.declared(child.child_by_field_name("type"))
            if pattern.type == "this":
                opened.params = (Param(RECEIVER, type=declared),)
                continue
            place = len(opened.params)
            term = self.builder.term(Op.PARAM, scope, place)
            for name in self.pattern_names(pattern):
                self.declare(name)
            opened.params = (*opened.params, self._parameter(child, pattern, declared))
            if pattern.type in _PATTERNS:
                patterns.append((pattern, term))
            else:
                self.assign(pattern, term)
            if any(each.type in {"accessibility_modifier", "readonly", "override_modifier"} for each in child.children):
                self._becomes_field(pattern, term, declared)
        for pattern, term in patterns:
            self.assign(pattern, term)

    def _pattern(self, node: Node) -> Node | None:
        """Return the pattern of a parameter, without its type and default."""
        if node.type in _PARAMETERS:
            return node.child_by_field_name("pattern")
        return node.child_by_field_name("left") if node.type == "assignment_pattern" else node

    def _parameter(self, node: Node, pattern: Node, declared: int) -> Param:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        shown = pattern.type == "identifier"
        default = self.named_value(value, self.text(pattern) if shown else "")
        rest = pattern.type == "rest_pattern"
        return Param(self.text(pattern) if shown else "", default, declared, "*" if rest else "")

    def _becomes_field(self, pattern: Node, term: int, declared: int) -> None:
        """Read TypeScript's ``constructor(private x: T)``."""
        name, holder = self.text(pattern), self.builder.scopes[self.scope].parent
        self.builder.stores.append(Store(self.this, term, name))
        if declared:
            self.builder.bind(holder, name, declared)

    def class_(self, node: Node, name: str) -> int:
        """Return the term of the class *node*, called *name* if it has no name of its own."""
        if self.too_deep():
            return UNKNOWN
        self.depth += 1
        own = node.child_by_field_name("name")
        generics = self.take_generics(node)
        bases = tuple(base for child in node.named_children if child.type == "class_heritage" for base in self._bases(child))
        called = self.text(own) or name or self._anonymous()
        promises = tuple(self._promised(node))
        opened = OpenScope("class", called, self.scope, node.start_point.row + 1, bases=bases, promises=promises)
        scope = self.enter(opened)
        term = self.builder.term(Op.DEF, scope)
        before = (self.scope, self.env, self.block, self.this, self.home)
        self.scope, self.env, self.home = scope, Env(self.builder), scope
        if own is not None and node.type == "class":
            self.block = Block(self.block.scope, self.block, nested=True, names={called: f"{called}@{node.start_byte}"})
            self.bind(called, term)
        self._members(node.child_by_field_name("body"), scope, term)
        self.scope, self.env, self.block, self.this, self.home = before
        self.generics = generics
        self.depth -= 1
        return term

    def _bases(self, heritage: Node) -> list[int]:
        found = []
        for child in heritage.named_children:
            if child.type == "extends_clause":
                found += [self.read(each) for each in child.children_by_field_name("value")]
                for each in child.children_by_field_name("type_arguments"):
                    self.note(each)
            elif child.type != "implements_clause":
                found.append(self.read(child))
        return found

    def _promised(self, node: Node) -> Iterator[int]:
        """Yield the term of each interface that the class *node* says it implements."""
        heritage = [each for child in node.named_children if child.type == "class_heritage" for each in child.named_children]
        for clause in heritage:
            if clause.type == "implements_clause":
                self.note(clause)
                for each in clause.named_children:
                    name = each.child_by_field_name("name") if each.type == "generic_type" else each
                    yield self.type_named(self.text(name))

    def _members(self, body: Node | None, scope: int, term: int) -> None:
        made = self.builder.term(Op.INSTANCE, term)
        signed: dict[str, int] = {}
        defined: set[str] = set()
        for child in body.named_children if body else ():
            kind = child.type
            static = any(each.type == "static" for each in child.children)
            self.this = term if static else made
            if kind in _MEMBERS:
                key, member = self._method(child, static=static)
                if kind == "method_definition":
                    defined.add(key)
                    self.builder.bind(scope, key, member)
                else:
                    signed[key] = member
            elif kind in _FIELDS:
                self._field(child, scope)
            elif kind == "class_static_block":
                self.this = term
                block = child.child_by_field_name("body")
                if block is not None:
                    self.nested(block, self.env.branch())
            elif kind == "decorator":
                self.decorate(child, UNKNOWN)
        for key, member in signed.items():
            if key not in defined:
                self.builder.bind(scope, key, member)

    def _method(self, node: Node, *, static: bool) -> tuple[str, int]:
        name = self.property_name(node.child_by_field_name("name"))
        kinds = {child.type for child in node.children}
        marks = ("classmethod",) * static + ("property",) * ("get" in kinds)
        term = self.function(node, name, owner=True, marks=marks)
        if name == "constructor" and not static:
            return _CONSTRUCTOR, term
        return (f"{name}=" if "set" in kinds else name), term

    def _field(self, node: Node, scope: int) -> None:
        name = self.property_name(node.child_by_field_name("name") or node.child_by_field_name("property"))
        declared = self.declared(node.child_by_field_name("type"))
        value = node.child_by_field_name("value")
        if value is not None and value.type in {"function_expression", "generator_function"}:
            term = self.function(value, name, owner=True)
        else:
            term = self.named_value(value, name)
        if declared:
            term = self.builder.term(Op.ELSE, term, declared) if term else declared
        self.builder.bind(scope, name, term)

    def decorate(self, node: Node, term: int) -> int:
        """Read the decorator *node* of *term*, and return what it makes of it."""
        shown = first(node)
        decorator = self.read(shown)
        site = self.builder.site("decorator", self.scope, decorator, node.start_point.row + 1, [("", term)])
        return self.builder.term(Op.CALL, site)

    def interface(self, node: Node, name: str) -> int:
        """Return the term of the interface with the members of *node*: a class that nothing makes."""
        if self.too_deep():
            return UNKNOWN
        self.depth += 1
        generics = self.take_generics(node)
        extended = [child for child in node.named_children if child.type == "extends_type_clause"]
        for each in extended:
            self.note(each)
        shown = [each for child in extended for each in child.children_by_field_name("type")]
        names = [each.child_by_field_name("name") if each.type == "generic_type" else each for each in shown]
        bases = tuple(self.type_named(self.text(each)) for each in names if each is not None)
        called = name or "<type>"
        scope = self.enter(
            OpenScope("class", called, self.scope, node.start_point.row + 1, bases=bases, marks=("interface",))
        )
        term = self.builder.term(Op.DEF, scope)
        before = (self.scope, self.env, self.this)
        self.scope, self.env = scope, Env(self.builder)
        self._members(node.child_by_field_name("body") or node, scope, term)
        self.scope, self.env, self.this = before
        self.generics = generics
        self.depth -= 1
        return term

    @abstractmethod
    def nested(self, node: Node, env: Env, *, block: Block | None = None) -> Env:
        """Walk *node* in *env*, with the names of *block* or of a block of its own; statements say how."""
