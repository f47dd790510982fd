"""JavaScript's and TypeScript's statements, and with them the flow of one blob."""

from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.env import Env
from appliance.codeintel.parse.flow.javascript_definitions import Definitions
from appliance.codeintel.parse.flow.javascript_names import DECLARED, VARIABLES, Block, first

_ENDS: Final = frozenset({"return_statement", "throw_statement"})
_HOISTED: Final = frozenset({"function_declaration", "generator_function_declaration", "function_signature"})
_TYPES: Final = frozenset({"interface_declaration", "type_alias_declaration"})


def javascript_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, JavaScript or TypeScript and UTF-8, whose syntax tree *root* is."""
    return _Statements(source).whole(root)


class _Statements(Definitions):
    def whole(self, root: Node) -> Flow:
        self.enter(OpenScope("module", "", -1, 1))
        self.scan(root, self.block, suffix="")
        self.begin_exports(root)
        self._block(root)
        self.builder.scopes[0].final = self.env.names()
        return self.builder.finish()

    def nested(self, node: Node, env: Env, *, block: Block | None = None) -> Env:
        """Walk *node* in *env*, with the names of *block*, a function's, or of a block of its own, and return *env*."""
        outer, outer_block, self.env = self.env, self.block, env
        if block is None:
            self.block = self.opened(node, nested=True)
        else:
            self.scan(node, block, suffix="")
        self.depth += 1
        if node.type in self._BLOCKS:
            self._block(node)
        else:
            self._statement(node)
        self.depth -= 1
        self.env, self.block = outer, outer_block
        return env

    def _block(self, node: Node) -> None:
        if self.too_deep():
            return
        self._hoist(node)
        for child in node.named_children:
            self._statement(child)

    def _hoist(self, node: Node) -> None:
        """Bind functions before anything else runs, and types, which may have the name of a value."""
        signed: dict[str, int] = {}
        for child in node.named_children:
            shown = self._defined(child)
            kind = shown.type if shown else ""
            if shown is None or (kind not in _HOISTED and kind not in _TYPES):
                continue
            name = self.text(shown.child_by_field_name("name")) or "default"
            if kind in _TYPES:
                self._type(shown, name)
            elif kind == "function_signature":
                signed[name] = self.function(shown, name)
            else:
                signed.pop(name, None)
                self.bind(name, self.function(shown, name))
        for name, term in signed.items():
            self.bind(name, term)

    def _defined(self, node: Node) -> Node | None:
        """Return the declaration that *node* is or exports."""
        if node.type == "export_statement":
            return node.child_by_field_name("declaration")
        return first(node) if node.type == "ambient_declaration" else node

    def _type(self, node: Node, name: str) -> None:
        if node.type == "interface_declaration":
            term = self.interface(node, name)
        else:
            generics, value = self.take_generics(node), node.child_by_field_name("value")
            if value is not None:
                self.note(value)
            term = self._aliased(value, name)
            self.generics = generics
        scope, own = self.find(name) or (0, name)
        self.merged[scope, own] = self.builder.join((term, self.merged.get((scope, own), UNKNOWN)))
        self.builder.bind(scope, own, term, from_within=scope != self.scope)

    def _aliased(self, value: Node | None, name: str) -> int:
        """Return the term of what ``type name = value`` stands for: a type, of which there can be instances."""
        if value is None:
            return UNKNOWN
        if value.type == "object_type":
            return self.interface(value, name)
        shown = value.child_by_field_name("name") if value.type == "generic_type" else value
        if shown is not None and shown.type in {"type_identifier", "nested_type_identifier"}:
            return self.type_named(self.text(shown))
        if value.type in {"union_type", "intersection_type"}:
            return self.builder.join(self._aliased(each, name) for each in self.parts(value, value.type))
        return UNKNOWN

    def _statement(self, node: Node) -> None:
        if self.too_deep():
            return
        self.depth += 1
        handler = self._HANDLERS.get(node.type)
        if handler:
            handler(self, node)
        else:
            self.read(node)
        self.depth -= 1
        if node.type in _ENDS:
            self.env.dead = True

    def _inner(self, node: Node) -> None:
        self.nested(node, self.env)

    def _each(self, node: Node) -> None:
        for child in node.named_children:
            self._statement(child)

    def _variables(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "variable_declarator":
                self.declarator(child, of_function=node.type == "variable_declaration")

    def _return(self, node: Node) -> None:
        shown = first(node)
        self.builder.scopes[self.scope].results.append(self.named_value(shown, "") if shown else UNKNOWN)

    def _class_statement(self, node: Node) -> None:
        name = self.text(node.child_by_field_name("name")) or "default"
        term = self.class_(node, name)
        for child in reversed(node.named_children):
            if child.type == "decorator":
                term = self.decorate(child, term)
        self.bind(name, term)

    def _enum(self, node: Node) -> None:
        body, name = node.child_by_field_name("body"), self.text(node.child_by_field_name("name"))
        items: list[int] = []
        for child in body.named_children if body else ():
            named = child.child_by_field_name("name") if child.type == "enum_assignment" else child
            self.read(child.child_by_field_name("value"))
            items += (self.constant(f"str:{self.property_name(named)}"), self.constant("number"))
        self.bind(name, self.builder.term(Op.MAKE, text="dict", name=str(node.start_byte), items=tuple(items)))

    def _namespace(self, node: Node) -> None:
        """Read a namespace: an object of what stands in it and is exported."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            return
        outer, self.block = self.block, self.opened(body, nested=True)
        self._block(body)
        items: list[int] = []
        for child in body.named_children:
            if child.type == "export_statement":
                for each in self._declared_names(child):
                    items += (self.constant(f"str:{each}"), self.plain(each))
        self.block = outer
        if name is not None and name.type == "identifier":
            made = self.builder.term(Op.MAKE, text="dict", name=str(node.start_byte), items=tuple(items))
            before = self.env.get(self.text(name))
            self.bind(self.text(name), self.builder.join((made, before or UNKNOWN)))

    def _declared_names(self, export: Node) -> list[str]:
        declaration = export.child_by_field_name("declaration")
        if declaration is not None and declaration.type == "ambient_declaration":
            declaration = first(declaration)
        if declaration is None:
            return []
        if declaration.type in VARIABLES:
            shown = [child.child_by_field_name("name") for child in declaration.named_children]
            return [name for each in shown for name in self.pattern_names(each)]
        return [self.text(declaration.child_by_field_name("name"))] if declaration.type in DECLARED else []

    def _export(self, node: Node) -> None:
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        kinds = {child.type for child in node.children}
        names = self._declared_names(node)
        if declaration is not None:
            self._statement(declaration)
            self._decorate_exported(node, names)
            top = self.block.outer is None
            if "default" in kinds:
                self.export("default", self.plain(names[0] if names and names[0] else "default"))
            else:
                for name in names if top else ():
                    self.export(name, self.plain(name))
        elif value is not None:
            term = self.named_value(value, "default")
            shown = value.type == "identifier"
            self.export("default", self.plain(self.text(value)) if shown else term)
        elif "=" in kinds:
            self.export_whole(node.named_children)
        else:
            self.export_names(node)

    def _decorate_exported(self, node: Node, names: list[str]) -> None:
        for child in reversed(node.named_children):
            if child.type == "decorator" and names:
                self.bind(names[0], self.decorate(child, self.named(names[0])))

    def _if(self, node: Node) -> None:
        branches: list[Env] = []
        at: Node | None = node
        while at is not None and at.type == "if_statement":  # a long chain nests to the right
            condition = at.child_by_field_name("condition")
            self.read(condition)
            env = self.env.branch()
            narrowed = self._narrow(condition, env)
            branches.append(self._branch(at.child_by_field_name("consequence"), env))
            self._widen(narrowed, env)
            clause = at.child_by_field_name("alternative")
            at = first(clause) if clause is not None else None
        if at is not None:
            branches.append(self._branch(at, self.env.branch()))
        self.env.merge(branches, or_none=at is None)

    def _branch(self, node: Node | None, env: Env) -> Env:
        return env if node is None else self.nested(node, env)

    def _narrow(self, condition: Node | None, env: Env) -> tuple[str, int]:
        """After ``x instanceof T``, let x be an instance of T; return x and that, or "" and nothing."""
        at = first(condition) if condition is not None else None
        if at is None or at.type != "binary_expression":
            return "", UNKNOWN
        left, right, operator = (at.child_by_field_name(name) for name in ("left", "right", "operator"))
        if left is None or operator is None or operator.type != "instanceof" or left.type != "identifier":
            return "", UNKNOWN
        found = self.find(self.text(left))
        if found is None or found[0] != self.scope:
            return "", UNKNOWN
        term = self.builder.term(Op.INSTANCE, self.read(right))
        env.set(found[1], term)
        return found[1], term

    def _widen(self, narrowed: tuple[str, int], env: Env) -> None:
        """Let a variable that was narrowed, and not assigned since, be after the branch what it was before."""
        name, term = narrowed
        if name and env.get(name) == term:
            env.set(name, self.env.get(name) or UNKNOWN)

    def _for_in(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        kind, operator = node.child_by_field_name("kind"), node.child_by_field_name("operator")
        over = self.read(right)
        of = operator is not None and self.text(operator) == "of"
        value = self.iterated(over, node) if of else self.constant("str")
        outer, self.block = self.block, Block(self.block.scope, self.block, nested=True)
        for name in self.pattern_names(left) if kind is not None else ():
            if kind is not None and kind.type == "var":
                self.declare(name, of_function=True)
            else:
                self.block.names[name] = f"{name}@{node.start_byte}"
        self._looped(node, before=lambda: self.assign(left, value))
        self.block = outer

    def _for(self, node: Node) -> None:
        outer, self.block = self.block, Block(self.block.scope, self.block, nested=True)
        self.scan(node, self.block, suffix=f"@{node.start_byte}")
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            self._statement(initializer)
        self._looped(node, before=lambda: self.read(node.child_by_field_name("condition")))
        self.block = outer

    def _while(self, node: Node) -> None:
        self._looped(node, before=lambda: self.read(node.child_by_field_name("condition")))

    def _looped(self, node: Node, *, before: Callable[[], object]) -> None:
        env = self.env.loop()
        outer, self.env = self.env, env
        before()
        body = node.child_by_field_name("body")
        if body is not None:
            self.nested(body, env)
        self.read(node.child_by_field_name("increment"))
        self.env = outer
        env.dead = False
        self.env.merge([env], or_none=True)

    def _switch(self, node: Node) -> None:
        self.read(node.child_by_field_name("value"))
        body = node.child_by_field_name("body")
        if body is None:
            return
        outer, self.block = self.block, Block(self.block.scope, self.block, nested=True)
        for case in body.named_children:
            self.scan(case, self.block, suffix=f"@{node.start_byte}")
        branches, closed = [], False
        for case in body.named_children:
            closed = closed or case.type == "switch_default"
            env = self.env.branch()
            around, self.env = self.env, env
            self._each(case)
            self.env = around
            branches.append(env)
        self.block = outer
        self.env.merge(branches, or_none=True)

    def _try(self, node: Node) -> None:
        body = self.env.branch()
        block, handler = node.child_by_field_name("body"), node.child_by_field_name("handler")
        if block is not None:
            self.nested(block, body)
        ended, body.dead = body.dead, False
        branches = [body]
        if handler is not None:
            env = self.env.branch()
            env.take_some(body)
            branches.append(self._caught(handler, env))
        body.dead = ended
        self.env.merge(branches, or_none=False)
        finalizer = node.child_by_field_name("finalizer")
        last = finalizer.child_by_field_name("body") if finalizer is not None else None
        if last is not None:
            dead, self.env.dead = self.env.dead, False
            self._inner(last)
            self.env.dead = self.env.dead or dead

    def _caught(self, handler: Node, env: Env) -> Env:
        outer, self.block = self.block, Block(self.block.scope, self.block, nested=True)
        parameter, body = handler.child_by_field_name("parameter"), handler.child_by_field_name("body")
        for name in self.pattern_names(parameter):
            self.block.names[name] = f"{name}@{handler.start_byte}"
        around, self.env = self.env, env
        self.assign(parameter, UNKNOWN)
        self.env = around
        if body is not None:
            self.nested(body, env)
        self.block = outer
        return env

    def _nothing_more(self, _: Node) -> None:
        """Do nothing: it is bound already when its block begins."""

    _BLOCKS: ClassVar[frozenset[str]] = frozenset({"statement_block", "program"})
    _HANDLERS: ClassVar[dict[str, Callable[["_Statements", Node], None]]] = {
        "statement_block": _inner,
        "lexical_declaration": _variables,
        "variable_declaration": _variables,
        "return_statement": _return,
        "class_declaration": _class_statement,
        "abstract_class_declaration": _class_statement,
        "enum_declaration": _enum,
        "internal_module": _namespace,
        "module": _namespace,
        "import_statement": Definitions.import_,
        "import_alias": Definitions.import_alias,
        "export_statement": _export,
        "ambient_declaration": _each,
        "labeled_statement": _each,
        "if_statement": _if,
        "for_statement": _for,
        "for_in_statement": _for_in,
        "while_statement": _while,
        "do_statement": _while,
        "switch_statement": _switch,
        "try_statement": _try,
        "ERROR": _each,
        **dict.fromkeys(_HOISTED | _TYPES, _nothing_more),
    }
