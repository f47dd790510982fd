"""TypeScript's annotations: what a value of the type that is written there can be."""

from abc import abstractmethod
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Read
from appliance.codeintel.parse.flow.javascript_expressions import Expressions
from appliance.codeintel.parse.flow.javascript_names import first

_WRAPPERS: Final = frozenset({
    "Promise", "PromiseLike", "Awaited", "Readonly", "Partial", "Required", "NonNullable", "Pick", "Omit", "ThisType",
})  # fmt: skip
_SEQUENCES: Final = frozenset({
    "Array", "ReadonlyArray", "Set", "ReadonlySet", "Iterable", "Iterator", "IterableIterator", "AsyncIterable",
    "AsyncIterator", "AsyncIterableIterator", "Generator", "AsyncGenerator",
})  # fmt: skip
_MAPPINGS: Final = {"Map": "map", "ReadonlyMap": "map", "WeakMap": "map", "Record": "dict"}
_NAMES: Final = frozenset({"type_identifier", "identifier", "nested_type_identifier", "nested_identifier"})
_MEMBERS: Final = frozenset({"identifier", "member_expression"})


class Types(Expressions):
    """Reads annotations as well."""

    _noted = False  # whether the names of the type that is being read are noted already

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        if node is None or self.too_deep():
            return UNKNOWN
        self.depth += 1
        outer, self._noted = self._noted, True
        if not outer:
            self.note(node)
        term = self._declared(node)
        self._noted = outer
        self.depth -= 1
        return term

    def note(self, node: Node) -> int:
        """Note every name of a type that stands in *node*, but for the parameters of types; return UNKNOWN."""
        own, waiting, found = set(self.generics), [node], []
        while waiting:
            at = waiting.pop()
            if at.type == "type_parameter":
                own.add(self.text(at.child_by_field_name("name")))
                waiting += [child for child in at.named_children if child.type != "type_identifier"]
            elif at.type == "type_identifier":
                found.append(at)
            elif at.type in {"nested_type_identifier", "nested_identifier", "type_query"}:
                if at.type == "nested_type_identifier":
                    self.builder.reads.append(Read(self.scope, self.type_named(self.text(at)), at.end_point.row + 1))
                (found if at.named_children[0].type == "identifier" else waiting).append(at.named_children[0])
            else:
                waiting += at.named_children
        for each in found:
            if (name := self.text(each)) not in own:
                self.use(name, each)
        return UNKNOWN

    def _declared(self, node: Node) -> int:
        kind = node.type
        if kind in {"type_annotation", "parenthesized_type", "readonly_type", "optional_type", "rest_type"}:
            return self.declared(first(node))
        if kind in _NAMES or kind == "member_expression":
            return self._instance(node)
        if kind == "predefined_type":
            return self.constant("str") if self.text(node) == "string" else UNKNOWN
        if kind in {"union_type", "intersection_type"}:
            return self.builder.join(self.declared(each) for each in self.parts(node, kind))
        if kind == "generic_type":
            return self._generic(node)
        return self._composed(node)

    def _composed(self, node: Node) -> int:
        kind = node.type
        if kind == "array_type":
            return self._held("list", node, self.declared(first(node)))
        if kind == "tuple_type":
            items = [self.declared(child) for child in node.named_children]
            keyed = [each for place, item in enumerate(items) for each in (self.constant(f"int:{place}"), item)]
            return self.builder.term(Op.MAKE, text="list", name=str(node.start_byte), items=tuple(keyed))
        if kind == "type_query":
            queried = first(node)
            return self.read(queried) if queried is not None and queried.type in _MEMBERS else UNKNOWN
        if kind == "this_type":
            return self.this
        return self.builder.term(Op.INSTANCE, self.interface(node, "")) if kind == "object_type" else UNKNOWN

    def parts(self, node: Node, kind: str) -> list[Node]:
        """Return the members of the union or intersection *node*."""
        parts: list[Node] = []
        waiting = [node]
        while waiting:  # a long union leans to the left
            at = waiting.pop()
            for child in reversed(at.named_children):
                (waiting if child.type == kind else parts).append(child)
        return parts

    def _instance(self, node: Node) -> int:
        name = self.text(node)
        if name in self.generics:
            return self.generics[name]
        return self.builder.term(Op.INSTANCE, self.type_named(name))

    def type_named(self, dotted: str) -> int:
        """Return the term of the type *dotted*."""
        head, *rest = dotted.split(".")
        term = self.named(head.strip())
        for each in rest:
            term = self.builder.term(Op.ATTR, term, text=each.strip())
        return term

    def _generic(self, node: Node) -> int:
        named = node.child_by_field_name("name")
        given = next((child.named_children for child in node.named_children if child.type == "type_arguments"), [])
        name = self.text(named)
        if named is None or self.find(name) is not None:
            return UNKNOWN if named is None else self._instance(named)
        if name in _WRAPPERS:
            return self.declared(given[0]) if given else UNKNOWN
        if name in _SEQUENCES:
            return self._held("list", node, self.declared(given[0]) if given else UNKNOWN)
        if name in _MAPPINGS:
            return self._held(_MAPPINGS[name], node, self.declared(given[-1]) if given else UNKNOWN)
        return self._instance(named)

    def _held(self, kind: str, node: Node, value: int) -> int:
        return self.builder.term(Op.MAKE, text=kind, name=str(node.start_byte), items=(UNKNOWN, value))

    def take_generics(self, node: Node) -> dict[str, int]:
        """Know the parameters that the types of *node* take, and return what was known before."""
        before = self.generics
        listed = node.child_by_field_name("type_parameters")
        if listed is not None:
            self.generics = dict(before)
            for child in listed.named_children:
                least = child.child_by_field_name("constraint")
                self.generics[self.text(child.child_by_field_name("name"))] = (
                    self.declared(first(least)) if least else UNKNOWN
                )
        return before

    @abstractmethod
    def interface(self, node: Node, name: str) -> int:
        """Return the term of the interface with the members of *node*; definitions say how."""
