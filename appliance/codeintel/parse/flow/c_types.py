"""C's declarators and types: what a declaration names, and what a value of its type can be."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.typed import DEEPEST, Typed, line_of

TAG: Final = "struct "  # stands before the name of a type, which is none of a value
_WRAPPERS: Final = frozenset({"parenthesized_declarator", "attributed_declarator", "reference_declarator"})
_FORMS: Final = frozenset({
    "function_declarator", "pointer_declarator", "array_declarator", "abstract_function_declarator",
    "abstract_pointer_declarator", "abstract_array_declarator", "init_declarator",
})  # fmt: skip
_MOST_WRAPPED: Final = 60


class Declared(NamedTuple):
    """What a declarator names, and how: *forms* are what is around the name, from the outermost inwards."""

    name: Node | None
    forms: tuple[Node, ...]

    @property
    def function(self) -> Node | None:
        """The declarator of a function with its parameters, None if a variable is declared."""
        return self.forms[-1] if self.forms and self.forms[-1].type == "function_declarator" else None

    @property
    def of_functions(self) -> bool:
        """Whether a variable is declared that holds functions."""
        return any("function" in form.type for form in self.forms[: -1 if self.function else None])

    @property
    def array(self) -> bool:
        """Whether a variable is declared that holds several things."""
        return any("array" in form.type for form in self.forms)


def declared_by(node: Node | None) -> Declared:
    """Return what the declarator *node* declares."""
    forms: list[Node] = []
    for _ in range(_MOST_WRAPPED):
        if node is None:
            break
        if node.type in _FORMS:
            forms.append(node)
        elif node.type not in _WRAPPERS:
            return Declared(node, tuple(forms))
        inner = node.child_by_field_name("declarator")
        node = inner or next((each for each in node.named_children if _can_be_named(each)), None)
    return Declared(None, tuple(forms))


def _can_be_named(node: Node) -> bool:
    return node.type.endswith(("declarator", "identifier", "_name"))


class Types(Typed):
    """Reads types."""

    members = True
    above = 0  # lines that stand above what is read, where that is no whole file

    def line(self, node: Node) -> int:
        """Return the line of the file that *node* begins on."""
        return line_of(node) + self.above

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self._marked: dict[int, dict[str, None]] = {}

    def mark(self, name: str) -> None:
        """Mark what stands in this scope: a *name* that is its file's alone, and with a star before it a pointer."""
        self._marked.setdefault(self.scope, {})[name] = None

    def finish(self, unit: str = "") -> Flow:
        """Return the flow of the file."""
        for scope, marks in self._marked.items():
            opened = self.builder.scopes[scope]
            opened.marks = (*opened.marks, *marks)
        return super().finish(unit)

    @contextmanager
    def deeper(self, steps: int = 1) -> Iterator[bool]:
        """Go so many *steps* down; the value says whether that is too deep, which is noted."""
        self.depth += steps
        self.builder.cut = self.builder.cut or self.depth > DEEPEST
        try:
            yield self.depth > DEEPEST
        finally:
            self.depth -= steps

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type *node*, or UNKNOWN if it says nothing. What it defines is read."""
        with self.deeper(3) as stop:
            if stop or node is None:
                return UNKNOWN
            self.at_line = line_of(node)
            return self.type_of(node)

    def type_of(self, node: Node) -> int:
        """Read the type *node* for `declared`, which counts the steps down."""
        match node.type:
            case "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier":
                return self.instance(self.defined(node, ""))
            case "type_identifier" | "qualified_identifier" | "template_type":
                return self.instance(self.type_named(node))
            case "type_descriptor":
                by = declared_by(node.child_by_field_name("declarator"))
                inner = self.declared(node.child_by_field_name("type"))
                return (
                    UNKNOWN
                    if by.of_functions or "abstract_function_declarator" in {each.type for each in by.forms}
                    else inner
                )
            case "primitive_type":
                return UNKNOWN if self.text(node) == "void" else self.constant("number")
            case "sized_type_specifier":
                return self.constant("number")
            case _:
                return UNKNOWN

    def type_named(self, node: Node) -> int:
        """Return the term of the type that *node* names."""
        name = self.text(node)
        return UNKNOWN if name in self.generics else self.named(TAG + name)

    @abstractmethod
    def defined(self, node: Node, name: str) -> int:
        """Return the term of the type *node*, which may be defined there; *name* is what it is called if not by itself."""

    def known(self, declared: int, value: int) -> int:
        """Return the term of what was *declared* with a type and holds *value*, which counts where the type says nothing."""
        return self.builder.term(Op.ELSE, declared, value) if declared and value else declared or value
