"""Go's types: what a value of the type that is written there can be, and the types that a file defines."""

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.typed import Typed, first, line_of

_THROUGH = frozenset({"pointer_type", "parenthesized_type", "type_elem", "type_constraint", "negated_type"})
_AROUND = frozenset({"pointer_type", "parenthesized_type", "generic_type"})
_NAMES = frozenset({"type_identifier", "qualified_type", "generic_type", "identifier", "package_identifier"})
_LISTS = {"slice_type": "element", "array_type": "element", "implicit_length_array_type": "element", "channel_type": "value"}
UNDERLYING = "="


class Types(Typed):
    """Reads types."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.composed_at: dict[int, int] = {}  # by place: of a list of structs each element names the type again

    def type_named(self, node: Node | None) -> int:
        """Return the term of the type that *node* names, UNKNOWN if it is no name."""
        while node is not None and node.type in _AROUND:
            node = node.child_by_field_name("type") if node.type == "generic_type" else first(node)
        if node is None:
            return UNKNOWN
        if node.type == "qualified_type":
            package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
            return self.attribute(self.named(self.text(package)), self.text(name))
        return self.named(self.text(node)) if node.type in _NAMES else UNKNOWN

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        while node is not None and node.type in _THROUGH and node.named_child_count == 1:
            node = first(node)
        if node is None or self.too_deep():
            return UNKNOWN
        self.depth += 1
        self.at_line = line_of(node)
        term = self._declared(node)
        self.depth -= 1
        return term

    def _declared(self, node: Node) -> int:
        kind = node.type
        if kind in _NAMES:
            name = self.text(node)
            if name in self.generics:
                return self.generics[name]
            return UNKNOWN if name == "any" and self.find(name) is None else self.instance(self.type_named(node))
        if kind in _LISTS:
            element = self.declared(node.child_by_field_name(_LISTS[kind]))
            return self.held("chan" if kind == "channel_type" else "list", node, [element])
        if kind == "map_type":
            return self.held("map", node, [self.declared(node.child_by_field_name("value"))])
        if kind == "function_type":
            return self.signature(node, self.results(node))
        if kind in {"struct_type", "interface_type"} and (kind == "struct_type" or node.named_child_count):
            return self.instance(self.composed(node, "<type>"))
        return UNKNOWN

    def results(self, node: Node) -> int:
        """Return the term of what the function *node* declares to give."""
        result = node.child_by_field_name("result")
        if result is None or result.type != "parameter_list":
            return self.declared(result)
        found: list[int] = []
        for child in result.named_children:
            if child.type == "parameter_declaration":
                shown = self.declared(child.child_by_field_name("type"))
                found += [shown] * max(1, len(child.children_by_field_name("name")))
        return self.tuple_(result, found) if len(found) > 1 else found[0] if found else UNKNOWN

    def take_results(self, node: Node, opened: OpenScope) -> None:
        """Let *opened*, the function *node*, have its result, and be marked as one that has any."""
        opened.type = self.results(node)
        if node.child_by_field_name("result") is not None:
            opened.marks += ("gives",)

    def take_generics(self, node: Node) -> None:
        """Know the parameters that the types of *node* take, each as what it is at least."""
        listed = node.child_by_field_name("type_parameters")
        for child in listed.named_children if listed else ():
            for name in child.children_by_field_name("name"):
                self.generics[self.text(name)] = UNKNOWN
        for child in listed.named_children if listed else ():
            least = self.declared(child.child_by_field_name("type"))
            for name in child.children_by_field_name("name"):
                self.generics[self.text(name)] = least

    def parameters(self, node: Node | None) -> None:
        """Add the parameters *node* to this function."""
        for child in node.named_children if node else ():
            if child.type not in {"parameter_declaration", "variadic_parameter_declaration"}:
                continue
            star = child.type.startswith("variadic")
            declared = self.declared(child.child_by_field_name("type"))
            declared = self.held("list", child, [declared]) if star else declared
            for name in map(self.text, child.children_by_field_name("name") or (None,)):
                self.parameter(name, declared, star=star)

    def defined_type(self, node: Node) -> tuple[str, int]:
        """Return the name and term of the type that a ``type_spec`` or ``type_alias`` defines."""
        name, shown = self.text(node.child_by_field_name("name")), node.child_by_field_name("type")
        if shown is None:
            return name, UNKNOWN
        if node.type == "type_alias" and shown.type in _NAMES:
            return name, self.type_named(shown)
        if shown.type in {"struct_type", "interface_type"}:
            return name, self.composed(shown, name, spec=node)
        base = self.type_named(shown)
        opened = OpenScope("class", name, self.scope, line_of(node), bases=(base,) if base else ())
        with self.inside(opened) as scope:
            self.take_generics(node)
            underneath = self.declared(shown)
            if underneath and not base:
                self.bind(UNDERLYING, underneath)
        return name, self.builder.term(Op.DEF, scope)

    def composed(self, node: Node, name: str, *, spec: Node | None = None) -> int:
        """Return the term of the struct or interface *node*, called *name*."""
        known = self.composed_at.get(node.start_byte)
        if known is not None:
            return known
        marks = ("interface",) if node.type == "interface_type" else ()
        opened = OpenScope("class", name, self.scope, line_of(spec or node), marks=marks)
        with self.inside(opened) as scope:
            if spec is not None:
                self.take_generics(spec)
            bases = self._methods(node) if marks else self._fields(first(node))
        opened.bases = tuple(base for base in bases if base)
        term = self.composed_at[node.start_byte] = self.builder.term(Op.DEF, scope)
        return term

    def _fields(self, node: Node | None) -> list[int]:
        """Bind the fields of a struct; return the types that are embedded."""
        bases = []
        for child in node.named_children if node else ():
            if child.type != "field_declaration":
                continue
            names, shown = child.children_by_field_name("name"), child.child_by_field_name("type")
            for name in names:
                self.bind(self.text(name), self.declared(shown))
            if not names and shown is not None:
                bases.append(self.type_named(shown))
                self.bind(self._last(shown), self.declared(shown))
        return bases

    def _last(self, node: Node) -> str:
        """Return the name of the field that embeds the type *node*."""
        shown = node.child_by_field_name("type") if node.type == "generic_type" else node
        return self.text(shown).rpartition(".")[2].strip("*() ")

    def _methods(self, node: Node) -> list[int]:
        """Bind the methods of an interface; return the interfaces that it takes in."""
        bases = []
        for child in node.named_children:
            if child.type == "method_elem":
                name = self.text(child.child_by_field_name("name"))
                opened = OpenScope("function", name, self.scope, line_of(child), marks=("abstract",))
                with self.inside(opened) as scope:
                    self.parameter(RECEIVER, UNKNOWN)
                    self.parameters(child.child_by_field_name("parameters"))
                    self.take_results(child, opened)
                self.bind(name, self.builder.term(Op.DEF, scope))
            elif child.type == "type_elem" and child.named_child_count == 1:
                bases.append(self.type_named(first(child)))
        return bases
