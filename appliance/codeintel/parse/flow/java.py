"""Java's statements and definitions, and with them the flow of one blob."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import GETTER, SETTER, UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.java_expressions import JavaExpressions
from appliance.codeintel.parse.flow.objects import CONSTRUCTOR
from appliance.codeintel.parse.flow.typed import first, line_of

_TYPES: Final = frozenset({
    "class_declaration", "interface_declaration", "enum_declaration", "record_declaration", "annotation_type_declaration",
})  # fmt: skip
_FIELDS: Final = frozenset({"field_declaration", "constant_declaration"})
_CONSTRUCTORS: Final = frozenset({"constructor_declaration", "compact_constructor_declaration"})


def java_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, Java and UTF-8, whose syntax tree *root* is."""
    return _Java(source).whole(root)


class _Java(JavaExpressions):
    def whole(self, root: Node) -> Flow:
        unit = ""
        for child in root.named_children:
            if child.type == "package_declaration":
                unit = self.text(first(child))
            elif child.type == "import_declaration":
                self._import(child)
        self.each(root)
        return self.finish(unit)

    def _import(self, node: Node) -> None:
        kinds = {child.type for child in node.children}
        parts = self.text(next((child for child in node.named_children if child.type.endswith("identifier")), None)).split(
            "."
        )
        if "asterisk" in kinds:
            self.bind("*", self.taken(parts) if "static" in kinds else self.builder.term(Op.IMPORT, text=".".join(parts)))
            self.brought.append(".".join(parts))
            return
        self.imports[parts[-1]] = self.taken(parts)
        self.origins[parts[-1]] = ".".join(parts[:-1])
        if "static" in kinds:
            self.imports[f"{parts[-1]}()"] = self.taken([*parts[:-1], f"{parts[-1]}()"])

    def _type_declaration(self, node: Node) -> int:
        name, body = self.text(node.child_by_field_name("name")), node.child_by_field_name("body")
        if body is None:
            return UNKNOWN
        bases = [
            self.type_term(each)
            for child in node.named_children
            if child.type in {"superclass", "super_interfaces", "extends_interfaces"}
            for each in (first(child).named_children if child.type != "superclass" else child.named_children)  # type: ignore[union-attr]
        ]
        self.body(node, body, name, bases=bases)
        return UNKNOWN

    def body(self, node: Node, body: Node, name: str, *, bases: Iterable[int]) -> int:
        """Return the term of the class *name* with the members of *body*."""
        kind, members = node.type, list(_members(body))
        components = node.child_by_field_name("parameters") if kind == "record_declaration" else None
        fields = {
            self.text(each.child_by_field_name("name"))
            for child in (*members, *(components.named_children if components is not None else ()))
            for each in (child.children_by_field_name("declarator") if child.type in _FIELDS else [child])
            if child.type in _FIELDS or child.type in {"enum_constant", "formal_parameter"}
        }
        types = frozenset(self.text(child.child_by_field_name("name")) for child in members if child.type in _TYPES)
        marks = ("interface",) if kind in {"interface_declaration", "annotation_type_declaration"} else ()
        if kind == "class_declaration" and self._is(node, "abstract"):
            marks = ("abstract",)
        with self.class_(node, name, bases=bases, marks=marks, fields=frozenset(fields), types=types) as term:
            self.take_generics(node)
            self._filled(node, members, components, term)
        if kind in _TYPES:
            self.declare_type(name, term)
        return term

    def _filled(self, node: Node, members: list[Node], components: Node | None, term: int) -> None:
        if node.type == "enum_declaration":
            made = self.instance(term)
            self.bind("values()", self.implicit(node, "values", self.held("list", node, [made])))
            self.bind("valueOf()", self.implicit(node, "valueOf", made))
        if components is not None:
            self._components(components, members)
        for child in members:
            if child.type in _CONSTRUCTORS:
                self._constructor(child, components)
            elif child.type == "enum_constant":
                self._constant(child, term, constructed=any(each.type in _CONSTRUCTORS for each in members))
            else:
                self.read(child)

    def _constant(self, node: Node, term: int, *, constructed: bool) -> None:
        name, body = self.text(node.child_by_field_name("name")), node.child_by_field_name("body")
        arguments = self.arguments(node.child_by_field_name("arguments"))
        if constructed:
            self.call(term, line_of(node), arguments)
        made = self.body(node, body, f"<{name}>", bases=(term,)) if body is not None else UNKNOWN
        self.bind(name, self.builder.join((self.instance(term), self.instance(made))) if made else self.instance(term))

    def _components(self, components: Node, members: list[Node]) -> None:
        """Bind what a record has of each component, if it does not say otherwise."""
        written = {self.text(child.child_by_field_name("name")) for child in members if child.type == "method_declaration"}
        listed = [child for child in components.named_children if child.type == "formal_parameter"]
        for child in listed:
            name, declared = self.text(child.child_by_field_name("name")), self.declared(child.child_by_field_name("type"))
            self.bind(name, declared)
            if name not in written:
                self.bind(f"{name}()", self.implicit(child, name, declared))
        constructors = [child for child in members if child.type in _CONSTRUCTORS]
        counts = [len(_parameters(child.child_by_field_name("parameters") or components)) for child in constructors]
        if constructors and len(listed) not in counts:
            with self.method(components, "<record>", static=True, marks=("signature", "implicit")) as term:
                self.parameters(components)
            self.bind(CONSTRUCTOR, term)

    def _constructor(self, node: Node, components: Node | None) -> None:
        with self.method(node, self.text(node.child_by_field_name("name"))) as term:
            self.take_generics(node)
            parameters = node.child_by_field_name("parameters") or components
            if parameters is not None:
                self.parameters(parameters)
            self.read(node.child_by_field_name("body"))
        self.bind(CONSTRUCTOR, term)

    def _method(self, node: Node) -> int:
        name, body = self.text(node.child_by_field_name("name")), node.child_by_field_name("body")
        static, parameters = self._is(node, "static"), node.child_by_field_name("parameters")
        bean = "" if static else _bean(name, len(_parameters(parameters)) if parameters is not None else 0)
        marks = ("abstract",) * (body is None) + ("property",) * bool(bean)
        with self.method(node, name, static=static, marks=marks) as term:
            self.take_generics(node)
            self.builder.scopes[self.scope].type = self.declared(node.child_by_field_name("type"))
            if parameters is not None:
                self.parameters(parameters)
            self.read(body)
        self.bind(f"{name}()", term)
        if bean:
            self.bind(bean, term)
        return UNKNOWN

    def _is(self, node: Node, word: str) -> bool:
        """Return whether *node* has the modifier *word*."""
        return any(each.type == word for child in node.children if child.type == "modifiers" for each in child.children)

    def parameters(self, node: Node) -> None:
        """Read the parameters of the function that the walk stands in."""
        for child in _parameters(node):
            if child.type == "spread_parameter":
                shown = next((each for each in child.named_children if each.type != "modifiers"), None)
                named = next((each for each in child.named_children if each.type == "variable_declarator"), None)
                name = self.text(named.child_by_field_name("name") if named is not None else None)
                self.parameter(name, self.held("list", child, [self.declared(shown)]), star=True)
            else:
                declared = self.declared(child.child_by_field_name("type"))
                self.parameter(self.text(child.child_by_field_name("name")), self._arrayed(child, declared))

    def _arrayed(self, node: Node, declared: int) -> int:
        """Return the term of an instance of what *node* declares, an array of *declared* with ``[]`` behind its name."""
        return self.held("list", node, [declared]) if node.child_by_field_name("dimensions") is not None else declared

    def _fields(self, node: Node) -> int:
        shown = self.declared(node.child_by_field_name("type"))
        for child in node.children_by_field_name("declarator"):
            value = child.child_by_field_name("value")
            term = self.begun(value, self._arrayed(child, shown))
            self.bind(self.text(child.child_by_field_name("name")), term)
        return UNKNOWN

    def _variables(self, node: Node) -> int:
        shown = self.declared(node.child_by_field_name("type"))
        for child in node.children_by_field_name("declarator"):
            value = child.child_by_field_name("value")
            term = self.begun(value, self._arrayed(child, shown))
            self.declare(self.text(child.child_by_field_name("name")), term)
        return UNKNOWN

    def _block(self, node: Node) -> int:
        with self.nested():
            return self.each(node)

    def _for_each(self, node: Node) -> int:
        over = self.read(node.child_by_field_name("value"))
        with self.nested():
            site = self.builder.site("iter", self.scope, over, line_of(node))
            term = self.narrowed(self.builder.term(Op.NEXT, over, site), self.declared(node.child_by_field_name("type")))
            self.declare(self.text(node.child_by_field_name("name")), term)
            self.read(node.child_by_field_name("body"))
        return UNKNOWN

    def _resource(self, node: Node) -> int:
        """Read what a ``try`` opens, which is closed at its end."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        term = self.read(value if name is not None else first(node))
        if name is not None:
            term = self.declared(node.child_by_field_name("type")) or term
            self.declare(self.text(name), term)
        self.call(self.attribute(term, "close()"), line_of(node), ())
        return UNKNOWN

    def _catch(self, node: Node) -> int:
        with self.nested():
            shown = next((child for child in node.named_children if child.type == "catch_formal_parameter"), None)
            if shown is not None:
                kind = next((child for child in shown.named_children if child.type == "catch_type"), None)
                self.declare(self.text(shown.child_by_field_name("name")), self.declared(kind))
            self.read(node.child_by_field_name("body"))
        return UNKNOWN

    def _return(self, node: Node) -> int:
        self.builder.scopes[self.scope].results.append(self.each(node))
        return UNKNOWN

    def visit(self, node: Node) -> int:
        """Read *node*, an expression, a statement or a definition."""
        reader = self._STATEMENTS.get(node.type)
        return reader(self, node) if reader is not None else super().visit(node)

    _STATEMENTS: ClassVar[dict[str, Callable[["_Java", Node], int]]] = {
        **dict.fromkeys(_TYPES, _type_declaration),
        **dict.fromkeys(_FIELDS, _fields),
        "method_declaration": _method,
        "annotation_type_element_declaration": _method,
        "local_variable_declaration": _variables,
        "block": _block,
        "constructor_body": _block,
        "for_statement": _block,
        "try_with_resources_statement": _block,
        "enhanced_for_statement": _for_each,
        "resource": _resource,
        "catch_clause": _catch,
        "return_statement": _return,
    }


def _members(body: Node) -> Iterable[Node]:
    for child in body.named_children:
        if child.type == "enum_body_declarations":
            yield from child.named_children
        else:
            yield child


def _parameters(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type in {"formal_parameter", "spread_parameter"}]


def _bean(name: str, takes: int) -> str:
    """Return the key of the property that Kotlin takes the method *name* for, "" for none."""
    if not name[3:4].isupper() or name[:3] != ("set" if takes else "get") or takes > 1:
        return ""
    return f"{SETTER if takes else GETTER}{name[3].lower()}{name[4:]}"
