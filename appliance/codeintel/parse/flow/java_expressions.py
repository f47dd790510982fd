"""Java's expressions: from nodes of the syntax tree to terms."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.java_types import JavaTypes
from appliance.codeintel.parse.flow.objects import CONSTRUCTOR, Objects
from appliance.codeintel.parse.flow.typed import first, line_of

_MAKERS: Final = frozenset({"Objects", "Collections", "List", "Set", "Map", "Arrays", "Stream", "Optional"})
_SAME: Final = frozenset({"requireNonNull", "requireNonNullElse", "copyOf"})
_HOLDING: Final = frozenset({"of", "asList", "stream", "ofNullable", "concat"})
_PASSED: Final = frozenset({"parenthesized_expression", "unary_expression", "update_expression"})
_LITERALS: Final = {
    "string_literal": "String", "character_literal": "char", "true": "boolean", "false": "boolean",
    **dict.fromkeys(("decimal_integer_literal", "hex_integer_literal", "octal_integer_literal"), "int"),
    "decimal_floating_point_literal": "double",
}  # fmt: skip


class JavaExpressions(JavaTypes):
    """Reads expressions, and whatever else there is no better way to read, in the scope that it stands in."""

    functions: ClassVar[frozenset[str]] = frozenset({"lambda_expression", "method_reference"})

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.given: list[list[int]] = []  # what each `switch` around gives

    def visit(self, node: Node) -> int:
        """Read *node*, an expression or a statement."""
        reader = self.READERS.get(node.type)
        if reader is not None:
            return reader(self, node)
        if node.type in _LITERALS:
            return self.constant(_LITERALS[node.type])
        term = self.each(node)
        return term if node.type in _PASSED else UNKNOWN

    def _identifier(self, node: Node) -> int:
        return self.named(self.text(node))

    def named(self, name: str) -> int:
        """Return the term of what *name* holds here: a variable, a field, a type, or what is imported."""
        variable = self.find(name)
        if variable is not None:
            return variable.term or self.builder.term(Op.READ, variable.scope, text=variable.own)
        home = next((each for each in reversed(self.homes) if name in each.fields), None)
        if home is not None:
            return self.builder.term(Op.READ, home.scope, text=name)
        if name[:1].isupper():
            return self.type_named(name)
        return self.inherited(name)

    def _this(self, _: Node) -> int:
        return self.this

    def _super(self, _: Node) -> int:
        return self.behind()

    def _field(self, node: Node) -> int:
        base, field = node.child_by_field_name("object"), node.child_by_field_name("field")
        if field is not None and field.type == "this":
            return self.outer(self.text(base).rpartition(".")[2])
        if field is not None and field.type == "super":
            return self.behind()
        return self.attribute(self.read(base), self.text(field))

    def _invocation(self, node: Node) -> int:
        """Read a call, and in a long chain the calls before it, the first one first."""
        chain = [node]
        while (at := chain[-1].child_by_field_name("object")) is not None and at.type == "method_invocation":
            chain.append(at)
        term = UNKNOWN
        for place, each in enumerate(reversed(chain)):
            named, on = each.child_by_field_name("name"), each.child_by_field_name("object")
            key = f"{self.text(named)}()"
            callee = self.inherited(key) if on is None else self.attribute(term if place else self.read(on), key)
            arguments = self.arguments(each.child_by_field_name("arguments"))
            term = self.call(callee, line_of(named or each), arguments)
            if on is not None and on.type == "identifier":
                term = self._made(self.text(on), self.text(named), each, [given for _, given in arguments]) or term
        return term

    def _made(self, kind: str, name: str, node: Node, arguments: Sequence[int]) -> int:
        """Return the term of what the library's *kind* makes of *arguments*, UNKNOWN if nothing."""
        if not arguments or kind not in _MAKERS or self.find(kind) is not None or not self.is_library(kind):
            return UNKNOWN
        if name in _SAME or name.startswith(("unmodifiable", "synchronized")):
            return arguments[0]
        if kind in {"Map", "Objects", "Collections"} or name not in _HOLDING:
            return UNKNOWN
        held = [each for each in arguments if not self.builder.is_constant(each)]
        return self.held("list", node, [*held, *(self.item(each) for each in held if len(held) == 1)])

    def arguments(self, node: Node | None) -> list[tuple[str, int]]:
        """Return the terms of the arguments *node* of a call."""
        children = node.named_children if node is not None else ()
        return [("", self.read(child)) for child in children if "comment" not in child.type]

    def _explicit(self, node: Node) -> int:
        """Read ``this(…)`` and ``super(…)`` in a constructor."""
        which = node.child_by_field_name("constructor")
        if which is not None and which.type == "super" and not self.homes[-1].derived:
            return self.each(node)
        base = self.behind() if which is not None and which.type == "super" else self.this
        self.call(self.attribute(base, CONSTRUCTOR), line_of(node), self.arguments(node.child_by_field_name("arguments")))
        return UNKNOWN

    def _new(self, node: Node) -> int:
        shown = node.child_by_field_name("type")
        for child in node.named_children:
            if child == shown:
                break
            self.read(child)  # the instance that an inner class is made in
        kind = self.type_term(shown)
        arguments = self.arguments(node.child_by_field_name("arguments"))
        self.call(kind, line_of(node), arguments)
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        if body is not None:
            return self.instance(self.body(node, body, self.anonymous(), bases=(kind,)))
        return self._held_by(node, shown, [term for _, term in arguments]) or self.instance(kind)

    def _held_by(self, node: Node, shown: Node | None, arguments: Sequence[int]) -> int:
        """Return the term of the container that is made at *node*, with what is copied into it; UNKNOWN if it is none."""
        named, given = self.parts(shown) if shown is not None else (None, ())
        name = self.text(named)
        if not name or not self.is_library(name):
            return UNKNOWN
        kinds = [self.declared(each) for each in given]
        made = self.container(name, node, kinds or [UNKNOWN, UNKNOWN])
        copied = [self.item(each) for each in arguments if not self.builder.is_plain(each)]
        return self.held("list", node, [*kinds[:1], *copied]) if made and len(kinds) < 2 and copied else made

    def _reference(self, node: Node) -> int:
        """Read ``X::name``."""
        on = first(node)
        name = self.text(node.children[-1]) if node.children else ""
        if name == "new":
            return self.type_term(on)
        return self.attribute(self.read(on), f"{name}()")

    def _lambda(self, node: Node) -> int:
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        shape = self.begin_lambda()
        with self.method(node, self.anonymous(), kind="lambda") as term:
            if parameters is not None and parameters.type == "formal_parameters":
                self.parameters(parameters)
            elif parameters is not None:
                names = [parameters] if parameters.type == "identifier" else parameters.named_children
                for place, each in enumerate(names):
                    self.parameter(self.text(each), self.given_to(shape, place))
            value = self.read(body)
            if body is not None and body.type != "block":
                self.builder.scopes[self.scope].results.append(value)
        return term

    def _access(self, node: Node) -> int:
        base = self.read(node.child_by_field_name("array"))
        self.read(node.child_by_field_name("index"))
        return self.item(base)

    def _array(self, node: Node) -> int:
        values = [self.read(child) for child in node.named_children]
        return self.held("list", node, [each for each in values if not self.builder.is_constant(each)])

    def _new_array(self, node: Node) -> int:
        self.each(node)
        return self.held("list", node, [self.declared(node.child_by_field_name("type"))])

    def _cast(self, node: Node) -> int:
        shown, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        return self.begun(value, self.declared(shown))

    def _assignment(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        term = self.read(right)
        if left is None:
            return term
        if left.type == "identifier":
            name = self.text(left)
            if self.find(name) is not None:
                self.assign(name, term)
            else:
                self.store(self.holder(name), term, name=name)
        elif left.type == "field_access":
            base = self.read(left.child_by_field_name("object"))
            self.store(base, term, name=self.text(left.child_by_field_name("field")))
        elif left.type == "array_access":
            base = self.read(left.child_by_field_name("array"))
            self.read(left.child_by_field_name("index"))
            self.store(base, term, key=UNKNOWN)
        return term

    def _instanceof(self, node: Node) -> int:
        self.read(node.child_by_field_name("left"))
        name, pattern = node.child_by_field_name("name"), node.child_by_field_name("pattern")
        if name is not None:
            self.declare(self.text(name), self.declared(node.child_by_field_name("right")))
        self.match(pattern)
        return UNKNOWN

    def match(self, node: Node | None) -> None:
        """Declare the variables of a pattern."""
        waiting = [node] if node is not None else []
        while waiting:
            at = waiting.pop()
            named = [child for child in at.named_children if child.type != "modifiers"]
            if at.type in {"type_pattern", "record_pattern_component"} and len(named) == 2:
                self.declare(self.text(named[1]), self.declared(named[0]))
            else:
                waiting += reversed(named)

    def _switch(self, node: Node) -> int:
        self.read(node.child_by_field_name("condition"))
        body = node.child_by_field_name("body")
        self.given.append([])
        for group in body.named_children if body is not None else ():
            with self.nested():
                self._case(group)
        return self.builder.join(self.given.pop())

    def _case(self, group: Node) -> None:
        for child in group.named_children:
            if child.type == "switch_label":
                for each in child.named_children:
                    if each.type == "pattern":
                        self.match(each)
                    elif each.type == "guard":
                        self.each(each)
                continue
            shown = first(child) if child.type == "expression_statement" else None
            term = self.read(shown or child)
            if shown is not None and group.type == "switch_rule":
                self.given[-1].append(term)

    def _yield(self, node: Node) -> int:
        term = self.each(node)
        if self.given:
            self.given[-1].append(term)
        return UNKNOWN

    def _class(self, _: Node) -> int:
        return self.builder.term(Op.BUILTIN, text="Class")

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    @abstractmethod
    def body(self, node: Node, body: Node, name: str, *, bases: Iterable[int]) -> int:
        """Return the term of the class *name* with the members of *body*; definitions say how."""

    @abstractmethod
    def parameters(self, node: Node) -> None:
        """Read the parameters of the function that the walk stands in; definitions say how."""

    READERS: ClassVar[dict[str, Callable[["JavaExpressions", Node], int]]] = {
        "identifier": _identifier,
        "this": _this,
        "super": _super,
        "field_access": _field,
        "method_invocation": _invocation,
        "explicit_constructor_invocation": _explicit,
        "object_creation_expression": _new,
        "method_reference": _reference,
        "lambda_expression": _lambda,
        "array_access": _access,
        "array_initializer": _array,
        "array_creation_expression": _new_array,
        "cast_expression": _cast,
        "assignment_expression": _assignment,
        "binary_expression": Objects.sum_of,
        "ternary_expression": Objects.one_of,
        "instanceof_expression": _instanceof,
        "switch_expression": _switch,
        "yield_statement": _yield,
        "class_literal": _class,
        **dict.fromkeys((
            "modifiers", "line_comment", "block_comment", "type_identifier", "generic_type", "array_type",
            "dimensions", "string_fragment", "import_declaration", "package_declaration", "break_statement",
            "continue_statement",
        ), _nothing),
    }  # fmt: skip
