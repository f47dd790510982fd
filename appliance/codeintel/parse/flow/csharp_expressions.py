"""C#'s expressions: from nodes of the syntax tree to terms."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import KIND, UNKNOWN, Op
from appliance.codeintel.parse.flow.csharp_bindings import INDEXER, THIS, CSharpBindings, value_of
from appliance.codeintel.parse.flow.objects import Objects
from appliance.codeintel.parse.flow.typed import first, line_of

_SAME: Final = frozenset({"ConfigureAwait", "GetAwaiter", "GetResult", "AsTask", "Result", "Value", "Unwrap", "Task"})
_AWAITED: Final = frozenset({"ConfigureAwait", "GetAwaiter", "GetResult", "AsTask", "Unwrap"})
_IMPLICIT: Final = "implicit_object_creation_expression"
_PASSED: Final = frozenset({
    "await_expression", "parenthesized_expression", "postfix_unary_expression", "checked_expression", "ref_expression",
    "arrow_expression_clause",
})  # fmt: skip
_TEXTS: Final = frozenset(
    {"string_literal", "interpolated_string_expression", "verbatim_string_literal", "raw_string_literal"}
)
_LITERALS: Final = {
    "integer_literal": "int",
    "real_literal": "double",
    "boolean_literal": "bool",
    "character_literal": "char",
}


class CSharpExpressions(CSharpBindings):
    """Reads expressions, and whatever else there is no better way to read, in the scope that it stands in."""

    functions: ClassVar[frozenset[str]] = frozenset({"lambda_expression", "anonymous_method_expression"})

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.wanted: list[Node | int | None] = [None]  # the types that `new()` stands for, or the terms of what is of them

    def visit(self, node: Node) -> int:
        """Read *node*, an expression or a statement."""
        kind = node.type
        reader = self.READERS.get(kind)
        if reader is not None:
            return reader(self, node)
        if kind in _LITERALS:
            return self.constant(_LITERALS[kind])
        term = self.each(node)
        return self.constant("string") if kind in _TEXTS else term if kind in _PASSED else UNKNOWN

    def each(self, node: Node) -> int:
        """Read everything in *node*, the words ``this`` and ``base`` too; return the term of the last thing."""
        term = UNKNOWN
        for child in node.children:
            if child.is_named or child.type in THIS:
                term = self.read(child)
        return term

    def read_as(self, node: Node | None, kind: Node | int | None) -> int:
        """Return the term of *node*, in which ``new()`` makes one of the type *kind*."""
        self.wanted.append(kind)
        term = self.read(node)
        self.wanted.pop()
        return term

    def begun_as(self, node: Node | None, kind: Node | None, declared: int) -> int:
        """Return the term of what is *declared*, of the type *kind*, and begins as *node*."""
        self.wanted.append(kind)
        term = self.begun(node, declared)
        self.wanted.pop()
        return term

    def _this(self, _: Node) -> int:
        return self.this

    def _base(self, _: Node) -> int:
        return self.behind()

    def _identifier(self, node: Node) -> int:
        return self.named_at(self.text(node), node)

    def _generic(self, node: Node) -> int:
        return self.named_at(self.text(first(node)), node)

    def _member(self, node: Node) -> int:
        shown, named = node.child_by_field_name("expression"), node.child_by_field_name("name")
        base = self.read(shown)
        name = self.text(first(named) if named is not None and named.type == "generic_name" else named)
        if name == "Value" and not self.homes:
            return base
        return self.member(base, name, named or node)

    def _conditional(self, node: Node) -> int:
        """Read ``a?.b``, ``a?[0]`` and, in one node, whatever is behind."""
        base = self.read(node.child_by_field_name("condition"))
        for child in node.named_children[1:]:
            base = self._bound(child, base)
        return base

    def _bound(self, node: Node, base: int) -> int:
        if node.type == "member_binding_expression":
            named = node.child_by_field_name("name")
            return self.member(base, self.text(first(named) if named and named.type == "generic_name" else named), node)
        if node.type == "element_binding_expression":
            self.each(node)
            return self._indexed(base, node)
        return self.read(node)

    def _invocation(self, node: Node) -> int:
        """Read a call, and in a long chain the calls before it, the first one first."""
        chain = [node]
        while (deeper := self._called_on(chain[-1])) is not None and deeper.type == "invocation_expression":
            chain.append(deeper)
        term = UNKNOWN
        for place, each in enumerate(reversed(chain)):
            term = self._call(each, term, inner=place > 0)
        return term

    def _called_on(self, node: Node) -> Node | None:
        function = node.child_by_field_name("function")
        return (
            function.child_by_field_name("expression") if function and function.type == "member_access_expression" else None
        )

    def _call(self, node: Node, before: int, *, inner: bool) -> int:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        named = function.child_by_field_name("name") if function is not None else None
        name = self.text(first(named) if named is not None and named.type == "generic_name" else named or function)
        if name == "nameof":
            return self.constant("string")
        base = UNKNOWN
        if function is not None and function.type == "member_access_expression":
            base = before if inner else self.read(function.child_by_field_name("expression"))
            if name in _AWAITED:
                self.arguments(given)
                return base
            callee = self.attribute(base, name)
        elif function is not None and function.type == "conditional_access_expression":
            base = self.read(function.child_by_field_name("condition"))
            callee = self._bound(function.named_children[-1], base)
        else:
            callee = self.read(function)
        found = (
            self.item(base)
            if name.startswith(("TryGet", "TryPeek", "TryDequeue", "TryPop", "TryTake", "TryRemove"))
            else UNKNOWN
        )
        arguments = self.arguments(given, out=found)
        return self.call(callee, line_of(named or node), arguments)

    def arguments(self, node: Node | None, *, out: int = UNKNOWN) -> list[tuple[str, int]]:
        """Return the terms of the arguments *node* of a call; what it gives through them is *out*."""
        found = []
        for child in node.named_children if node is not None else ():
            if child.type != "argument":
                continue
            name, value = child.child_by_field_name("name"), value_of(child)
            if value is not None and value.type == "declaration_expression":
                self.declaration(value, out)
            term = self.read(value)
            found.append((self.text(name), term))
        return found

    def _declared_here(self, node: Node) -> int:
        named = node.child_by_field_name("name")
        if named is not None and self.find(self.text(named)) is None:
            self.declaration(node, UNKNOWN)
        return self.named_at(self.text(named), node) if named is not None and named.type == "identifier" else UNKNOWN

    def _new(self, node: Node) -> int:
        shown = node.child_by_field_name("type") if node.type == "object_creation_expression" else self.wanted[-1]
        if isinstance(shown, int):
            kind = self.attribute(shown, KIND)
            return self._made(node, kind, self.instance(kind))
        if shown is not None and shown.type == "nullable_type":
            shown = shown.child_by_field_name("type")
        return self._made(node, self.type_term(shown), self.declared(shown))

    def _made(self, node: Node, kind: int, made: int) -> int:
        """Read how *node* makes one of the type *kind*, and return the term of what is *made*, perhaps of a function."""
        given = node.child_by_field_name("arguments") or _child(node, "argument_list")
        initializer = node.child_by_field_name("initializer") or _child(node, "initializer_expression")
        arguments = self.arguments(given)
        self.call(kind, line_of(node), arguments)
        if initializer is not None:
            self._initialized(initializer, made)
        return self.narrowed(arguments[0][1], made) if len(arguments) == 1 else made

    def _initialized(self, node: Node, made: int) -> None:
        """Read ``{ A = a, B = { … }, ["c"] = c }`` of what is *made*."""
        for child in node.named_children:
            left, right = child.child_by_field_name("left"), child.child_by_field_name("right")
            if child.type != "assignment_expression" or left is None:
                self.store(made, self.each(child) if child.type == "initializer_expression" else self.read(child))
            elif left.type == "identifier":
                self.set_member(made, self.text(left), self.read(right), left)
            else:
                self.each(left)
                self.store(made, self.read(right))

    def _anonymous_object(self, node: Node) -> int:
        items: list[int] = []
        name = ""
        for child in node.named_children:
            if child.next_sibling is not None and child.next_sibling.type == "=":
                name = self.text(child)
                continue
            items += (self.constant(f"str:{name or self.text(child).rpartition('.')[2]}"), self.read(child))
            name = ""
        return self.builder.term(Op.MAKE, text="dict", name=str(node.start_byte), items=tuple(items))

    def _lambda(self, node: Node) -> int:
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        if body is None:
            body = next((child for child in node.named_children if child.type == "block"), None)
        shape = self.begin_lambda()
        with self.method(node, self.anonymous(), kind="lambda") as term:
            if parameters is not None and parameters.type == "parameter_list":
                self.parameters(parameters, shape)
            elif parameters is not None:
                self.parameter(self.text(parameters), self.given_to(shape, 0))
            elif node.type == "anonymous_method_expression":
                self.parameter("", UNKNOWN, star=True)  # it takes whatever it is given
            value = self.read(body)
            if body is not None and body.type != "block":
                self.builder.scopes[self.scope].results.append(value)
        return term

    def _element(self, node: Node) -> int:
        base = self.read(node.child_by_field_name("expression"))
        self.within(node.child_by_field_name("subscript"))
        return self._indexed(base, node)

    def _indexed(self, base: int, node: Node) -> int:
        if not base:
            return UNKNOWN
        return self.builder.join((self.item(base), self.member(base, INDEXER, node)))

    def _cast(self, node: Node) -> int:
        """Read ``(T)x`` and ``x as T``."""
        value = node.child_by_field_name("value") or node.child_by_field_name("left")
        shown = node.child_by_field_name("type") or node.child_by_field_name("right")
        return self.begun_as(value, shown, self.declared(shown))

    def _array(self, node: Node) -> int:
        self.wanted.append(self._wanted_in(self.wanted[-1]))
        values = [self.read(child) for child in node.named_children]
        self.wanted.pop()
        return self.held("list", node, [each for each in values if not self.builder.is_constant(each)])

    def _wanted_in(self, kind: Node | int | None) -> Node | None:
        """Return the type of what is held by one of the type *kind*, None if that says nothing."""
        if kind is None or isinstance(kind, int):
            return None
        if kind.type in {"array_type", "nullable_type"}:
            inner = kind.child_by_field_name("type")
            return inner if kind.type == "array_type" else self._wanted_in(inner)
        _, given = self.parts(kind)
        return given[-1] if given else None

    def _new_array(self, node: Node) -> int:
        self.each(node)
        return self.declared(node.child_by_field_name("type"))

    def _tuple(self, node: Node) -> int:
        return self.tuple_(node, [self.read(value_of(child)) for child in node.named_children if child.type == "argument"])

    def _assignment(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        term = self.read_as(right, self._target(left) if right is not None and right.type == _IMPLICIT else None)
        self.assign_to(left, term)
        return term

    def _target(self, left: Node | None) -> int:
        """Return the term of what *left* holds, where that says what is made for it."""
        if left is not None and left.type == "identifier":
            variable = self.find(self.text(left))
            return variable.term if variable is not None else self.builder.term(Op.READ, self.scope, text=self.text(left))
        if left is not None and left.type == "member_access_expression":
            base = self.read(left.child_by_field_name("expression"))
            return self.attribute(base, self.text(left.child_by_field_name("name")))
        return UNKNOWN

    def _is(self, node: Node) -> int:
        term = self.read(node.child_by_field_name("expression"))
        self.match(node.child_by_field_name("pattern"), term)
        return UNKNOWN

    def _switch(self, node: Node) -> int:
        term = self.read(first(node))
        found = []
        for arm in node.named_children[1:]:
            with self.nested():
                self.match(first(arm), term)
                for child in arm.named_children[1:-1]:
                    self.read(child)
                found.append(self.read(arm.named_children[-1]) if len(arm.named_children) > 1 else UNKNOWN)
        return self.builder.join(found)

    def _query(self, node: Node) -> int:
        """Read ``from x in xs where … select …``."""
        term = UNKNOWN
        with self.nested():
            for child in node.named_children:
                named, value = child.child_by_field_name("name"), child.named_children[-1] if child.named_children else None
                term = self.read(value)
                if named is not None and child.type in {"from_clause", "join_clause"}:
                    self.declare(self.text(named), self.declared(child.child_by_field_name("type")) or self.item(term))
                elif child.type == "let_clause":
                    self.declare(self.text(first(child)), term)
                elif child.type not in {"select_clause", "group_clause"}:
                    self.each(child)
        return self.held("list", node, [term])

    def _alias(self, node: Node) -> int:
        return self.named_at(self.text(node.child_by_field_name("name")), node)

    def _kind(self, _: Node) -> int:
        return self.builder.term(Op.BUILTIN, text="Type")

    def _predefined(self, node: Node) -> int:
        return self.builder.term(Op.BUILTIN, text=self.text(node))

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    @abstractmethod
    def parameters(self, node: Node, shape: int = UNKNOWN) -> None:
        """Read the parameters of the function that the walk stands in, which is declared as *shape*."""

    READERS: ClassVar[dict[str, Callable[["CSharpExpressions", Node], int]]] = {
        "identifier": _identifier,
        "generic_name": _generic,
        "this": _this,
        "base": _base,
        "member_access_expression": _member,
        "conditional_access_expression": _conditional,
        "invocation_expression": _invocation,
        "object_creation_expression": _new,
        "implicit_object_creation_expression": _new,
        "anonymous_object_creation_expression": _anonymous_object,
        "lambda_expression": _lambda,
        "anonymous_method_expression": _lambda,
        "element_access_expression": _element,
        "cast_expression": _cast,
        "as_expression": _cast,
        "initializer_expression": _array,
        "collection_expression": _array,
        "array_creation_expression": _new_array,
        "implicit_array_creation_expression": Objects.each,
        "tuple_expression": _tuple,
        "declaration_expression": _declared_here,
        "assignment_expression": _assignment,
        "binary_expression": Objects.sum_of,
        "conditional_expression": Objects.one_of,
        "is_pattern_expression": _is,
        "switch_expression": _switch,
        "query_expression": _query,
        "predefined_type": _predefined,
        "alias_qualified_name": _alias,
        "typeof_expression": _kind,
        **dict.fromkeys((
            "sizeof_expression", "modifier", "comment", "attribute_list", "array_type",
            "nullable_type", "implicit_type", "string_content", "using_directive", "goto_statement", "type_parameter_list",
            "type_parameter_constraints_clause", "type_argument_list", "preproc_region", "preproc_endregion",
            "default_expression",
        ), _nothing),
    }  # fmt: skip


def _child(node: Node, kind: str) -> Node | None:
    return next((child for child in node.named_children if child.type == kind), None)
