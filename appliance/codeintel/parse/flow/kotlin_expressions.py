"""Kotlin's expressions: from nodes of the syntax tree to terms."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import GETTER, LAST, ON, UNKNOWN, Op
from appliance.codeintel.parse.flow.kotlin_library import SCOPES, KotlinLibrary
from appliance.codeintel.parse.flow.kotlin_types import TYPES, child_of, first_name, type_in
from appliance.codeintel.parse.flow.typed import first, line_of

_IT: Final = re.compile(rb"\bit\b")
_ON: Final = frozenset(
    {"apply", "run", "with", "buildString", "buildList"}
)  # what a lambda is handed is what it is called on
_OPERATORS: Final = {
    "+": "plus", "-": "minus", "*": "times", "/": "div", "%": "rem", "+=": "plus", "-=": "minus", "..": "rangeTo",
    "<": "compareTo", ">": "compareTo", "<=": "compareTo", ">=": "compareTo", "++": "inc", "--": "dec", "!": "not",
}  # fmt: skip
_COMPARE: Final = frozenset({"<", ">", "<=", ">=", "==", "!=", "===", "!==", "&&", "||", "!"})
_PASSED: Final = frozenset({"parenthesized_expression", "labeled_expression", "annotated_expression", "block"})
_LITERALS: Final = {
    "string_literal": "String", "multiline_string_literal": "String", "number_literal": "int", "float_literal": "double",
    "character_literal": "char", "boolean_literal": "boolean",
}  # fmt: skip


class KotlinExpressions(KotlinLibrary):
    """Reads expressions, and whatever else there is no better way to read, in the scope that it stands in."""

    functions: ClassVar[frozenset[str]] = frozenset({"lambda_literal", "anonymous_function", "annotated_lambda"})

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.handed: tuple[int, int] = (UNKNOWN, UNKNOWN)  # what the lambda that comes next is called on, and with

    def visit(self, node: Node) -> int:
        """Read *node*, an expression or a statement."""
        reader = self.READERS.get(node.type)
        if reader is not None:
            return reader(self, node)
        term = self.each(node)
        if node.type in _LITERALS:
            return self.constant(_LITERALS[node.type])
        return term if node.type in _PASSED else UNKNOWN

    def _identifier(self, node: Node) -> int:
        return self.named_at(self.text(node).strip("`"), node)

    def _this(self, node: Node) -> int:
        named = first_name(node)
        return self.this if named is None else self.outer(self.text(named)) or self.this

    def _super(self, _: Node) -> int:
        return self.behind()

    def _navigation(self, node: Node) -> int:
        base, name = self.read(node.named_children[0]), self.text(node.named_children[-1]).strip("`")
        if any(child.type == "::" for child in node.children):
            if name == "class":
                return self.language("Class")
            return self.builder.join((self.attribute(base, f"{name}()"), self.attribute(base, f"{GETTER}{name}")))
        return self.member(base, name, node.named_children[-1])

    def _reference(self, node: Node) -> int:
        """Read ``::name``."""
        return self.called(self.text(first_name(node)), node)

    def _call(self, node: Node) -> int:
        """Read a call, and in a long chain the calls before it, the first one first."""
        chain = [node]
        while (deeper := self._called_on(chain[-1])) is not None:
            chain.append(deeper)
        term = UNKNOWN
        for place, each in enumerate(reversed(chain)):
            term = self._one_call(each, term, inner=place > 0)
        return term

    def _callee(self, node: Node) -> Node | None:
        """Return what the call *node* calls; a lambda behind it is one of its arguments."""
        callee = first(node)
        behind = child_of(node, "annotated_lambda") is not None and child_of(node, "value_arguments") is None
        if (
            behind
            and callee is not None
            and callee.type == "call_expression"
            and child_of(callee, "annotated_lambda") is None
        ):
            return first(callee)
        return callee

    def _called_on(self, node: Node) -> Node | None:
        callee = self._callee(node)
        if callee is None or callee.type != "navigation_expression":
            return None
        base = callee.named_children[0]
        return base if base.type == "call_expression" else None

    def _one_call(self, node: Node, before: int, *, inner: bool) -> int:
        callee = self._callee(node)
        base, name, line = UNKNOWN, "", line_of(node)
        if callee is not None and callee.type == "navigation_expression":
            base = before if inner else self.read(callee.named_children[0])
            last = callee.named_children[-1]
            name, line = self.text(last).strip("`"), line_of(last)
            function = self._member_called(base, name)
        elif callee is not None and callee.type == "identifier":
            name = self.text(callee).strip("`")
            function = self.called(name, callee)
        else:
            function = self.attribute(self.read(callee), "invoke()")
        given = self._given(node)
        behind = bool(given) and given[-1].type in self.functions
        stands_for = self.instance(self.type_named(name)) if not base and behind and name[:1].isupper() else UNKNOWN
        arguments = self._arguments(given, base, name, stands_for)
        if name in SCOPES and (behind or (base and len(given) == 1)):
            outside = self.builder.term(Op.FROM, text="kotlin", name=name)
            function = self.builder.term(Op.ELSE, function, outside) if base else outside
        term = self.call(function, line, arguments)
        if stands_for and len(arguments) == 1:
            return self.narrowed(arguments[0][1], stands_for)
        return self.made(name, node, arguments, base, lazily=behind) or term

    def _member_called(self, base: int, name: str) -> int:
        """Return the term of the function *name* of *base*: a method, a type in it, or what a property of it holds."""
        method = self.attribute(base, f"{name}()")
        return self.builder.term(Op.ELSE, method, self.attribute(base, name)) if name[:1].isupper() else method

    def _given(self, node: Node) -> list[Node]:
        """Return the arguments of the call *node*, its lambda behind the others."""
        callee = first(node)
        inner = callee if callee is not None and callee.type == "call_expression" and callee != self._callee(node) else None
        found: list[Node] = []
        for part in (inner, node):
            listed = child_of(part, "value_arguments") if part is not None else None
            found += (
                [child for child in listed.named_children if child.type == "value_argument"] if listed is not None else []
            )
            behind = child_of(part, "annotated_lambda") if part is not None else None
            if behind is not None:
                found.append(behind)
        return found

    def _arguments(self, given: Iterable[Node], base: int, name: str, shape: int = UNKNOWN) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for child in given:
            named = first_name(child) if any(each.type == "=" for each in child.children) else None
            value = child.named_children[-1] if child.type == "value_argument" and child.named_children else child
            spread = value.type == "spread_expression"
            on = found[0][1] if name == "with" and found else base or self.this
            before = self.handed, self.shape
            self.handed = (on if name in _ON else UNKNOWN, on if name in SCOPES - _ON else UNKNOWN)
            self.shape = shape if value.type in self.functions else UNKNOWN
            term = self.read(value)
            self.handed, self.shape = before
            last = LAST if child.type == "annotated_lambda" else ""
            found.append(("*" if spread else self.text(named) or last, term))
        return found

    def _lambda(self, node: Node) -> int:
        shape, (on, it) = self.begin_lambda(), self.handed
        self.handed = (UNKNOWN, UNKNOWN)
        listed = child_of(node, "lambda_parameters")
        with self.method(node, self.anonymous(), kind="lambda") as term:
            if listed is not None:
                for place, each in enumerate(child for child in listed.named_children if "variable" in child.type):
                    self._taken(each, self.given_to(shape, place) or (it if place == 0 else UNKNOWN))
            elif _IT.search(self.source, node.start_byte, node.end_byte):
                self.parameter("it", self.given_to(shape, 0) or it)
            if not on and not it:
                on = self.builder.term(Op.PARAM, self.scope, len(self.builder.scopes[self.scope].params))
                self.parameter(ON, UNKNOWN, star=True)
            with self.on(on or self.this):
                self._lambda_body(child for child in node.named_children if child != listed)
        return term

    def _taken(self, node: Node, declared: int) -> None:
        if node.type == "multi_variable_declaration":
            place = len(self.builder.scopes[self.scope].params)
            self.parameter("", declared)
            self.unpack(node, self.builder.term(Op.PARAM, self.scope, place))
        else:
            self.parameter(self.text(first_name(node)), self.declared(type_in(node)) or declared)

    def _lambda_body(self, nodes: Iterable[Node]) -> None:
        term = UNKNOWN
        for child in nodes:
            term = self.read(child)
        self.builder.scopes[self.scope].results.append(term)

    def _wrapped(self, node: Node) -> int:
        return self.read(child_of(node, "lambda_literal"))

    def _function(self, node: Node) -> int:
        """Read ``fun(x: T): R { … }``."""
        with self.method(node, self.anonymous(), kind="lambda") as term:
            self.builder.scopes[self.scope].type = self.declared(type_in(node))
            self.parameters(child_of(node, "function_value_parameters"))
            self.body_of(child_of(node, "function_body"))
        return term

    def body_of(self, node: Node | None) -> None:
        """Read the body of the function that the walk stands in."""
        if node is None:
            return
        term = self.each(node)
        if any(child.type == "=" for child in node.children):
            self.builder.scopes[self.scope].results.append(term)

    def _index(self, node: Node) -> int:
        base, *keys = [self.read(child) for child in node.named_children]
        return self.operate(base, "get", node, keys)

    def _as(self, node: Node) -> int:
        value = node.child_by_field_name("left")
        return self.begun(value, self.declared(node.child_by_field_name("right")))

    def _is(self, node: Node) -> int:
        self.read(node.child_by_field_name("left"))
        return self.constant("boolean")

    def _unary(self, node: Node) -> int:
        term, operator = self.read(node.child_by_field_name("argument")), self.text(node.child_by_field_name("operator"))
        if operator in _OPERATORS:
            return self.operate(term, _OPERATORS[operator], node, ())
        return term

    def _binary(self, node: Node) -> int:
        """Read ``a + b + …``. A long sum leans to the left."""
        chain = []
        at: Node | None = node
        while at is not None and at.type == "binary_expression":
            chain.append(at)
            at = at.child_by_field_name("left")
        term = self.read(at)
        for each in reversed(chain):
            term = self._operated(each, term)
        return term

    def _operated(self, node: Node, left: int) -> int:
        operator, right = self.text(node.child_by_field_name("operator")), node.child_by_field_name("right")
        if operator == "&&":
            with self.nested():
                self.narrow(node.child_by_field_name("left"))
                self.read(right)
            return self.constant("boolean")
        value = self.read(right)
        if operator == "?:":
            return self.builder.join((left, value))
        if operator in _OPERATORS and not self.builder.is_text(left):
            result = self.operate(left, _OPERATORS[operator], node, (value,))
            return self.constant("boolean") if operator in _COMPARE else result
        return self.constant("boolean") if operator in _COMPARE else left

    def _range(self, node: Node) -> int:
        self.each(node)
        return self.held("list", node, [self.constant("int")])

    def _infix(self, node: Node) -> int:
        if len(node.named_children) != 3:
            return self.each(node)
        left, named, right = node.named_children
        base, value, name = self.read(left), self.read(right), self.text(named)
        if name == "to":
            place = f"{node.start_byte}:{node.end_byte}"
            return self.builder.term(Op.MAKE, text="pair", name=place, items=(base, value))
        return self.operate(base, name, named, (value,))

    def _in(self, node: Node) -> int:
        left, right = self.read(node.child_by_field_name("left")), self.read(node.child_by_field_name("right"))
        self.operate(right, "contains", node, (left,))
        return self.constant("boolean")

    def _assignment(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self.text(node.child_by_field_name("operator"))
        if operator != "=" and left is not None:
            base, value = self.read(left), self.read(right)
            self.operate(base, f"{_OPERATORS.get(operator, '')}Assign", node, (value,))
            self.operate(base, _OPERATORS.get(operator, "plus"), node, (value,))
            self.store(base, value)
            return UNKNOWN
        self.assign_to(left, self.read(right))
        return UNKNOWN

    def _if(self, node: Node) -> int:
        condition = node.child_by_field_name("condition")
        self.read(condition)
        branches = [child for child in node.named_children if child != condition]
        found = []
        for place, child in enumerate(branches):
            with self.nested():
                if place == 0:
                    self.narrow(condition)
                found.append(self.read(child))
        return self.builder.join(found)

    def _when(self, node: Node) -> int:
        subject = child_of(node, "when_subject")
        found = []
        with self.nested():
            asked = self._subject(subject) if subject is not None else None
            for entry in node.named_children:
                if entry.type == "when_entry":
                    with self.nested():
                        found.append(self._entry(entry, asked))
        return self.builder.join(found)

    def _subject(self, node: Node) -> Node | None:
        """Read what ``when`` asks about, and return its name, None if it has none."""
        declared = child_of(node, "variable_declaration")
        value = node.named_children[-1] if node.named_children else None
        if declared is None:
            self.read(value)
            return value
        self.declare(self.text(first_name(declared)), self.begun(value, self.declared(type_in(declared))))
        return first_name(declared)

    def _entry(self, node: Node, asked: Node | None) -> int:
        conditions = node.children_by_field_name("condition")
        for each in conditions:
            self.each(each) if each.type in {"type_test", "range_test"} else self.read(each)
        if len(conditions) == 1:
            if conditions[0].type == "type_test" and any(child.type == "is" for child in conditions[0].children):
                self.known_as(asked, type_in(conditions[0]))
            self.narrow(conditions[0])
        body = node.named_children[-1] if node.named_children else None
        return UNKNOWN if body is None or body in conditions else self.read(body)

    def _try(self, node: Node) -> int:
        return self.builder.join([self.read(child) for child in node.named_children if child.type != "finally_block"]) or (
            self.read(child_of(node, "finally_block"))
        )

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    @abstractmethod
    def object_(self, node: Node) -> int:
        """Return the term of the object that is made in place; definitions say how."""

    def _object(self, node: Node) -> int:
        return self.object_(node)

    READERS: ClassVar[dict[str, Callable[["KotlinExpressions", Node], int]]] = {
        "identifier": _identifier,
        "this_expression": _this,
        "super_expression": _super,
        "navigation_expression": _navigation,
        "callable_reference": _reference,
        "call_expression": _call,
        "lambda_literal": _lambda,
        "annotated_lambda": _wrapped,
        "anonymous_function": _function,
        "object_literal": _object,
        "index_expression": _index,
        "as_expression": _as,
        "is_expression": _is,
        "unary_expression": _unary,
        "binary_expression": _binary,
        "infix_expression": _infix,
        "range_expression": _range,
        "in_expression": _in,
        "assignment": _assignment,
        "if_expression": _if,
        "when_expression": _when,
        "try_expression": _try,
        **dict.fromkeys((
            "line_comment", "block_comment", "modifiers", "annotation", "import", "package_header", "file_annotation",
            "label", "string_content", "type_arguments", "shebang", *TYPES,
        ), _nothing),
    }  # fmt: skip
