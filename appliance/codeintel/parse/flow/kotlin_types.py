"""Kotlin's types: what a value of the type that is written down can be."""

from collections.abc import Sequence
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.parse.flow.jvm_types import JvmTypes
from appliance.codeintel.parse.flow.typed import first

_HOLD: Final = frozenset({
    "MutableList", "MutableSet", "MutableCollection", "MutableIterable", "MutableIterator", "MutableListIterator",
    "Sequence", "Array", "ArrayDeque", "Flow", "StateFlow", "MutableStateFlow", "SharedFlow", "MutableSharedFlow",
    "Deferred", "Lazy", "Result", "Channel", "LiveData", "MutableLiveData", "State", "MutableState",
})  # fmt: skip
_SAME: Final = {  # the language's own types by Java's names
    "String": "String", "Int": "int", "Long": "long", "Short": "short", "Byte": "byte", "Char": "char", "Boolean": "boolean",
    "Float": "float", "Double": "double",
}  # fmt: skip
_NONE: Final = frozenset({"Unit", "Nothing"})
TYPES: Final = frozenset({"user_type", "nullable_type", "function_type", "parenthesized_type", "non_nullable_type"})


class KotlinTypes(JvmTypes):
    """Reads types."""

    def is_library(self, name: str) -> bool:
        """Return whether *name* is one of Kotlin's or Java's own library here."""
        if any(name in home.types or name == home.name for home in self.homes):
            return False
        return self.origins.get(name, "kotlin.").startswith(("kotlin.", "kotlin", "java."))

    def instance_of(self, node: Node) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        kind = node.type
        if kind == "function_type":
            return self._function_type(node)
        if kind != "user_type":
            return self.declared(type_in(node)) if kind in TYPES or kind == "type_projection" else UNKNOWN
        names, given = self.parts(node)
        if len(names) == 1 and names[0] in self.generics:
            return self.generics[names[0]]
        if len(names) == 1 and (names[0] in _SAME or names[0] in _NONE) and names[0] not in self.imports:
            return self.constant(_SAME[names[0]]) if names[0] in _SAME else UNKNOWN
        return self._known(names, node, given) or self.instance(self.type_named(".".join(names)))

    def _known(self, names: Sequence[str], node: Node, given: Sequence[Node]) -> int:
        if not given or not self.is_library(names[0]):
            return UNKNOWN
        return self.library(".".join(names), node, [self.declared(each) for each in given])

    def library(self, name: str, node: Node, given: Sequence[int]) -> int:
        """Return the term of an instance of the libraries' *name* of *given*: a container, a function, or UNKNOWN."""
        if name in _HOLD:
            return self.held("list", node, given[:1])
        return self.container("Map" if name == "MutableMap" else name, node, given)

    def _function_type(self, node: Node) -> int:
        """Read ``Receiver.(A, B) -> C``; the receiver is what comes first."""
        *taken, result = [child for child in node.named_children if child.type != "type_modifiers"] or [node]
        receiver = [self.declared(child) for child in taken if child.type in TYPES]
        listed = next((child for child in taken if child.type == "function_type_parameters"), None)
        given = [self.declared(type_in(child) if child.type == "parameter" else child) for child in kinds_in(listed)]
        return self.signature(node, self.declared(result), [*receiver, *given], marks=("received",) * bool(receiver))

    def parts(self, node: Node) -> tuple[list[str], Sequence[Node]]:
        """Return the names of the type *node*, one in another, and what it takes."""
        names = [self.text(child).strip("`") for child in node.named_children if child.type == "identifier"]
        listed = next((child for child in node.named_children if child.type == "type_arguments"), None)
        return names or [""], listed.named_children if listed is not None else ()

    def type_term(self, node: Node | None) -> int:
        """Return the term of the type itself that *node* names."""
        at = node
        while at is not None and at.type != "user_type":
            at = type_in(at) if at.type in TYPES else None
        if at is None:
            return UNKNOWN
        names, _ = self.parts(at)
        if names[0] in self.generics:
            return UNKNOWN
        return self.type_named(".".join(names))

    def extended(self, node: Node) -> int:
        """Return the term of the type that an extension for *node* adds to: of a class, or of something in the library."""
        at: Node | None = node
        while at is not None and at.type != "user_type":
            at = type_in(at) if at.type in TYPES else None
        if at is None:
            return UNKNOWN
        names, given = self.parts(at)
        if names[0] in self.generics or names == ["Any"]:
            return self.generics.get(names[0]) or self.language("Any")
        if len(names) == 1 and names[0] in _SAME:
            return self.language(_SAME[names[0]])
        return self._known(names, at, given) or self.type_term(at)

    def take_generics(self, node: Node) -> None:
        """Know the parameters that the types of *node* take."""
        for listed in node.named_children:
            if listed.type in {"type_parameters", "type_constraints"}:
                for child in listed.named_children:
                    self.generics[self.text(first_name(child))] = self.declared(type_in(child))


def type_in(node: Node | None) -> Node | None:
    """Return the first type among the children of *node*, None if there is none."""
    return next(iter(kinds_in(node)), None)


def kinds_in(node: Node | None) -> list[Node]:
    """Return the types, and named parameters of types, among the children of *node*."""
    wanted = TYPES | {"parameter", "type_projection"}
    return [child for child in node.named_children if child.type in wanted] if node is not None else []


def first_name(node: Node | None) -> Node | None:
    """Return the first identifier among the children of *node*, None if there is none."""
    return next((child for child in node.named_children if child.type == "identifier"), None) if node is not None else None


def child_of(node: Node | None, *kinds: str) -> Node | None:
    """Return the first child of *node* of one of *kinds*, None if there is none."""
    return next((child for child in node.named_children if child.type in kinds), None) if node is not None else first(node)
