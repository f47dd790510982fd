"""What Python's assignments and imports bind."""

from collections.abc import Sequence

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Store
from appliance.codeintel.parse.flow.python_expressions import first
from appliance.codeintel.parse.flow.python_types import Types


class Bindings(Types):
    """Reads assignments and imports as well."""

    def assignment(self, node: Node) -> int:
        """Read ``a = b = c`` and ``a: T = c``, and return the term of what is assigned."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        declared = self.declared(node.child_by_field_name("type"))
        if right is None:
            if declared:
                self.assign(left, declared)
            return UNKNOWN
        term = self.assignment(right) if right.type == "assignment" else self.read(right)
        if declared:
            term = self.builder.term(Op.ELSE, term, declared) if term else declared
        self.assign(left, term)
        return term

    def augmented(self, node: Node) -> None:
        """Read ``a += b``: what a holds stays of the kind that it was."""
        self.read(node.child_by_field_name("right"))
        left = node.child_by_field_name("left")
        if left is not None and left.type != "identifier":
            self.read(left)

    def assign(self, target: Node | None, term: int) -> None:
        """Let *target* hold *term*."""
        if target is None:
            return
        kind = target.type
        if kind == "identifier":
            self.bind(self.text(target), term)
        elif kind == "attribute":
            base = self.read(target.child_by_field_name("object"))
            attribute = target.child_by_field_name("attribute")
            if attribute is not None:
                name = self.text(attribute)
                self.builder.stores.append(Store(base, term, name))
                self._set_path(target, term, plain=self.builder.term(Op.ATTR, base, text=name))
        elif kind == "subscript":
            base = self.read(target.child_by_field_name("value"))
            key = self.read(target.child_by_field_name("subscript"))
            self.builder.stores.append(Store(base, term, key=key))
            self._set_path(target, term, plain=self.builder.term(Op.ITEM, base, key))
        elif kind in {"pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list"}:
            self._unpack(target.named_children, term)
        elif kind in {"list_splat_pattern", "as_pattern_target", "parenthesized_expression"}:
            self.assign(first(target), term)

    def _set_path(self, target: Node, term: int, *, plain: int) -> None:
        if path := self.path(target):
            self.env.set_path(path, term, plain=plain)

    def _unpack(self, targets: Sequence[Node], term: int) -> None:
        star = next((place for place, each in enumerate(targets) if each.type == "list_splat_pattern"), len(targets))
        shown = self.builder.shown(term)
        for place, target in enumerate(targets):
            after = len(targets) - place
            if place == star:
                self.assign(target, self.builder.term(Op.SLICE, term, place))
            elif place > star and shown:
                self.assign(target, self._item(term, shown - after))
            else:
                self.assign(target, self._item(term, place) if place < star else self._any(term))

    def _item(self, term: int, place: int) -> int:
        return self.builder.item(term, place) or self.builder.term(
            Op.ITEM, term, self.builder.term(Op.CONST, text=f"int:{place}")
        )

    def _any(self, term: int) -> int:
        return self.builder.term(Op.ITEM, term, UNKNOWN)

    def bind(self, name: str, term: int) -> None:
        """Let *name*, in the scope that it belongs to, hold *term*."""
        scope = self.builder.scopes[self.scope]
        if (holder := scope.elsewhere.get(name)) is not None:
            self.builder.bind(holder, name, term, from_within=True)
            return
        self.builder.bind(self.scope, name, term)
        self.env.set(name, term)

    def elsewhere(self, node: Node) -> None:
        """Take ``global`` and ``nonlocal``: from here on the names are another scope's."""
        scope = self.builder.scopes[self.scope]
        holder = 0 if node.type == "global_statement" else scope.parent
        for child in node.named_children:
            name = self.text(child)
            while node.type == "nonlocal_statement" and holder > 0 and name not in self.builder.scopes[holder].bound:
                holder = self.builder.scopes[holder].parent
            scope.elsewhere[name] = max(holder, 0)

    def import_(self, node: Node) -> None:
        """Read ``import a.b``, which binds a, and ``import a.b as c``."""
        for child in node.children_by_field_name("name"):
            alias = child.child_by_field_name("alias") if child.type == "aliased_import" else None
            module = self.text((child.child_by_field_name("name") or child) if alias else child)
            if alias:
                self.bind(self.text(alias), self.builder.term(Op.IMPORT, text=module))
            else:
                self.bind(module.partition(".")[0], self.builder.term(Op.IMPORT, text=module.partition(".")[0]))

    def import_from(self, node: Node) -> None:
        """Read ``from a import b``."""
        named = node.child_by_field_name("module_name")
        module = "".join(self.text(named).split()) if named else ""
        if any(child.type == "wildcard_import" for child in node.named_children):
            self.builder.stars.append(module)
        for child in node.children_by_field_name("name"):
            alias = child.child_by_field_name("alias") if child.type == "aliased_import" else None
            name = self.text((child.child_by_field_name("name") or child) if alias else child)
            self.bind(self.text(alias) if alias else name, self.builder.term(Op.FROM, text=module, name=name))
