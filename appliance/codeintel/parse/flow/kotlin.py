"""Kotlin's statements and definitions, and with them the flow of one blob."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import GETTER, SETTER, UNKNOWN, Flow, Op, Param
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.kotlin_expressions import KotlinExpressions
from appliance.codeintel.parse.flow.kotlin_types import TYPES, child_of, first_name, type_in
from appliance.codeintel.parse.flow.objects import CONSTRUCTOR
from appliance.codeintel.parse.flow.typed import Variable, first, line_of

_CLASSES: Final = frozenset({"class_declaration", "object_declaration", "companion_object"})


def kotlin_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, Kotlin and UTF-8, whose syntax tree *root* is."""
    return _Kotlin(source).whole(root)


class _Kotlin(KotlinExpressions):
    def whole(self, root: Node) -> Flow:
        unit = ""
        for child in root.named_children:
            if child.type == "package_header":
                unit = self._full(child)
            elif child.type == "import":
                self._import(child)
        self.each(root)
        return self.finish(unit)

    def _full(self, node: Node) -> str:
        return "".join(self.text(child_of(node, "qualified_identifier") or first_name(node)).replace("`", "").split())

    def _import(self, node: Node) -> None:
        parts = self._full(node).split(".")
        if any(child.type == "*" for child in node.children):
            self.bind("*", self.builder.term(Op.IMPORT, text=".".join(parts)))
            self.brought.append(".".join(parts))
            return
        alias = next((child for child in node.named_children if child.type == "identifier"), None)
        name = self.text(alias) if alias is not None and len(node.named_children) > 1 else parts[-1]
        self.imports[name] = self.taken(parts)
        self.imports[f"{name}()"] = self.taken([*parts[:-1], f"{parts[-1]}()"])
        self.origins[name] = ".".join(parts[:-1])

    def _class(self, node: Node) -> int:
        companion = node.type == "companion_object"
        named = node.child_by_field_name("name") or (None if companion else first_name(node))
        name = self.text(named) or ("Companion" if companion else self.anonymous())
        term, scope = self._typed(node, name)
        single = self.instance(term)
        if node.type == "class_declaration":
            self.declare_type(name, term)
        else:
            self.declare_type(name, self.builder.join((term, single)))
        if companion:
            self.bind("Companion", single)
            for key, terms in list(self.builder.scopes[scope].bound.items()):
                if not key.startswith("new()"):
                    self.bind(key, self.builder.join(terms))
        return UNKNOWN

    def object_(self, node: Node) -> int:
        """Return the term of the object that is made in place."""
        return self.instance(self._typed(node, self.anonymous())[0])

    def _typed(self, node: Node, name: str) -> tuple[int, int]:
        """Return the term and the scope of the class *name* that *node* says."""
        body = child_of(node, "class_body", "enum_class_body")
        primary = child_of(child_of(node, "primary_constructor"), "class_parameters")
        specifiers = child_of(node, "delegation_specifiers")
        supers = [each for each in specifiers.named_children if each.type == "delegation_specifier"] if specifiers else []
        kinds = {
            self.text(each) for child in node.named_children if child.type == "modifiers" for each in child.named_children
        }
        interface = any(child.type == "interface" for child in node.children)
        marks = ("interface",) if interface else ("abstract",) if kinds & {"abstract", "sealed"} else ()
        members = body.named_children if body is not None else []
        fields = frozenset(
            each for child in (*members, *(primary.named_children if primary else ())) for each in self._names(child)
        )
        types = frozenset(self.text(child.child_by_field_name("name")) for child in members if child.type in _CLASSES) - {""}
        bases = [self.type_term(self._super_type(each)) for each in supers]
        receivers, self.receivers = self.receivers, []
        with self.class_(node, name, bases=bases, marks=marks, fields=fields, types=types) as term:
            self.take_generics(node)
            if primary is not None:
                self._primary(node, primary, name, data="data" in kinds)
            for each in supers:
                self._constructed(each)
            if body is not None and body.type == "enum_class_body":
                self._listed(node, term)
            for child in members:
                self.read(child)
            scope = self.scope
        self.receivers = receivers
        return term, scope

    def _names(self, node: Node) -> list[str]:
        if node.type == "property_declaration":
            return [self.text(first_name(child_of(node, "variable_declaration")))]
        return [self.text(first_name(node))] if node.type in {"enum_entry", "class_parameter"} else []

    def _super_type(self, specifier: Node) -> Node | None:
        inner = first(specifier)
        return inner if inner is not None and inner.type in TYPES else type_in(inner)

    def _constructed(self, specifier: Node) -> None:
        """Read what a class hands to the constructor of its base, or has others do."""
        inner = first(specifier)
        if inner is None:
            return
        if inner.type == "constructor_invocation":
            listed = child_of(inner, "value_arguments")
            given = (
                [child for child in listed.named_children if child.type == "value_argument"] if listed is not None else []
            )
            self.call(self.type_term(type_in(inner)), line_of(inner), self.arguments(given))
        elif inner.type == "explicit_delegation":
            self.read(inner.named_children[-1])

    def _primary(self, node: Node, parameters: Node, name: str, *, data: bool) -> None:
        """Read the constructor that stands in the head of a class: it is called as the class is."""
        listed = [child for child in parameters.named_children if child.type == "class_parameter"]
        terms = [self._class_parameter(child) for child in listed]
        for place, (child, term) in enumerate(zip(listed, terms, strict=True)):
            own = self.text(first_name(child))
            self.bind(own, term)
            if any(each.type in {"val", "var"} for each in child.children):
                self.bind(f"component{place + 1}", term)
                self.bind(f"get{own[:1].upper()}{own[1:]}()", self.implicit(child, own, term))
            value = child.named_children[-1]
            if any(each.type == "=" for each in child.children):
                self.read(value)
        if data:
            self.bind("copy()", self.implicit(node, "copy", self.this))
        with self.method(node, name) as made:
            opened = self.builder.scopes[self.scope]
            for child, term in zip(listed, terms, strict=True):
                default = self.constant("default") if any(each.type == "=" for each in child.children) else UNKNOWN
                star = "vararg" in self.text(child_of(child, "modifiers"))
                opened.params = (*opened.params, Param(self.text(first_name(child)), default, term, "*" if star else ""))
        self.bind(CONSTRUCTOR, made)

    def _class_parameter(self, node: Node) -> int:
        declared = self.declared(type_in(node))
        return self.held("list", node, [declared]) if "vararg" in self.text(child_of(node, "modifiers")) else declared

    def _listed(self, node: Node, term: int) -> None:
        """Bind what every enum has."""
        made = self.instance(term)
        self.bind("values()", self.implicit(node, "values", self.held("list", node, [made])))
        self.bind("entries", self.held("list", node, [made]))
        self.bind("valueOf()", self.implicit(node, "valueOf", made))

    def _entry_of_enum(self, node: Node) -> int:
        name, given, body = self.text(first_name(node)), child_of(node, "value_arguments"), child_of(node, "class_body")
        enum = self.builder.term(Op.DEF, self.scope)
        if given is not None:
            self.call(enum, line_of(node), self.arguments(given.named_children))
        term = self.this
        if body is not None:
            with self.class_(node, f"<{name}>", bases=(enum,)) as made:
                self.each(body)
            term = self.builder.join((term, self.instance(made)))
        self.bind(name, term)
        return UNKNOWN

    def arguments(self, given: Iterable[Node]) -> list[tuple[str, int]]:
        """Return the terms of the arguments *given* to a constructor."""
        return self._arguments(given, UNKNOWN, "")

    def _alias(self, node: Node) -> int:
        name, kind = self.text(node.child_by_field_name("type") or first_name(node)), type_in(node)
        if kind is not None and kind.type == "user_type":
            self.take_generics(node)
            self.declare_type(name, self.type_term(kind))
            return UNKNOWN
        with self.class_(node, name, marks=("interface",)) as term:
            self.take_generics(node)
            self.bind("=", self.declared(kind))
        self.declare_type(name, term)
        return UNKNOWN

    def _declared_function(self, node: Node) -> int:
        name, body = self.text(node.child_by_field_name("name")).strip("`"), child_of(node, "function_body")
        receiver, result = self._receiver_and_type(node)
        local = self.builder.scopes[self.scope].kind in {"function", "lambda"}
        if local and receiver is None:
            self.declare(name, UNKNOWN)
        marks = (*(("abstract",) if body is None else ()), *(("extension",) if receiver is not None else ()))
        with self.method(
            node, name, static=receiver is not None, marks=marks, kind="local" if local else "function"
        ) as term:
            self.take_generics(node)
            opened = self.builder.scopes[self.scope]
            opened.type = self.declared(result)
            kind = self._received_by(receiver)
            self.parameters(child_of(node, "function_value_parameters"))
            if receiver is not None:
                with self.on(self.builder.term(Op.PARAM, self.scope, 0)):
                    self.body_of(body)
            else:
                self.body_of(body)
        if receiver is not None:
            self._extend(node, f"{name}()", term, kind)
        elif local:
            variable = self.find(name)
            self.builder.bind(self.scope, variable.own if variable is not None else name, term)
        else:
            self.bind(f"{name}()", term)
        return UNKNOWN

    def _receiver_and_type(self, node: Node) -> tuple[Node | None, Node | None]:
        """Return the types of what the function or property *node* is called on, and of what it gives."""
        name = node.child_by_field_name("name") or child_of(node, "variable_declaration")
        at = name.start_byte if name is not None else 0
        kinds = [child for child in node.named_children if child.type in TYPES]
        before = [child for child in kinds if child.start_byte < at]
        after = [child for child in kinds if child.start_byte > at]
        return before[0] if before else None, after[0] if after else None

    def _received_by(self, receiver: Node | None) -> int:
        """Add the parameter for what the function is called on, and return the term of that type."""
        if receiver is None:
            return UNKNOWN
        self.parameter("this", self.declared(receiver))
        return self.extended(receiver)

    def _extend(self, node: Node, name: str, term: int, kind: int) -> None:
        """Let the function *term* be a member of the type *kind*."""
        if not kind:
            self.bind(name, term)
            return
        opened = OpenScope("class", "", self.scope, line_of(node), bases=(kind,), marks=("extends",))
        with self.inside(opened):
            self.bind(name, term)

    def _secondary(self, node: Node) -> int:
        with self.method(node, "constructor") as term:
            self.parameters(child_of(node, "function_value_parameters"))
            called = child_of(node, "constructor_delegation_call")
            if called is not None:
                listed = child_of(called, "value_arguments")
                given = self.arguments(listed.named_children if listed is not None else ())
                onward = self.behind() if any(child.type == "super" for child in called.children) else self.this
                self.call(self.attribute(onward, CONSTRUCTOR), line_of(called), given)
            self.read(child_of(node, "block"))
        self.bind(CONSTRUCTOR, term)
        return UNKNOWN

    def _property(self, node: Node) -> int:
        """Read a property of a class or file, or a variable of a function."""
        several, one = child_of(node, "multi_variable_declaration"), child_of(node, "variable_declaration")
        value, declared = self._value(node), self.declared(type_in(one))
        if several is not None:
            self.unpack(several, self.read(value))
            return UNKNOWN
        name = self.text(first_name(one)).strip("`")
        held = self._delegated(node)
        term = declared or held if held else self.begun(value, declared)
        if self.builder.scopes[self.scope].kind in {"function", "lambda"}:
            self.declare(name, term)
            return UNKNOWN
        receiver, _ = self._receiver_and_type(node)
        for child in (child for child in node.named_children if child.type in {"getter", "setter"}):
            given = self._accessor(node, child, name, declared or term, receiver)
            term = term or given
        if value is None and child_of(node, "getter") is None and self._is_open(node):
            self._accessor(node, node, name, declared, None)
        if receiver is None:
            self.bind(name, term)
        else:
            self._extend(node, name, declared or term, self.extended(receiver))
        return UNKNOWN

    def _is_open(self, node: Node) -> bool:
        """Return whether the property *node* is one that others say how to get."""
        return "interface" in self.builder.scopes[self.scope].marks or "abstract" in self.text(child_of(node, "modifiers"))

    def _value(self, node: Node) -> Node | None:
        equals = next((child for child in node.children if child.type == "="), None)
        return equals.next_named_sibling if equals is not None else None

    def _delegated(self, node: Node) -> int:
        """Read what a property has done ``by`` something; return the term of what that holds, UNKNOWN for none."""
        by = first(child_of(node, "property_delegate"))
        term = self.read(by)
        lazily = by is not None and by.type == "call_expression" and self.text(first(by)) == "lazy"
        return term if lazily else UNKNOWN

    def _accessor(self, node: Node, part: Node, name: str, declared: int, receiver: Node | None) -> int:
        """Read a getter or setter, and return the term of what a getter gives."""
        body, setter = child_of(part, "function_body"), part.type == "setter"
        if body is None and part != node:
            return UNKNOWN
        marks = ("property", *(("abstract",) if body is None else ()), *(("extension",) if receiver is not None else ()))
        with self.method(node, name, static=receiver is not None, marks=marks) as term:
            opened = self.builder.scopes[self.scope]
            opened.line = line_of(child_of(node, "variable_declaration") or node)
            kind = self._received_by(receiver)
            if setter:
                self.parameter(self.text(first_name(part)), declared)
            else:
                opened.type = declared
            if declared:
                self.block.names["field"] = Variable(self.scope, "field", declared)
            if receiver is not None:
                with self.on(self.builder.term(Op.PARAM, self.scope, 0)):
                    self.body_of(body)
            else:
                self.body_of(body)
            result = self.builder.join(opened.results)
        key = f"{SETTER if setter else GETTER}{name}"
        if receiver is not None:
            self._extend(node, key, term, kind)
        else:
            self.bind(key, term)
            self.bind(f"{'set' if setter else 'get'}{name[:1].upper()}{name[1:]}()", term)
        return UNKNOWN if setter else result

    def _block(self, node: Node) -> int:
        with self.nested():
            for child in node.named_children:
                if child.type == "function_declaration" and self.builder.scopes[self.scope].kind in {"function", "lambda"}:
                    self.declare(self.text(child.child_by_field_name("name")), UNKNOWN)
            return self.each(node)

    def _for(self, node: Node) -> int:
        declared = child_of(node, "variable_declaration", "multi_variable_declaration")
        rest = [child for child in node.named_children if child != declared and child.type not in {"label", "annotation"}]
        over = self.read(rest[0]) if rest else UNKNOWN
        with self.nested():
            term = self.builder.term(Op.NEXT, over, self.builder.site("iter", self.scope, over, line_of(node)))
            if declared is not None and declared.type == "multi_variable_declaration":
                self.unpack(declared, term)
            elif declared is not None:
                self.declare(self.text(first_name(declared)), self.narrowed(term, self.declared(type_in(declared))))
            for child in rest[1:]:
                self.read(child)
        return UNKNOWN

    def _catch(self, node: Node) -> int:
        with self.nested():
            self.declare(self.text(first_name(node)), self.declared(type_in(node)))
            return self.read(child_of(node, "block"))

    def _return(self, node: Node) -> int:
        label = node.child_by_field_name("label")
        term = UNKNOWN
        for child in node.named_children:
            if child != label:
                term = self.read(child)
        self.builder.scopes[self.scope].results.append(term)
        return UNKNOWN

    def visit(self, node: Node) -> int:
        """Read *node*, an expression, a statement or a definition."""
        reader = self._STATEMENTS.get(node.type)
        return reader(self, node) if reader is not None else super().visit(node)

    _STATEMENTS: ClassVar[dict[str, Callable[["_Kotlin", Node], int]]] = {
        **dict.fromkeys(_CLASSES, _class),
        "type_alias": _alias,
        "function_declaration": _declared_function,
        "secondary_constructor": _secondary,
        "property_declaration": _property,
        "enum_entry": _entry_of_enum,
        "block": _block,
        "for_statement": _for,
        "catch_block": _catch,
        "return_expression": _return,
    }
