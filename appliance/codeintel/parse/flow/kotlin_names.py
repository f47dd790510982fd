"""Kotlin's names: what each holds, on whom calls without a receiver can be, and what is bound."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tree_sitter import Node

from appliance.codeintel.flow import SETTER, UNKNOWN, Op, Read
from appliance.codeintel.parse.flow.kotlin_types import KotlinTypes, child_of, first_name, type_in
from appliance.codeintel.parse.flow.typed import line_of


class KotlinNames(KotlinTypes):
    """Reads names, and binds them."""

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.receivers: list[int] = []  # what a lambda or an extension around is called on

    @contextmanager
    def on(self, receiver: int) -> Iterator[None]:
        """Stand in code that is called on *receiver*, and afterwards where the walk stood before."""
        before = self.this
        self.this = receiver or before
        self.receivers.append(receiver)
        try:
            yield
        finally:
            self.receivers.pop()
            self.this = before

    def named_at(self, name: str, node: Node) -> int:
        """Return the term of what *name* holds at *node*: a variable, a member, a type, or what is imported."""
        if name in {"null", "true", "false"}:
            return UNKNOWN if name == "null" else self.constant("boolean")
        variable = self.find(name)
        if variable is not None:
            return variable.term or self.builder.term(Op.READ, variable.scope, text=variable.own)
        home = next((each for each in reversed(self.homes) if name in each.fields), None)
        if home is None and name[:1].isupper():
            return self.type_named(name)
        for base in [*reversed(self.receivers), *([self.holder(name)] if self.homes else [])]:
            self.note_read(base, name, node)
        found = self.inherited(name) if home is None else self.builder.term(Op.READ, home.scope, text=name)
        return self._received(name, found)

    def called(self, name: str, node: Node) -> int:
        """Return the term of the function that a call of *name* alone calls."""
        variable = self.find(name)
        if variable is not None:
            term = variable.term or self.builder.term(Op.READ, variable.scope, text=variable.own)
            return self.attribute(term, "invoke()")
        found = self._received(f"{name}()", self.inherited(f"{name}()"))
        if name[:1].isupper():
            return self.builder.term(Op.ELSE, found, self.type_named(name))
        if any(name in home.fields for home in self.homes):
            return self.builder.term(Op.ELSE, found, self.attribute(self.named_at(name, node), "invoke()"))
        return found

    def _received(self, key: str, found: int) -> int:
        """Return the term of *key* of what the code around is called on, or else of what was *found*."""
        for receiver in self.receivers:  # the innermost is asked first
            if receiver:
                found = self.builder.term(Op.ELSE, self.attribute(receiver, key), found)
        return found

    def note_read(self, base: int, name: str, node: Node) -> None:
        """Note that *name* of *base*, perhaps a property, is read at *node*."""
        if base:
            self.builder.reads.append(Read(self.scope, self.attribute(base, name), line_of(node)))

    def assign_to(self, left: Node | None, term: int) -> None:
        """Let *left*, a name, a member or an item, hold *term*."""
        if left is None:
            return
        if left.type == "identifier":
            name = self.text(left)
            if self.find(name) is not None:
                self.assign(name, term)
            else:
                self.set_member(self.receivers[-1] if self.receivers else self.holder(name), name, term, left)
        elif left.type == "navigation_expression" and left.named_child_count > 1:
            self.set_member(self.read(left.named_children[0]), self.text(left.named_children[-1]), term, left)
        elif left.type == "index_expression":
            base, *keys = [self.read(child) for child in left.named_children]
            self.store(base, term)
            self.operate(base, "set", left, [*keys, term])
        else:
            self.read(left)

    def set_member(self, base: int, name: str, term: int, node: Node) -> None:
        """Let *name* of *base* hold *term*, which may be a property that has something to say about it."""
        self.store(base, term, name=name)
        self.note_read(base, f"{SETTER}{name}", node)

    def operate(self, base: int, name: str, node: Node, given: Sequence[int]) -> int:
        """Note that the operator *name* of *base* is used at *node*, and return the term of what it gives."""
        if self.builder.is_constant(base):
            return base
        arguments = [("", each) for each in given]
        site = self.builder.site("get", self.scope, self.attribute(base, f"{name}()"), line_of(node), arguments)
        return self.builder.term(Op.CALL, site)

    def unpack(self, node: Node, term: int) -> None:
        """Let the variables of ``(a, b)`` hold the components of *term*."""
        for place, each in enumerate(child for child in node.named_children if child.type == "variable_declaration"):
            part = self.builder.join((self.item(term, place), self.attribute(term, f"component{place + 1}")))
            self.declare(self.text(first_name(each)), self.declared(type_in(each)) or part)

    def narrow(self, condition: Node | None) -> None:
        """In this block let what ``x is T`` was asked of be a T, where all of that holds."""
        waiting = [condition] if condition is not None else []
        while waiting:
            at = waiting.pop()
            operator = at.child_by_field_name("operator")
            if at.type == "parenthesized_expression" or (at.type == "binary_expression" and self.text(operator) == "&&"):
                waiting += at.named_children
            elif at.type == "is_expression" and any(child.type == "is" for child in at.children):
                self.known_as(at.child_by_field_name("left"), at.child_by_field_name("right"))

    def known_as(self, node: Node | None, kind: Node | None) -> None:
        """In this block let the name *node* hold a *kind*."""
        declared = self.declared(kind)
        if node is not None and node.type == "identifier" and declared:
            self.declare(self.text(node), declared)

    def parameters(self, node: Node | None) -> None:
        """Read the parameters of the function that the walk stands in."""
        star = False
        for child in node.named_children if node is not None else ():
            if child.type == "parameter_modifiers":
                star = "vararg" in self.text(child)
            elif child.type == "parameter":
                value = child.next_sibling
                default = self.constant("default") if value is not None and value.type == "=" else UNKNOWN
                declared = self.declared(type_in(child))
                self.parameter(
                    self.text(first_name(child)), self.held("list", child, [declared]) if star else declared,
                    default=default, star=star,
                )  # fmt: skip
                star = False
            elif child_of(node, "parameter") is not None:
                self.read(child)  # what a parameter is by default
