"""C++'s definitions: namespaces, types with their members, functions wherever they stand, and variables that are made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import RECEIVER, UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.c_types import TAG, Declared, declared_by
from appliance.codeintel.parse.flow.cpp_expressions import Expressions
from appliance.codeintel.parse.flow.cpp_types import NAMES
from appliance.codeintel.parse.flow.typed import first

CPP: Final = "c++"  # the mark of the module of a file in C++
EXTENDS: Final = "extends"
MADE: Final = "new()"  # what a constructor is called among the members of its type
UNMADE: Final = "~"  # and a destructor
INIT: Final = "init"  # of `Op.FROM`: what makes a base or a member
_VIRTUAL: Final = frozenset({"virtual", "virtual_specifier"})


class Definitions(Expressions):
    """Reads C++'s definitions."""

    unnamed = 0  # namespaces without a name around: what stands there is for the file alone

    def namespace(self, node: Node) -> None:
        """Read a namespace, or one in another: ``namespace a::b``."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        names = [part.strip() for part in self.text(name).split("::")] if name is not None else []
        if not names:
            self.unnamed += 1
            self.read(body)
            self.unnamed -= 1
        elif len(names) <= 20:
            inline = ("inline",) * any(child.type == "inline" for child in node.children)
            self._within(node, [each.removeprefix("inline ").strip() for each in names], inline, body)

    def _within(self, node: Node, names: list[str], marks: tuple[str, ...], body: Node | None) -> None:
        if not names:
            self.read(body)
            return
        with self.inside(OpenScope("module", names[0], self.scope, self.line(node), marks=marks)):
            self._within(node, names[1:], marks, body)

    def namespace_alias(self, node: Node) -> None:
        """Read ``namespace a = b::c``."""
        name = self.text(node.child_by_field_name("name"))
        parts = [part.strip() for part in self.text(node.named_children[-1]).split("::") if part.strip()]
        if parts:
            term = self.named(parts[0])
            for each in parts[1:]:
                term = self.attribute(term, each)
            self.bind(name, term)

    def using(self, node: Node) -> None:
        """Read ``using a::b``, and ``using namespace a``."""
        shown = first(node)
        if shown is None:
            return
        text = "".join(self.text(shown).split())
        if any(child.type == "namespace" for child in node.children):
            self.builder.bind(self.surrounding(), "*", self.path(shown))
            self.of_library |= {"*"} if text == "std" else set()
            return
        name = text.rpartition("::")[2].partition("<")[0]
        if text.startswith("std::"):
            self.of_library.add(name)
        opened = self.builder.scopes[self.scope]
        if opened.kind in {"module", "class"}:
            made = opened.kind == "class" and text.count("::") and text.split("::")[-2].partition("<")[0] == name
            self.bind(MADE if made else name, self.attribute(self.path(shown), MADE) if made else self.path(shown))
            self.bind(TAG + name, self.path(shown, TAG))

    def surrounding(self) -> int:
        """Return the scope of the namespace or file around."""
        at = self.scope
        while self.builder.scopes[at].kind != "module":
            at = self.builder.scopes[at].parent
        return at

    def alias(self, node: Node) -> None:
        """Read ``using a = b``."""
        kind = node.child_by_field_name("type")
        self.bind_type(self.text(node.child_by_field_name("name")), self.aliased(kind) or self.constant("type"), self.scope)

    def aliased(self, node: Node | None) -> int:
        """Return the term of the type that a second name is given: its own, or the container that it is."""
        shown = node.child_by_field_name("type") if node is not None and node.type == "type_descriptor" else node
        by = declared_by(node.child_by_field_name("declarator")) if node is not None else None
        if shown is None or (by is not None and any("function" in form.type for form in by.forms)):
            return UNKNOWN
        declared = self.declared(shown)
        if shown.type in NAMES:
            return self.builder.type_of(declared) or declared
        return UNKNOWN

    def holder(self) -> int:
        """Return the scope that a type which is defined here belongs to."""
        return self.scope

    def defined(self, node: Node, name: str) -> int:
        """Return the term of the type *node*, which may be defined there; *name* is what it is called if not by itself."""
        own = node.child_by_field_name("name")
        if node.child_by_field_name("body") is None:
            return self.type_named(own) if own is not None else UNKNOWN
        if own is None:
            return self._defined_here(node, name)
        with self.home(own) as called:
            return self._defined_here(node, called)

    def _defined_here(self, node: Node, name: str) -> int:
        body = node.child_by_field_name("body")
        opened = OpenScope("class", name, self.scope, self.line(node), marks=("internal",) * bool(self.unnamed))
        with self.inside(opened) as scope:
            opened.bases = tuple(self._bases(node))
            if body is not None:
                self.members_of(body)
        term = self.builder.term(Op.DEF, scope)
        if name:
            self.bind_type(name, term, self.scope)
        return term

    def _bases(self, node: Node) -> Iterator[int]:
        for clause in node.named_children:
            if clause.type == "base_class_clause":
                for child in clause.named_children:
                    if child.type in NAMES:
                        yield self.type_named(child)

    def members_of(self, body: Node) -> None:
        """Read the members of a type."""
        for child in body.named_children:
            match child.type:
                case "field_declaration":
                    self.fields(child)
                case "enumerator":
                    self.bind(self.text(child.child_by_field_name("name")), UNKNOWN)
                case kind if kind.startswith("preproc") and "def" not in kind.removeprefix("preproc_ifdef"):
                    self.members_of(child)
                case _:
                    self.read(child)

    def fields(self, node: Node) -> None:
        """Read one declaration of members."""
        declarators = node.children_by_field_name("declarator")
        functions = [by for by in map(declared_by, declarators) if by.function is not None]
        if not functions:
            super().fields(node)
            self.each_default(node)
            return
        result = self.declared(node.child_by_field_name("type"))
        for by in functions:
            self.prototype(node, by, result)

    def each_default(self, node: Node) -> None:
        """Read what the fields of *node* hold at first."""
        for value in node.children_by_field_name("default_value"):
            self.read(value)

    def template(self, node: Node) -> None:
        """Read a template."""
        before, self.generics = self.generics, dict(self.generics)
        self.take_template(node)
        for child in node.named_children:
            if child.type not in {"template_parameter_list", "requires_clause"}:
                self.read(child)
        self.generics = before

    def friend(self, node: Node) -> None:
        """Read ``friend``: a function is not the type's but stands in the namespace around it."""
        before, self.scope = self.scope, self.surrounding()
        for child in node.named_children:
            if child.type in {"declaration", "function_definition", "template_declaration"}:
                self.read(child)
        self.scope = before

    def within(self, name: Node) -> int:
        """Return the term of the namespace or type that the qualified *name* is of."""
        base, at = self._begun(name.child_by_field_name("scope")), name
        while (inner := at.child_by_field_name("name")) is not None and inner.type == "qualified_identifier":
            base, at = self._next(base, self.unparametrised(inner.child_by_field_name("scope"))), inner
        return max(base, UNKNOWN)

    @contextmanager
    def home(self, name: Node) -> Iterator[str]:
        """Stand in what the function or type *name* belongs to; the value is its own name."""
        if name.type != "qualified_identifier" or name.child_by_field_name("scope") is None:
            yield self.own_name(name)
            return
        at = name
        while (inner := at.child_by_field_name("name")) is not None and inner.type == "qualified_identifier":
            at = inner
        called, base = self.unparametrised(at.child_by_field_name("scope")), self.within(name)
        with self.inside(OpenScope("class", called, self.scope, self.line(name), bases=(base,), marks=(EXTENDS,))):
            yield self.own_name(name)

    def own_name(self, name: Node) -> str:
        """Return the name alone that *name*, perhaps a qualified one, is."""
        return self.unparametrised(_last(name))

    def key(self, name: str) -> str:
        """Return what the function *name* is called among the names of this scope."""
        opened = self.builder.scopes[self.scope]
        if opened.kind != "class":
            return name
        return MADE if name == opened.name else UNMADE if name.startswith("~") else name

    def marks(self, node: Node, by: Declared) -> tuple[str, ...]:
        """Return the marks of a function."""
        told = {child.type for child in (*node.children, *(by.function.children if by.function else ()))}
        return (*super().marks(node, by), *("virtual",) * bool(told & _VIRTUAL))

    def is_internal(self, node: Node) -> bool:
        """Return whether other files cannot know what *node* declares: a member is its type's."""
        of_type = self.builder.scopes[self.scope].kind == "class"
        return not of_type and (self.unnamed > 0 or super().is_internal(node))

    def receive(self, node: Node) -> None:
        """Add what a method is called on to its parameters."""
        parent = self.builder.scopes[self.builder.scopes[self.scope].parent]
        if parent.kind == "class" and not self.is_static(node):
            self.parameter(RECEIVER, UNKNOWN)

    def run(self, node: Node) -> None:
        """Read what the function *node* does: a constructor makes bases and members first."""
        for child in node.named_children:
            if child.type == "field_initializer_list":
                for each in child.named_children:
                    self._initializer(each)
        super().run(node)

    def _initializer(self, node: Node) -> None:
        shown = node.named_children
        if node.type != "field_initializer" or not shown:
            return
        name = self.unparametrised(shown[0] if shown[0].type != "qualified_identifier" else _last(shown[0]))
        given = self.arguments(shown[1]) if len(shown) > 1 else []
        self.protocol(node, self.builder.term(Op.FROM, self.scope, text=INIT, name=name), given)
        if len(given) == 1:
            self.store(self.named(RECEIVER), given[0], name=name)

    def is_variable(self, function: Node) -> bool:
        """Return whether what looks like the declarator of a *function* declares a variable with what it is made of."""
        if self.builder.scopes[self.scope].kind not in {"function", "lambda"}:
            return False
        listed = function.child_by_field_name("parameters")
        shown = listed.named_children if listed else []
        return bool(shown) and all(_is_name(each) for each in shown)

    def variable(self, node: Node, declarator: Node, by: Declared, declared: int, *, external: bool) -> None:
        """Read one variable of the declaration *node*."""
        kind = node.child_by_field_name("type")
        if by.name is not None and by.name.type == "structured_binding_declarator":
            value = self.read(declarator.child_by_field_name("value"))
            self.unpack(by.name, value)
            return
        if by.name is not None and by.name.type == "qualified_identifier":
            value = self.read(declarator.child_by_field_name("value"))
            self.store(self.within(by.name), value, name=self.own_name(by.name))
            return
        super().variable(node, declarator, by, declared, external=external)
        plain = kind is not None and kind.type in NAMES and not external and _is_bare(declarator)
        if plain:
            self._made(declarator, declared)

    def _made(self, declarator: Node, declared: int) -> None:
        """Note what makes and unmakes a variable of a *declared* type."""
        value = declarator.child_by_field_name("value")
        if not self.builder.type_of(declared):
            return
        if value is None and declarator.type != "function_declarator":
            self.protocol(declarator, self.attribute(declared, MADE))
        if value is not None and value.type in {"argument_list", "initializer_list"}:
            self.call(self.builder.type_of(declared), self.line(declarator), [("", UNKNOWN) for _ in value.named_children])
        if self.builder.scopes[self.scope].kind in {"function", "lambda"}:
            self.protocol(declarator, self.attribute(declared, UNMADE))

    def bind(self, name: str, term: int) -> None:
        """Let *name* of the scope itself hold *term*; in a namespace without a name it is for the file alone."""
        super().bind(name, term)
        if self.unnamed and self.builder.scopes[self.scope].kind == "module":
            self.mark(name)

    def assign_to(self, target: Node | None, value: int) -> None:
        """Let *target* hold *value*: also a member that is named with its type."""
        if target is not None and target.type == "qualified_identifier":
            self.store(self.within(target), value, name=self.own_name(target))
        else:
            super().assign_to(target, value)

    def begun(self, declarator: Node, value: Node | None, declared: int, *, array: bool) -> int:
        """Return what a variable holds at first."""
        if value is not None and value.type == "argument_list":
            given = self.arguments(value)
            return declared or (given[0] if given else UNKNOWN)
        if declarator.type == "function_declarator" and not array:  # ``T a(b)``
            listed = declarator.child_by_field_name("parameters")
            given = [self.named(self.text(each)) for each in (listed.named_children if listed else ())]
            self.made(declarator, self.builder.type_of(declared), given)
        return super().begun(declarator, value, declared, array=array)

    def unpack(self, names: Node, value: int) -> None:
        """Read ``auto [a, b] = value``."""
        for place, name in enumerate(each for each in names.named_children if each.type == "identifier"):
            self.declare(self.text(name), UNKNOWN)
            if value:
                self.assign(self.text(name), self.item(value, place))

    CPP_DEFINITIONS: ClassVar[dict[str, "Callable[[Definitions, Node], None]"]] = {
        "namespace_definition": namespace,
        "namespace_alias_definition": namespace_alias,
        "using_declaration": using,
        "alias_declaration": alias,
        "template_declaration": template,
        "friend_declaration": friend,
    }


def _last(node: Node) -> Node:
    """Return the last name of a qualified one."""
    at: Node = node
    while at.type == "qualified_identifier" and (inner := at.child_by_field_name("name")) is not None:
        at = inner
    return at


def _is_name(parameter: Node) -> bool:
    """Return whether *parameter* is a name alone: of a variable, since hardly a function is declared in another."""
    kind = parameter.child_by_field_name("type")
    return kind is not None and kind.type == "type_identifier" and parameter.named_child_count == 1


def _is_bare(declarator: Node) -> bool:
    """Return whether a variable is declared that is no pointer, reference or array."""
    wraps = declarator.type in {"init_declarator", "function_declarator"}
    inner = declarator.child_by_field_name("declarator") if wraps else declarator
    return inner is not None and inner.type == "identifier"
