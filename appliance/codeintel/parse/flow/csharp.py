"""C#'s statements and namespaces, and with them the flow of one blob."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.csharp_definitions import CSharpDefinitions, flat
from appliance.codeintel.parse.flow.typed import DEEPEST, first, line_of


def csharp_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, C# and UTF-8, whose syntax tree *root* is."""
    return _CSharp(source).whole(root)


class _CSharp(CSharpDefinitions):
    def whole(self, root: Node) -> Flow:
        self._top(root.named_children)
        return self.finish()

    def _top(self, nodes: Iterable[Node]) -> None:
        """Read what stands in a file or namespace; of a namespace without braces is what comes behind it."""
        rest = flat(nodes)
        for child in rest:
            if child.type == "using_directive":
                self._using(child)
        self._local_functions(rest)
        for place, child in enumerate(rest):
            if child.type == "file_scoped_namespace_declaration":
                self._in_namespace(child, rest[place + 1 :])
                return
            if child.type == "namespace_declaration":
                body = child.child_by_field_name("body")
                self._in_namespace(child, body.named_children if body is not None else ())
            else:
                self.read(child)

    def _in_namespace(self, node: Node, nodes: Iterable[Node]) -> None:
        names = "".join(self.text(node.child_by_field_name("name")).split()).split(".")
        self._namespaces(node, names, nodes)

    def _namespaces(self, node: Node, names: list[str], nodes: Iterable[Node]) -> None:
        if not names or self.depth > DEEPEST:
            self._top(nodes)
            return
        self.depth += 1
        with self.inside(OpenScope("module", names[0], self.scope, line_of(node))):
            self._namespaces(node, names[1:], nodes)
        self.depth -= 1

    def _using(self, node: Node) -> None:
        alias, kinds = node.child_by_field_name("name"), {child.type for child in node.children}
        shown = next((child for child in reversed(node.named_children) if child != alias), None)
        names, _ = self.parts(shown)
        whole = alias is None and "static" not in kinds
        if whole:
            term = self.builder.term(Op.IMPORT, text=".".join(names))
        else:
            term = self.builder.term(Op.FROM, text=".".join(names[:-1]), name=names[-1])
        if alias is not None:
            name = self.text(alias)
            self.imports[name] = self.builder.join((self.imports.get(name, UNKNOWN), term))  # one under each condition
        else:
            self.bind("global *" if "global" in kinds else "*", term)

    def _variables(self, node: Node) -> int:
        """Read a declaration of local variables; what ``using`` declares is closed at its end."""
        inner = (
            node
            if node.type == "variable_declaration"
            else next((c for c in node.named_children if c.type == "variable_declaration"), None)
        )
        using = any(child.type == "using" for child in node.children)
        for name, term in self.declarators(inner):
            self.declare(name, term)
            if using:
                self.call(self.attribute(term, "Dispose"), line_of(node), ())
        return UNKNOWN

    def _using_statement(self, node: Node) -> int:
        with self.nested():
            inner = next((child for child in node.named_children if child.type == "variable_declaration"), None)
            body = node.child_by_field_name("body")
            if inner is None:
                for child in node.named_children:
                    if child != body:
                        self.call(self.attribute(self.read(child), "Dispose"), line_of(node), ())
            for name, term in self.declarators(inner) if inner is not None else ():
                self.declare(name, term)
                self.call(self.attribute(term, "Dispose"), line_of(node), ())
            self.read(body)
        return UNKNOWN

    def _block(self, node: Node) -> int:
        with self.nested():
            self._local_functions(node.named_children)
            return self.each(node)

    def _local_functions(self, nodes: Iterable[Node]) -> None:
        """Declare functions that stand in functions, before anything else is read."""
        for child in nodes:
            inner = first(child) if child.type == "global_statement" else child
            if inner is not None and inner.type == "local_function_statement":
                self.declare(self.text(inner.child_by_field_name("name")), UNKNOWN)

    def _local_function(self, node: Node) -> int:
        name, parameters = self.text(node.child_by_field_name("name")), node.child_by_field_name("parameters")
        shown = node.child_by_field_name("type")
        this = self.this
        with self.method(node, name, kind="local") as term:
            self.this = this
            self.take_generics(node)
            self.builder.scopes[self.scope].type = self.declared(shown)
            if parameters is not None:
                self.parameters(parameters)
            self.body_of(node, shown)
        variable = self.find(name)
        if variable is not None:
            self.builder.bind(variable.scope, variable.own, term)
        return UNKNOWN

    def _for_each(self, node: Node) -> int:
        over, left = self.read(node.child_by_field_name("right")), node.child_by_field_name("left")
        with self.nested():
            site = self.builder.site("iter", self.scope, over, line_of(node))
            term = self.narrowed(self.builder.term(Op.NEXT, over, site), self.declared(node.child_by_field_name("type")))
            if left is not None and left.type == "tuple_pattern":
                for place, each in enumerate(left.named_children):
                    self.declare(self.text(each), self.item(term, place))
            elif left is not None:
                self.declare(self.text(left), term)
            self.read(node.child_by_field_name("body"))
        return UNKNOWN

    def _catch(self, node: Node) -> int:
        with self.nested():
            for child in node.named_children:
                if child.type == "catch_declaration":
                    named = child.child_by_field_name("name")
                    if named is not None:
                        self.declare(self.text(named), self.declared(child.child_by_field_name("type")))
                else:
                    self.read(child)
        return UNKNOWN

    def _switch_statement(self, node: Node) -> int:
        term = self.read(node.child_by_field_name("value"))
        body = node.child_by_field_name("body")
        for section in body.named_children if body is not None else ():
            with self.nested():
                for child in section.named_children:
                    if child.type.endswith("pattern"):
                        self.match(child, term)
                    else:
                        self.read(child)
        return UNKNOWN

    def _return(self, node: Node) -> int:
        self.builder.scopes[self.scope].results.append(self.each(node))
        return UNKNOWN

    def _yield(self, node: Node) -> int:
        term = self.each(node)
        self.builder.scopes[self.scope].results.append(self.held("list", node, [term]))
        return UNKNOWN

    def visit(self, node: Node) -> int:
        """Read *node*, an expression, a statement or a definition."""
        reader = self._STATEMENTS.get(node.type)
        return reader(self, node) if reader is not None else super().visit(node)

    _STATEMENTS: ClassVar[dict[str, Callable[["_CSharp", Node], int]]] = {
        **dict.fromkeys(("local_declaration_statement", "variable_declaration"), _variables),
        "local_function_statement": _local_function,
        "block": _block,
        "for_statement": _block,
        "using_statement": _using_statement,
        "foreach_statement": _for_each,
        "catch_clause": _catch,
        "switch_statement": _switch_statement,
        "return_statement": _return,
        "yield_statement": _yield,
    }
