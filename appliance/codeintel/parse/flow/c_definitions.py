"""C's definitions: functions, types, variables and macros."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.c_expressions import FUNCTION, PASTED, Expressions
from appliance.codeintel.parse.flow.c_types import TAG, Declared, declared_by
from appliance.codeintel.parse.flow.typed import Variable, first
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.parse.names import behind_macro

_CONTINUED: Final = re.compile(rb"\\\r?\n")
_PASTED: Final = re.compile(rb"#?\w{0,80}\s{0,20}##[\s\w#]*")
_LISTED: Final = re.compile(rb"\s*(?:\{|[^;{}()]*,)")  # what may be a list of fields
EXTERN: Final = "extern "  # stands before the name of a variable that a module only declares, among its marks
_LONGEST_MACRO: Final = 20_000
TYPES: Final = frozenset({"struct_specifier", "union_specifier", "class_specifier", "enum_specifier"})


class Definitions(Expressions):
    """Reads definitions as well."""

    language: ClassVar[str] = "c"

    def function_definition(self, node: Node) -> None:
        """Read a function with its body."""
        by = self._behind_macro(declared_by(node.child_by_field_name("declarator")))
        result = self._result(node)
        if by.name is None:
            self.run(node)
            return
        with self.home(by.name) as name:
            self.define(node, name, by, result)

    def _behind_macro(self, by: Declared) -> Declared:
        name = behind_macro(by.name, self.text(by.name)) if by.name is not None else None
        return by if name == by.name or len(by.forms) < 2 else Declared(name, by.forms[:-1])

    def _result(self, node: Node) -> int:
        """Return an instance of what the function *node* gives; behind a macro the grammar takes its type for an error."""
        kind = node.child_by_field_name("type")
        torn = next((each for each in node.named_children if each.is_error), None)
        shown = first(torn)
        if kind is None or kind.type != "type_identifier" or shown is None or shown.type != "identifier":
            return self.declared(kind)
        return self.instance(self.named(TAG + self.text(shown)))

    @contextmanager
    def home(self, name: Node) -> Iterator[str]:
        """Stand in what the function *name* belongs to; the value is its own name."""
        yield self.own_name(name)

    def own_name(self, name: Node) -> str:
        """Return the name of a function as it is called where it stands."""
        return self.text(name)

    def key(self, name: str) -> str:
        """Return what the function *name* is called among the names of this scope."""
        return name

    def receive(self, node: Node) -> None:
        """Add what the function *node* is called on to its parameters."""

    def define(self, node: Node, name: str, by: Declared, result: int, *, prototype: bool = False) -> int:
        """Bind the function *name*, or only what says that there is one, and return its term."""
        marks = ("prototype",) * prototype + self.marks(node, by)
        opened = OpenScope("function", name, self.scope, self.line(node), marks=marks, type=result)
        with self.inside(opened) as scope:
            self.receive(node)
            self.parameters(by.function)
            self.run(node)
        term = self.builder.term(Op.DEF, scope)
        self.bind(self.key(name), term)
        return term

    def run(self, node: Node) -> None:
        """Read what the function *node* does."""
        self.read(node.child_by_field_name("body"))

    def marks(self, node: Node, by: Declared) -> tuple[str, ...]:
        """Return the marks of a function."""
        del by
        return ("internal",) * self.is_internal(node)

    def is_static(self, node: Node) -> bool:
        """Return whether *node* is declared for its file alone."""
        return any(child.type == "storage_class_specifier" and self.text(child) == "static" for child in node.children)

    def is_internal(self, node: Node) -> bool:
        """Return whether other files cannot know what *node* declares outside of functions."""
        return self.is_static(node)

    def parameters(self, function: Node | None) -> None:
        """Add the parameters that *function*, a declarator, lists."""
        listed = function.child_by_field_name("parameters") if function else None
        for child in listed.children if listed else ():
            if child.type in {"...", "variadic_parameter"}:
                self.parameter("", UNKNOWN, star=True)
            elif child.type == "identifier":
                self.parameter(self.text(child), UNKNOWN)
            elif "parameter_declaration" in child.type:
                self.parameter_declaration(child)

    def parameter_declaration(self, node: Node) -> None:
        """Add one parameter."""
        declared, by = self.value_of(node, node.child_by_field_name("declarator"))
        if by.name is None and not by.forms and self.text(node) == "void":
            return
        default = self.read(node.child_by_field_name("default_value"))
        star = node.type == "variadic_parameter_declaration"
        self.parameter(self.text(by.name), declared, default=default, star=star)

    def value_of(self, node: Node, declarator: Node | None, declared: int | None = None) -> tuple[int, Declared]:
        """Return an instance of what *node* declares *declarator* as, and the declarator taken apart."""
        by = declared_by(declarator)
        kind = self.declared(node.child_by_field_name("type")) if declared is None else declared
        return UNKNOWN if by.of_functions else kind, by

    def declaration(self, node: Node) -> None:
        """Read a declaration of variables and functions."""
        kind = self.declared(node.child_by_field_name("type"))
        external = any(child.type == "storage_class_specifier" and self.text(child) == "extern" for child in node.children)
        for declarator in node.children_by_field_name("declarator"):
            declared, by = self.value_of(node, declarator, kind)
            if by.name is None:
                self.read(declarator.child_by_field_name("value"))
            elif by.function is not None and not self.is_variable(by.function):
                self.prototype(node, by, kind)
            else:
                self.variable(node, declarator, by, declared, external=external)

    def is_variable(self, function: Node) -> bool:
        """Return whether what looks like the declarator of a *function* declares a variable with what it is made of."""
        del function
        return False

    def prototype(self, node: Node, by: Declared, result: int) -> None:
        """Bind a function that is defined elsewhere, unless a function alone is told of it."""
        if by.name is not None and self.builder.scopes[self.scope].kind in {"module", "class"}:
            self.define(node, self.own_name(by.name), by, result, prototype=True)

    def variable(self, node: Node, declarator: Node, by: Declared, declared: int, *, external: bool) -> None:
        """Read one variable of the declaration *node*."""
        name = self.text(by.name)
        value = declarator.child_by_field_name("value") or node.child_by_field_name("value")
        local = self.builder.scopes[self.scope].kind in {"function", "lambda"}
        if local and not external:
            self.declare(name, declared if self.builder.is_constant(declared) else UNKNOWN)
        term = self.begun(declarator, value, declared, array=by.array)
        if external and value is None:
            if not local:
                self.bind(name, UNKNOWN)
                self.mark(f"{EXTERN}{name}")
        elif local:
            self.assign(name, term)
        else:
            self.bind(name, term)
            if self.is_internal(node):
                self.mark(name)

    def begun(self, declarator: Node, value: Node | None, declared: int, *, array: bool) -> int:
        """Return what a variable holds at first."""
        if value is not None:
            return self.initial(value, declared, array=array)
        return self.builder.join((declared, self.held("list", declarator, ()))) if array else declared

    def defined(self, node: Node, name: str) -> int:
        """Return the term of the type *node*, which may be defined there; *name* is what it is called if not by itself."""
        own, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            return self.type_named(own) if own is not None else UNKNOWN
        called = self.text(own) or name
        holder = self.holder()
        opened = OpenScope("class", called or "<anonymous>", holder, self.line(node))
        with self.inside(opened) as scope:
            self.members_of(body)
        term = self.builder.term(Op.DEF, scope)
        if called:
            self.bind_type(called, term, holder)
        return term

    def holder(self) -> int:
        """Return the scope that a type which is defined here belongs to: no other type's."""
        at = self.scope
        while self.builder.scopes[at].kind == "class":
            at = self.builder.scopes[at].parent
        return at

    def bind_type(self, name: str, term: int, holder: int) -> None:
        """Let the type *name* of the scope *holder* be *term*."""
        self.builder.bind(holder, TAG + name, term)
        if self.builder.scopes[holder].kind in {"function", "lambda"}:
            self.block.names[TAG + name] = Variable(holder, TAG + name, UNKNOWN)

    def members_of(self, body: Node) -> None:
        """Read the fields of a type."""
        for child in body.named_children:
            if child.type == "field_declaration":
                self.fields(child)
            elif child.type.startswith("preproc"):
                self.members_of(child)

    def fields(self, node: Node) -> None:
        """Read one declaration of fields."""
        kind = node.child_by_field_name("type")
        declarators = node.children_by_field_name("declarator")
        if not declarators and kind is not None and kind.type in TYPES and not kind.child_by_field_name("name"):
            if body := kind.child_by_field_name("body"):
                self.members_of(body)  # what has no name itself lends its fields to what is around it
            return
        declared = self.declared(kind)
        for declarator in declarators:
            one, by = self.value_of(node, declarator, declared)
            if by.name is not None:
                name = self.text(by.name)
                self.bind(name, self.begun(declarator, None, one, array=by.array))
                if by.forms:
                    self.mark(f"*{name}")

    def type_definition(self, node: Node) -> None:
        """Read ``typedef``."""
        kind = node.child_by_field_name("type")
        bys = [declared_by(declarator) for declarator in node.children_by_field_name("declarator")]
        named = next((self.text(by.name) for by in bys if by.name is not None), "")
        if kind is not None and kind.type in TYPES:
            term = self.defined(kind, named)
            tag = self.text(kind.child_by_field_name("name")) or named
        else:
            term, tag = self.aliased(kind), self.text(kind)
        for by in bys:
            name = self.text(by.name)
            if name and name != tag:
                functions = by.of_functions or by.function is not None
                self.bind_type(name, self.constant("type") if functions or not term else term, self.scope)

    def aliased(self, node: Node | None) -> int:
        """Return the term of the type that a second name is given, UNKNOWN if it is no type with members."""
        return self.type_named(node) if node is not None and node.type == "type_identifier" else UNKNOWN

    def include(self, node: Node) -> None:
        """Read ``#include``."""
        path = node.child_by_field_name("path")
        if path is not None and path.type in {"string_literal", "system_lib_string"}:
            self.builder.stars.append(self.text(path).strip('"').rstrip(">"))

    def macro(self, node: Node) -> None:
        """Read a macro: one with parameters is a function, another stands for what it is."""
        name, value = self.text(node.child_by_field_name("name")), node.child_by_field_name("value")
        listed = node.child_by_field_name("parameters")
        if listed is None and value is None:
            return
        opened = OpenScope("function", name, 0, self.line(node), marks=("macro", "internal"))
        with self.inside(opened) as scope:
            meant = self.builder.term(Op.FROM, 0, text=FUNCTION, name=name)
            self.block.names[name] = Variable(scope, name, meant)  # in itself it is no macro
            for child in listed.children if listed else ():
                if child.type == "identifier":
                    self.parameter(self.text(child), UNKNOWN)
                elif child.type == "...":
                    self.parameter("__VA_ARGS__", UNKNOWN, star=True)
            result = self.expanded(value) if value is not None else UNKNOWN
            self.builder.scopes[scope].results.append(result)
        self.builder.bind(0, name, self.builder.term(Op.DEF, scope) if listed else result)
        other = self.text(value).removeprefix("struct ").strip()
        if listed is None and other.isidentifier() and other != name:  # it may be one of a type
            self.builder.bind(0, TAG + name, self.builder.term(Op.READ, 0, text=TAG + other))

    def expanded(self, value: Node) -> int:
        """Read the text of a macro as far as it is code, and return what it gives."""
        text = self.source[value.start_byte : value.end_byte]
        if len(text) > _LONGEST_MACRO or not re.search(rb"[A-Za-z_]", text):
            return UNKNOWN
        text = _PASTED.sub(PASTED.encode(), _CONTINUED.sub(b" \n", text))
        if _LISTED.match(text) and (items := self._listed(value, text)):
            return items
        parsed = grammar(self.language).parser.parse(b"void f() {" + text + b"\n;}").root_node
        function = parsed.named_children[0] if parsed.named_children else parsed
        body = function.child_by_field_name("body") or parsed
        before = self.source, self.above
        self.source, self.above = b"void f() {" + text + b"\n;}", self.above + value.start_point.row
        term = UNKNOWN
        shown = [child for child in body.named_children if child.type not in {"comment", "ERROR"}]
        if len(shown) == 1 and shown[0].type == "expression_statement":
            term = self.inner(shown[0])
        else:
            self.read(body)
        self.source, self.above = before
        return term

    def _listed(self, value: Node, text: bytes) -> int:
        """Return what the *text* of a macro lists, each at its place among fields; UNKNOWN if it is no list."""
        whole = b"T x = " + (text if text.lstrip().startswith(b"{") else b"{" + text + b"}") + b";"
        parsed = grammar(self.language).parser.parse(whole).root_node
        declarator = parsed.named_children[0].child_by_field_name("declarator") if parsed.named_children else None
        items = declarator.child_by_field_name("value") if declarator is not None and not parsed.has_error else None
        if items is None or items.type != "initializer_list":
            return UNKNOWN
        before = self.source, self.above
        self.source, self.above = whole, self.above + value.start_point.row
        held = [
            self.read(each) if each.type not in {"initializer_pair", "initializer_list"} else UNKNOWN
            for each in items.named_children
            if each.type != "comment"
        ]
        self.source, self.above = before
        keyed = [each for place, term in enumerate(held) if term for each in (self.constant(f"field:{place}"), term)]
        return self.builder.term(Op.MAKE, text="fields", name=str(value.start_byte), items=tuple(keyed))

    DEFINITIONS: ClassVar[dict[str, "Callable[[Definitions, Node], None]"]] = {
        "function_definition": function_definition,
        "declaration": declaration,
        "type_definition": type_definition,
        "preproc_include": include,
        "preproc_def": macro,
        "preproc_function_def": macro,
    }
