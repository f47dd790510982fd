"""Python's statements, and with them the flow of one blob."""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import Flow, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.env import Env
from appliance.codeintel.parse.flow.python_bindings import Bindings
from appliance.codeintel.parse.flow.python_expressions import first

_MARKS: Final = frozenset({
    "staticmethod", "classmethod", "property", "cached_property", "abstractmethod", "abstractproperty", "overload",
    "setter", "getter", "deleter",
})  # fmt: skip
_SHORT: Final = 2  # statements of a function that may do nothing
_ENDS: Final = frozenset({"return_statement", "raise_statement"})
_LEFT_OPEN: Final = re.compile(r"pass\b|\.\.\.|return(?:\s+None)?$|raise\s+NotImplementedError\b")
_NAME: Final = re.compile(r"(\w+)\s*(?:\(|$)")


def python_flow(root: Node, source: bytes) -> Flow:
    """Return how values move through *source*, which is Python and UTF-8, and whose syntax tree *root* is."""
    return _Statements(source).whole(root)


class _Statements(Bindings):
    def whole(self, root: Node) -> Flow:
        self.enter(OpenScope("module", "", -1, 1))
        self._block(root)
        self.builder.scopes[0].final = self.env.names()
        return self.builder.finish()

    def _block(self, node: Node | None) -> None:
        if node is None:
            return
        for child in node.named_children:
            handler = self._HANDLERS.get(child.type)
            if handler:
                handler(self, child)
            else:
                self.read(child)
            if child.type in _ENDS:
                self.env.dead = True

    def _nested(self, node: Node | None, env: Env) -> Env:
        """Walk *node* in *env*, a branch of this environment, and return it."""
        outer, self.env = self.env, env
        self._depth += 2
        if self._depth > 120:
            self.builder.cut = True
        else:
            self._block(node)
        self._depth -= 2
        self.env = outer
        return env

    def _expression(self, node: Node) -> None:
        for child in node.named_children:
            if child.type == "assignment":
                self.assignment(child)
            elif child.type == "augmented_assignment":
                self.augmented(child)
            else:
                self.read(child)

    def _return(self, node: Node) -> None:
        self.builder.scopes[self.scope].results.append(self.inside(node))

    def _raise(self, node: Node) -> None:
        shown = first(node)
        term = self.inside(node)
        if shown is not None and shown.type in {"identifier", "attribute"}:
            self.builder.site("raise", self.scope, term, node.start_point.row + 1)

    def _assert(self, node: Node) -> None:
        condition = first(node)
        self.inside(node)
        self._narrow(condition)

    def _if(self, node: Node) -> None:
        branches, closed = [], False
        condition = node.child_by_field_name("condition")
        self.read(condition)
        branches.append(self._narrowed(condition, node.child_by_field_name("consequence")))
        for clause in node.children_by_field_name("alternative"):
            if clause.type == "elif_clause":
                condition = clause.child_by_field_name("condition")
                self.read(condition)
                branches.append(self._narrowed(condition, clause.child_by_field_name("consequence")))
            else:
                closed = True
                branches.append(self._nested(clause.child_by_field_name("body"), self.env.branch()))
        self.env.merge(branches, or_none=not closed)

    def _narrowed(self, condition: Node | None, body: Node | None) -> Env:
        outer, self.env = self.env, self.env.branch()
        branch = self.env
        self._narrow(condition)
        self.env = outer
        return self._nested(body, branch)

    def _narrow(self, condition: Node | None) -> None:
        """After ``isinstance(x, T)``, let x be an instance of T."""
        if condition is None or condition.type != "call":
            return
        function, given = condition.child_by_field_name("function"), condition.child_by_field_name("arguments")
        if function is None or given is None or self.text(function) != "isinstance" or given.named_child_count != 2:
            return
        subject, kinds = given.named_children
        if subject.type == "identifier":
            types = kinds.named_children if kinds.type == "tuple" else [kinds]
            shown = [each for each in types if each.type in {"identifier", "attribute"}]
            term = self.builder.join(self.builder.term(Op.INSTANCE, self.read(each)) for each in shown)
            if term and len(shown) == len(types):
                self.env.set(self.text(subject), term)

    def _for(self, node: Node) -> None:
        over = self.read(node.child_by_field_name("right"))
        value = self.iterated(over, node)
        self._looped(node, before=lambda: self.assign(node.child_by_field_name("left"), value))

    def _while(self, node: Node) -> None:
        self._looped(node, before=lambda: self.read(node.child_by_field_name("condition")))

    def _looped(self, node: Node, *, before: Callable[[], object]) -> None:
        env = self.env.loop()
        outer, self.env = self.env, env
        before()
        self.env = outer
        self._nested(node.child_by_field_name("body"), env)
        env.dead = False
        self.env.merge([env], or_none=True)
        if alternative := node.child_by_field_name("alternative"):
            self._block(alternative.child_by_field_name("body"))

    def _try(self, node: Node) -> None:
        body = self._nested(node.child_by_field_name("body"), self.env.branch())
        ended, body.dead = body.dead, False
        handlers = []
        for clause in node.named_children:
            if clause.type in {"except_clause", "except_group_clause"}:
                handlers.append(self._handler(clause, body))
            elif clause.type == "else_clause":
                self._nested(clause.child_by_field_name("body"), body)
        body.dead = body.dead or ended
        self.env.merge([body, *handlers], or_none=False)
        for clause in node.named_children:
            if clause.type == "finally_clause":
                dead, self.env.dead = self.env.dead, False
                self._block(clause.named_children[-1] if clause.named_children else None)
                self.env.dead = self.env.dead or dead

    def _handler(self, clause: Node, body: Env) -> Env:
        env = self.env.branch()
        env.take_some(body)
        outer, self.env = self.env, env
        for child in clause.named_children:
            if child.type == "as_pattern":
                self._caught(child)
            elif child.type != "block":
                self.read(child)
        self.env = outer
        return self._nested(clause.named_children[-1], env)

    def _caught(self, node: Node) -> None:
        kinds = node.named_children[0]
        types = kinds.named_children if kinds.type == "tuple" else [kinds]
        term = self.builder.join(self.builder.term(Op.INSTANCE, self.read(each)) for each in types)
        self.assign(node.child_by_field_name("alias"), term)

    def _with(self, node: Node) -> None:
        for clause in node.named_children:
            for item in clause.named_children if clause.type == "with_clause" else ():
                self._entered(item.child_by_field_name("value"))
        self._block(node.child_by_field_name("body"))

    def _entered(self, value: Node | None) -> None:
        shown = first(value) if value and value.type == "as_pattern" else value
        if shown is None:
            return
        term = self.read(shown)
        site = self.builder.site("with", self.scope, term, shown.start_point.row + 1)
        if value and value.type == "as_pattern":
            self.assign(value.child_by_field_name("alias"), self.builder.term(Op.ENTER, term, site))

    def _match(self, node: Node) -> None:
        for subject in node.children_by_field_name("subject"):
            self.read(subject)
        block = node.child_by_field_name("body")
        cases = block.named_children if block else []
        branches = [
            self._nested(case.child_by_field_name("consequence"), self.env.branch())
            for case in cases
            if case.type == "case_clause"
        ]
        self.env.merge(branches, or_none=True)

    def _decorated(self, node: Node) -> None:
        definition = node.child_by_field_name("definition")
        shown = [first(child) for child in node.named_children if child.type == "decorator"]
        decorators = [each for each in shown if each is not None]
        if definition is None:
            return
        marks = tuple(match[1] for each in decorators if (match := _NAME.search(self.text(each))))
        read = [(each, self.read(each)) for each in decorators if self.text(each).rpartition(".")[2] not in _MARKS]
        name, term = (self._function if definition.type == "function_definition" else self._class_definition)(
            definition, marks
        )
        for each, decorator in reversed(read):
            site = self.builder.site("decorator", self.scope, decorator, each.start_point.row + 1, [("", term)])
            term = self.builder.term(Op.CALL, site)
        self._bind_definition(name, term, marks)

    def _bind_definition(self, name: str, term: int, marks: Sequence[str] = ()) -> None:
        if not name:
            return
        before = self.env.get(name)
        if before and {"setter", "deleter", "getter"} & set(marks):
            self.builder.bind(self.scope, f"{name}=", term)  # the property stays what its name holds
        else:
            self.bind(name, term)

    def _plain_function(self, node: Node) -> None:
        self._bind_definition(*self._function(node, ()))

    def _function(self, node: Node, marks: tuple[str, ...]) -> tuple[str, int]:
        name = self._name(node)
        params = self.parameters(node.child_by_field_name("parameters"))
        declared = self.declared(node.child_by_field_name("return_type"))
        opened = OpenScope("function", name, self.scope, node.start_point.row + 1, params, type=declared, marks=marks)
        scope = self.enter(opened)
        outer, outer_scope = self.env, self.scope
        self.scope, self.env = scope, Env(self.builder)
        self.take_parameters(scope)
        body = node.child_by_field_name("body")
        self._nested(body, self.env)
        self.scope, self.env = outer_scope, outer
        if body is not None and body.named_child_count <= _SHORT and self._is_left_open(body):
            opened.marks += ("abstract",)
        return name, self.builder.term(Op.DEF, scope)

    def _is_left_open(self, body: Node) -> bool:
        """Return whether a function does nothing, or only says that others do it."""
        texts = [self.text(each) for each in body.named_children if each.type != "comment"]
        rest = texts[1:] if texts and texts[0].lstrip("rRuU")[:1] in {'"', "'"} else texts
        return not rest or (len(rest) == 1 and _LEFT_OPEN.match(rest[0]) is not None)

    def _plain_class(self, node: Node) -> None:
        self._bind_definition(*self._class_definition(node, ()))

    def _class_definition(self, node: Node, marks: tuple[str, ...]) -> tuple[str, int]:
        name, listed = self._name(node), node.child_by_field_name("superclasses")
        shown = [child for child in (listed.named_children if listed else []) if child.type != "comment"]
        bases = tuple(self.read(child) for child in shown if child.type != "keyword_argument")
        opened = OpenScope("class", name, self.scope, node.start_point.row + 1, bases=bases, marks=marks)
        scope = self.enter(opened)
        outer, outer_scope = self.env, self.scope
        self.scope, self.env = scope, Env(self.builder)
        self._nested(node.child_by_field_name("body"), self.env)
        opened.final = self.env.names()
        self.scope, self.env = outer_scope, outer
        return name, self.builder.term(Op.DEF, scope)

    def _name(self, node: Node) -> str:
        name = node.child_by_field_name("name")
        return self.text(name) if name else ""

    def _clause(self, node: Node) -> None:
        self._block(node)

    _HANDLERS: ClassVar[dict[str, Callable[["_Statements", Node], None]]] = {
        "expression_statement": _expression,
        "return_statement": _return,
        "raise_statement": _raise,
        "assert_statement": _assert,
        "if_statement": _if,
        "for_statement": _for,
        "while_statement": _while,
        "try_statement": _try,
        "with_statement": _with,
        "match_statement": _match,
        "decorated_definition": _decorated,
        "function_definition": _plain_function,
        "class_definition": _plain_class,
        "import_statement": Bindings.import_,
        "import_from_statement": Bindings.import_from,
        "global_statement": Bindings.elsewhere,
        "nonlocal_statement": Bindings.elsewhere,
        "block": _clause,
        "ERROR": _clause,
    }
