"""What JavaScript's assignments, declarations, imports and exports bind."""

from collections.abc import Sequence

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Store
from appliance.codeintel.parse.flow.javascript_names import constant_key, first
from appliance.codeintel.parse.flow.javascript_types import Types

WHOLE = "export ="  # the name of what `module.exports` holds


class Bindings(Types):
    """Reads assignments, declarations, imports and exports as well."""

    def declarator(self, node: Node, *, of_function: bool) -> None:
        """Read one ``name: T = value`` of a declaration; ``var`` is *of_function*."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        for each in self.pattern_names(name) if of_function else ():
            self.declare(each, of_function=True)
        declared = self.declared(node.child_by_field_name("type"))
        shown = name is not None and name.type == "identifier"
        term = self.named_value(value, self.text(name) if shown else "")
        if declared:
            term = self.builder.term(Op.ELSE, term, declared) if term else declared
        if value is not None or declared or not of_function:
            self.assign(name, term)

    def assign(self, target: Node | None, term: int) -> None:
        """Let *target*, a name, a member or a pattern, hold *term*."""
        if target is None or self.too_deep():
            return
        self.depth += 1
        self._assign(target, term)
        self.depth -= 1

    def _assign(self, target: Node, term: int) -> None:
        kind = target.type
        if kind in {"identifier", "shorthand_property_identifier_pattern"}:
            name = self.text(target)
            self.bind(name, term)
            if name == "exports" and self.find(name) == (0, name):
                self.bind(WHOLE, term)
        elif kind in {"member_expression", "subscript_expression"}:
            self._assign_member(target, term)
        elif kind == "object_pattern":
            for child in target.named_children:
                self._take(child, term)
        elif kind == "array_pattern":
            self._unpack(target, term)
        elif kind in {"assignment_pattern", "object_assignment_pattern"}:
            left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
            default = self.named_value(right, self.text(left) if left and left.type == "identifier" else "")
            self.assign(left, self.builder.join((term, default)))
        elif kind in {"rest_pattern", "parenthesized_expression", "non_null_expression", "as_expression"}:
            self.assign(first(target), term)

    def _assign_member(self, target: Node, term: int) -> None:
        shown = target.child_by_field_name("object")
        attribute = target.child_by_field_name("property")
        index = target.child_by_field_name("index")
        key = constant_key(index, self.source)
        name = self.text(attribute) if attribute is not None else key[4:] if key.startswith("str:") else ""
        if shown is not None and self.is_exports(shown, name):
            self.bind(WHOLE, term)
            return
        base = self.read(shown)
        if name:
            self.builder.stores.append(Store(base, term, name))
            plain = self.builder.term(Op.ATTR, base, text=name)
        else:
            place = self.constant(key) if key else self.read(index)
            self.builder.stores.append(Store(base, term, key=place))
            plain = self.builder.term(Op.ITEM, base, place)
        if path := self.path(target):
            self.env.set_path(path, term, plain=plain)

    def _take(self, node: Node, term: int) -> None:
        """Let one part of an object's pattern hold its part of *term*."""
        kind = node.type
        if kind == "pair_pattern":
            key = node.child_by_field_name("key")
            if key is not None:
                self.assign(node.child_by_field_name("value"), self.member(term, self.property_name(key), key))
        elif kind == "shorthand_property_identifier_pattern":
            self.assign(node, self.member(term, self.text(node), node))
        elif kind == "object_assignment_pattern":
            left = node.child_by_field_name("left")
            if left is not None:
                self.assign(node, self.member(term, self.text(left), left))
        elif kind == "rest_pattern":
            self.assign(first(node), term)

    def _unpack(self, target: Node, term: int) -> None:
        place = 0
        for child in target.children:
            if child.type == ",":
                place += 1
            elif child.type == "rest_pattern":
                self.assign(first(child), self.builder.term(Op.SLICE, term, place))
            elif child.is_named and child.type != "comment":
                item = self.builder.item(term, place)
                self.assign(child, item or self.builder.term(Op.ITEM, term, self.constant(f"int:{place}")))

    def begin_exports(self, root: Node) -> None:
        """Let ``exports`` and ``module.exports`` hold one object at the start of a module that is no ES module."""
        modern = any(child.type in {"import_statement", "export_statement"} for child in root.named_children)
        self.declare(WHOLE)
        if b"exports" in self.source and not modern and self.find("exports") is None:
            self.declare("exports")
            made = self.builder.term(Op.MAKE, text="dict", name="exports")
            self.bind("exports", made)
            self.bind(WHOLE, made)

    def is_exports(self, shown: Node, name: str) -> bool:
        """Return whether *name* of *shown* is ``module.exports``."""
        return name == "exports" and shown.type == "identifier" and self.text(shown) == "module" and not self.find("module")

    def module(self, given: Node | None, op: Op) -> int:
        """Return the term of the module that *given*, the arguments of an import or ``require``, names."""
        named = first(given) if given is not None and given.named_child_count == 1 else None
        if named is None or not constant_key(named, self.source).startswith("str:"):
            return UNKNOWN
        return self.builder.term(op, text=self._source(named), name="=" if op == Op.FROM else "")

    def _source(self, node: Node) -> str:
        return self.text(node).strip("\"'`")

    def import_(self, node: Node) -> None:
        """Read an import, and TypeScript's ``import a = require("b")``."""
        source = node.child_by_field_name("source")
        for clause in node.named_children:
            if clause.type == "import_clause" and source is not None:
                self._imported(clause, self._source(source))
            elif clause.type == "import_require_clause":
                module = clause.child_by_field_name("source")
                if module is not None:
                    self._bind_new(first(clause), self.builder.term(Op.FROM, text=self._source(module), name="="))

    def _imported(self, clause: Node, module: str) -> None:
        for child in clause.named_children:
            if child.type == "identifier":
                self._bind_new(child, self.builder.term(Op.FROM, text=module, name="default"))
            elif child.type == "namespace_import":
                self._bind_new(first(child), self.builder.term(Op.IMPORT, text=module))
            elif child.type == "named_imports":
                for name, alias in self._specifiers(child):
                    self._bind_new(alias, self.builder.term(Op.FROM, text=module, name=self._plain(name)))

    def import_alias(self, node: Node) -> None:
        """Read TypeScript's ``import a = b.c``."""
        named = node.named_children
        if len(named) == 2:
            self._bind_new(named[0], self.type_named(self.text(named[1])))

    def _bind_new(self, node: Node | None, term: int) -> None:
        if node is not None:
            self.declare(self.text(node))
            self.bind(self.text(node), term)

    def _specifiers(self, node: Node) -> list[tuple[Node, Node]]:
        """Return each name in *node*, and what it is called on this side."""
        pairs = []
        for child in node.named_children:
            name = child.child_by_field_name("name")
            if name is not None:
                pairs.append((name, child.child_by_field_name("alias") or name))
        return pairs

    def _plain(self, node: Node) -> str:
        return self.text(node).strip("\"'")

    def export_names(self, node: Node) -> None:
        """Read an export that defines nothing: of names, of another module's names, or of all that it has."""
        source = node.child_by_field_name("source")
        module = self._source(source) if source is not None else ""
        listed = False
        for child in node.named_children:
            if child.type == "export_clause":
                listed = True
                for name, alias in self._specifiers(child):
                    taken = self.builder.term(Op.FROM, text=module, name=self._plain(name))
                    self.export(self._plain(alias), taken if module else self.plain(self.text(name)))
            elif child.type == "namespace_export":
                listed = True
                self.export(self._plain(child.named_children[0]), self.builder.term(Op.IMPORT, text=module))
        if module and not listed:
            self.builder.stars.append(module)

    def export(self, name: str, term: int) -> None:
        """Let *name* of this module, seen from others, be *term*."""
        self.builder.bind(0, f"export {name}", term)

    def export_whole(self, values: Sequence[Node]) -> None:
        """Read TypeScript's ``export = value``."""
        for value in values:
            self.bind(WHOLE, self.read(value))
