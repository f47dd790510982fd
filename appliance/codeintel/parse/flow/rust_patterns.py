"""Rust's patterns: what the names in them hold."""

from abc import ABC
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN
from appliance.codeintel.parse.flow.rust_types import FIELD, Types
from appliance.codeintel.parse.flow.typed import first

_INNER: Final = frozenset({
    "ref_pattern", "mut_pattern", "reference_pattern", "match_pattern", "parenthesized_pattern",
})  # fmt: skip
_SAME: Final = frozenset({"or_pattern", "captured_pattern"})
_SEVERAL: Final = _SAME | {"tuple_pattern", "slice_pattern"}
_PARTS: Final = {"Some": -1, "Ok": 0, "Err": 1}


class Patterns(Types, ABC):
    """Reads patterns as well."""

    def bind_pattern(self, node: Node | None, term: int) -> None:
        """Declare the names of the pattern *node*, which *term* is taken apart by."""
        if node is None or self.too_deep():
            return
        self.depth += 1
        self._bind(node, term)
        self.depth -= 1

    def _bind(self, node: Node, term: int) -> None:
        kind = node.type
        if kind == "identifier":
            if not self.text(node)[:1].isupper():  # else a constant
                self.declare(self.text(node), term)
        elif kind == "tuple_struct_pattern":
            self._tuple_struct(node, term)
        elif kind == "struct_pattern":
            self._struct(node, term)
        elif kind in _SEVERAL:
            rest = False
            for place, child in enumerate(self._parts(node)):
                rest = rest or child.type == "remaining_field_pattern"  # what stands behind it has an unknown place
                part = self.item(term, place) if kind == "tuple_pattern" and not rest else self.item(term)
                self.bind_pattern(child, term if kind in _SAME else part)
        elif kind in _INNER:
            self.bind_pattern(self._inner(node), term)

    def _parts(self, node: Node) -> list[Node]:
        return [child for child in node.children if (child.is_named or child.type == "_") and "comment" not in child.type]

    def _inner(self, node: Node) -> Node | None:
        return next((child for child in node.named_children if child.type != "mutable_specifier"), None)

    def _tuple_struct(self, node: Node, term: int) -> None:
        named = node.child_by_field_name("type")
        name = self.text(named)
        parts = [child for child in self._parts(node) if child != named]
        if name in _PARTS and self.find(name) is None:
            for child in parts:
                self.bind_pattern(child, self.item(term, _PARTS[name]))
            return
        made = self.path(named)
        for place, child in enumerate(parts):
            self.bind_pattern(child, self._field(made, str(place)))

    def _struct(self, node: Node, term: int) -> None:
        made = self.path(node.child_by_field_name("type"))
        for child in node.named_children:
            if child.type == "field_pattern":
                name, pattern = child.child_by_field_name("name"), child.child_by_field_name("pattern")
                part = self._field(made, self.text(name)) if made else self.attribute(term, f"{FIELD}{self.text(name)}")
                if pattern is not None:
                    self.bind_pattern(pattern, part)
                else:
                    shown = first(name) if name is not None and name.named_child_count else name
                    self.declare(self.text(shown), part)

    def _field(self, made: int, name: str) -> int:
        """Return the term of a field of a struct or of a variant, which are told apart only later."""
        if not made:
            return UNKNOWN
        name = f"{FIELD}{name}"
        return self.builder.join((self.attribute(made, name), self.attribute(self.instance(made), name)))
