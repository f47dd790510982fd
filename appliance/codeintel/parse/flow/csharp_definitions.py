"""C#'s types and their members."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import GETTER, SETTER, UNKNOWN
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.csharp_bindings import INDEXER
from appliance.codeintel.parse.flow.csharp_expressions import CSharpExpressions
from appliance.codeintel.parse.flow.objects import CONSTRUCTOR
from appliance.codeintel.parse.flow.typed import first, line_of

_TYPES: Final = frozenset({
    "class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "struct_declaration",
    "delegate_declaration",
})  # fmt: skip
_FIELDS: Final = frozenset({"field_declaration", "event_field_declaration"})
_PROPERTIES: Final = frozenset({"property_declaration", "event_declaration", "enum_member_declaration"})
_CONDITIONAL: Final = frozenset({"preproc_if", "preproc_elif", "preproc_else"})


class CSharpDefinitions(CSharpExpressions):
    """Reads definitions as well."""

    def _type_declaration(self, node: Node) -> int:
        name, body = self.text(node.child_by_field_name("name")), node.child_by_field_name("body")
        members = flat(body.named_children if body is not None else ())
        listed = next((child for child in node.named_children if child.type == "base_list"), None)
        bases = [
            self.type_term(each.child_by_field_name("type") if each.type == "primary_constructor_base_type" else each)
            for each in (listed.named_children if listed is not None else ())
            if each.type != "argument_list"
        ]
        components = next((child for child in node.named_children if child.type == "parameter_list"), None)
        marks = [mark for mark in ("abstract", "partial") if self.marked(node, mark)]
        if node.type == "interface_declaration":
            marks.append("interface")
        fields = {
            name
            for child in (*members, *(components.named_children if components is not None else ()))
            for name in self._names(child)
        }
        types = frozenset(self.text(child.child_by_field_name("name")) for child in members if child.type in _TYPES)
        with self.class_(node, name, bases=bases, marks=tuple(marks), fields=frozenset(fields), types=types) as term:
            self.take_generics(node)
            self._components(components, listed)
            for child in members:
                self.read(child)
        self.declare_type(name, term)
        return UNKNOWN

    def _names(self, node: Node) -> list[str]:
        """Return the names of the fields and properties that the member *node* declares."""
        if node.type in _FIELDS:
            inner = next((child for child in node.named_children if child.type == "variable_declaration"), None)
            found = (
                [child for child in inner.named_children if child.type == "variable_declarator"] if inner is not None else []
            )
            return [self.text(child.child_by_field_name("name")) for child in found]
        named = node.child_by_field_name("name") if node.type in _PROPERTIES or node.type == "parameter" else None
        return [self.text(named)] if named is not None else []

    def _components(self, components: Node | None, listed: Node | None) -> None:
        """Read the parameters of a class itself, which its members see, and what it hands to its base."""
        for child in components.named_children if components is not None else ():
            if child.type == "parameter":
                shown = child.child_by_field_name("type")
                self.bind(self.text(child.child_by_field_name("name")), self.declared(shown))
        for child in listed.named_children if listed is not None else ():
            given = (
                child
                if child.type == "argument_list"
                else next((c for c in child.named_children if c.type == "argument_list"), None)
            )
            if given is not None:
                self.call(self.attribute(self.behind(), CONSTRUCTOR), line_of(child), self.arguments(given))

    def _delegate(self, node: Node) -> int:
        """Read a delegate: a type of functions."""
        name = self.text(node.child_by_field_name("name"))
        with self.class_(node, name, marks=("interface",)) as term:
            self.take_generics(node)
            listed = node.child_by_field_name("parameters")
            taken = [self.declared(each.child_by_field_name("type")) for each in (listed.named_children if listed else ())]
            shown = self.signature(node, self.declared(node.child_by_field_name("type")), taken)
            self.bind("=", shown)
            self.bind("Invoke", shown)
        self.declare_type(name, term)
        return UNKNOWN

    def marked(self, node: Node, word: str) -> bool:
        """Return whether *node* has the modifier *word*."""
        return any(child.type == "modifier" and self.text(child) == word for child in node.children)

    def _method(self, node: Node) -> int:
        named, parameters = node.child_by_field_name("name"), node.child_by_field_name("parameters")
        name, static = self.text(named), self.marked(node, "static")
        shown = node.child_by_field_name("returns") or node.child_by_field_name("type")
        extended = UNKNOWN
        marks = ["extension"] if self._extends(parameters) else []
        marks += ["abstract"] if node.child_by_field_name("body") is None else []
        with self.method(node, name, static=static, marks=tuple(marks)) as term:
            self.take_generics(node)
            self.builder.scopes[self.scope].type = self.declared(shown)
            if parameters is not None:
                self.parameters(parameters)
                extended = self._extended(parameters)
            self.body_of(node, shown)
        self.bind(name, term)
        if extended:
            self._extend(node, name, term, extended)
        return UNKNOWN

    def body_of(self, node: Node, shown: Node | None) -> None:
        """Read the body of the function *node*, which gives one of the type *shown*."""
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        if body is None:
            return
        term = self.read_as(body, shown)
        if body.type == "arrow_expression_clause":
            self.builder.scopes[self.scope].results.append(term)

    def _extends(self, parameters: Node | None) -> bool:
        listed = first(parameters)
        return listed is not None and listed.type == "parameter" and self.marked(listed, "this")

    def _extended(self, parameters: Node) -> int:
        listed = first(parameters)
        return (
            UNKNOWN if listed is None or not self._extends(parameters) else self.extended(listed.child_by_field_name("type"))
        )

    def _extend(self, node: Node, name: str, term: int, extended: int) -> None:
        """Let the function *term* be a member of the type *extended* too."""
        opened = OpenScope("class", "", self.scope, line_of(node), bases=(extended,), marks=("extends",))
        with self.inside(opened):
            self.bind(name, term)

    def _constructor(self, node: Node) -> int:
        name = self.text(node.child_by_field_name("name"))
        static = self.marked(node, "static")
        with self.method(node, name, static=static) as term:
            parameters = node.child_by_field_name("parameters")
            if parameters is not None:
                self.parameters(parameters)
            initializer = next((child for child in node.named_children if child.type == "constructor_initializer"), None)
            if initializer is not None:
                base = self.behind() if any(child.type == "base" for child in initializer.children) else self.this
                self.call(self.attribute(base, CONSTRUCTOR), line_of(initializer), self.arguments(first(initializer)))
            self.body_of(node, None)
        if not static:
            self.bind(CONSTRUCTOR, term)
        return UNKNOWN

    def _operator(self, node: Node) -> int:
        named = node.child_by_field_name("operator")
        with self.method(node, f"operator{self.text(named)}", static=True):
            parameters = node.child_by_field_name("parameters")
            if parameters is not None:
                self.parameters(parameters)
            self.body_of(node, node.child_by_field_name("type"))
        return UNKNOWN

    def _destructor(self, node: Node) -> int:
        with self.method(node, self.text(node.child_by_field_name("name"))):
            self.body_of(node, None)
        return UNKNOWN

    def parameters(self, node: Node, shape: int = UNKNOWN) -> None:
        """Read the parameters of the function that the walk stands in, which is declared as *shape*."""
        for child in node.named_children:
            if child.type == "parameter":
                place = len(self.builder.scopes[self.scope].params)
                shown = child.child_by_field_name("type")
                default = self.constant("default") if any(each.type == "=" for each in child.children) else UNKNOWN
                name = self.text(child.child_by_field_name("name"))
                self.parameter(
                    name,
                    self.declared(shown) or self.given_to(shape, place),
                    default=default,
                    star=self.marked(child, "params"),
                )
        if any(child.type == "params" for child in node.children):
            shown, named = node.child_by_field_name("type"), node.child_by_field_name("name")
            self.parameter(self.text(named), self.declared(shown), star=True)

    def _property(self, node: Node) -> int:
        named, shown = node.child_by_field_name("name"), node.child_by_field_name("type")
        name = self.text(named) if named is not None else INDEXER
        declared = self.declared(shown)
        accessors, value = node.child_by_field_name("accessors"), node.child_by_field_name("value")
        interface = "interface" in self.builder.scopes[self.scope].marks
        for child in accessors.named_children if accessors is not None else ():
            kind = self.text(child.child_by_field_name("name"))
            if child.child_by_field_name("body") is not None or interface or self.marked(node, "abstract"):
                self._accessor(node, name, child, kind, declared)
        if accessors is None and value is not None:
            self._accessor(node, name, node, "get", declared)
        elif value is not None:
            declared = self.begun_as(value, shown, declared)
        self.bind(name, declared)
        return UNKNOWN

    def _enum_member(self, node: Node) -> int:
        self.each(node)
        self.bind(self.text(node.child_by_field_name("name")), self.this)
        return UNKNOWN

    def _accessor(self, node: Node, name: str, part: Node, kind: str, declared: int) -> None:
        shown = node.child_by_field_name("type")
        with self.method(node, name, static=self.marked(node, "static"), marks=("property",)) as term:
            listed = node.child_by_field_name("parameters")
            if listed is not None:
                self.parameters(listed)
            if kind == "get":
                self.builder.scopes[self.scope].type = declared
            else:
                self.parameter("value", declared)
            self.body_of(part, shown)
        self.bind(f"{GETTER if kind == 'get' else SETTER}{name}", term)

    def _fields(self, node: Node) -> int:
        inner = next((child for child in node.named_children if child.type == "variable_declaration"), None)
        for name, term in self.declarators(inner):
            self.bind(name, term)
        return UNKNOWN

    def declarators(self, node: Node | None) -> Iterable[tuple[str, int]]:
        """Yield what a declaration of variables declares, and what each holds."""
        shown = node.child_by_field_name("type") if node is not None else None
        declared = self.declared(shown)
        for child in node.named_children if node is not None else ():
            if child.type != "variable_declarator":
                continue
            named = first(child)
            value = child.named_children[-1] if any(each.type == "=" for each in child.children) else None
            term = self.begun_as(value, shown, declared)
            if named is not None and named.type == "tuple_pattern":
                for place, each in enumerate(named.named_children):
                    yield self.text(each), self.item(term, place)
            else:
                yield self.text(named), term

    def visit(self, node: Node) -> int:
        """Read *node*, an expression or a definition."""
        reader = self._DEFINITIONS.get(node.type)
        return reader(self, node) if reader is not None else super().visit(node)

    _DEFINITIONS: ClassVar[dict[str, Callable[["CSharpDefinitions", Node], int]]] = {
        **dict.fromkeys(_TYPES, _type_declaration),
        **dict.fromkeys(_FIELDS, _fields),
        **dict.fromkeys(("property_declaration", "event_declaration", "indexer_declaration"), _property),
        "delegate_declaration": _delegate,
        "enum_member_declaration": _enum_member,
        "method_declaration": _method,
        "constructor_declaration": _constructor,
        "destructor_declaration": _destructor,
        "operator_declaration": _operator,
        "conversion_operator_declaration": _operator,
    }


def flat(nodes: Iterable[Node]) -> list[Node]:
    """Return *nodes*, and in the place of what stands there only under a condition what that is, whatever the condition."""
    found = []
    waiting = list(nodes)[::-1]
    while waiting:
        at = waiting.pop()
        if at.type in _CONDITIONAL:
            condition = at.child_by_field_name("condition")
            waiting += [child for child in reversed(at.named_children) if child != condition]
        else:
            found.append(at)
    return found
