"""What C#'s names hold, and what its assignments, patterns and declarations bind."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import SETTER, UNKNOWN, Op, Read
from appliance.codeintel.parse.flow.csharp_types import CSharpTypes
from appliance.codeintel.parse.flow.typed import DEEPEST, first, line_of

INDEXER: Final = "this[]"
THIS: Final = frozenset({"this", "base"})


class CSharpBindings(CSharpTypes):
    """Reads names, and binds them."""

    def named_at(self, name: str, node: Node) -> int:
        """Return the term of what *name* holds at *node*: a variable, a member, a type, or what is imported."""
        variable = self.find(name)
        if variable is not None:
            return variable.term or self.builder.term(Op.READ, variable.scope, text=variable.own)
        home = next((each for each in reversed(self.homes) if name in each.fields), None)
        if home is None and name in self.imports:
            return self.imports[name]
        if self.homes:
            self.note_read(self.holder(name), name, node)
        return self.builder.term(Op.READ, self.scope if home is None else home.scope, text=name)

    def note_read(self, base: int, name: str, node: Node) -> None:
        """Note that *name* of *base*, perhaps a property, is read at *node*."""
        if base:
            self.builder.reads.append(Read(self.scope, self.attribute(base, name), line_of(node)))

    def within(self, node: Node | None) -> None:
        """Read what stands between brackets."""
        if node is not None:
            self.each(node)

    def declaration(self, node: Node, value: int) -> None:
        """Declare the variable that *node* names where it is used, and which holds *value*."""
        named = node.child_by_field_name("name")
        if named is not None and named.type == "identifier":
            self.declare(self.text(named), self.declared(node.child_by_field_name("type")) or value)

    def assign_to(self, left: Node | None, term: int) -> None:
        """Let *left*, a name, a member or a tuple of them, hold *term*."""
        kind = left.type if left is not None else ""
        if left is None:
            return
        if kind == "identifier":
            name = self.text(left)
            if self.find(name) is not None:
                self.assign(name, term)
            elif name != "_":
                self.set_member(self.holder(name), name, term, left)
        elif kind == "member_access_expression":
            base = self.read(left.child_by_field_name("expression"))
            self.set_member(base, self.text(left.child_by_field_name("name")), term, left)
        elif kind == "element_access_expression":
            base = self.read(left.child_by_field_name("expression"))
            self.within(left.child_by_field_name("subscript"))
            self.store(base, term)
            self.note_read(base, INDEXER, left)
        elif kind == "tuple_expression":
            self.unpack([value_of(child) for child in left.named_children], term)
        elif kind == "declaration_expression":
            self.declaration(left, term)
        else:
            self.read(left)

    def set_member(self, base: int, name: str, term: int, node: Node) -> None:
        """Let *name* of *base* hold *term*, which may be a property that has something to say about it."""
        self.store(base, term, name=name)
        self.note_read(base, f"{SETTER}{name}", node)

    def unpack(self, targets: "list[Node | None]", term: int) -> None:
        """Let each of *targets* hold its part of *term*."""
        for place, target in enumerate(targets):
            self.assign_to(target, self.item(term, place))

    def match(self, node: Node | None, term: int) -> None:
        """Declare the variables of a pattern that *term* is held against."""
        if node is None:
            return
        if self.depth > DEEPEST:
            self.builder.cut = True
            return
        self.depth += 1
        self._matched(node, term)
        self.depth -= 1

    def _matched(self, node: Node, term: int) -> None:
        shown, named = node.child_by_field_name("type"), node.child_by_field_name("name")
        declared = self.declared(shown)
        if named is not None and named.type == "identifier":
            self.declare(self.text(named), declared or term)
        for child in node.named_children:
            if child.type == "subpattern":
                key = first(child)
                keyed = key is not None and any(each.type == ":" for each in child.children)
                inner = self.attribute(declared or term, self.text(key)) if keyed else UNKNOWN
                self.match(child.named_children[-1] if child.named_children else None, inner)
            elif child.type.endswith(("pattern", "clause")):
                self.match(child, declared or term)


def value_of(argument: Node) -> Node | None:
    """Return the value of an argument, which may be the plain word ``this``."""
    return next((child for child in reversed(argument.children) if child.is_named or child.type in THIS), None)
