"""What the front ends of languages with declared types share: scopes, blocks whose names hide others, calls, containers.

A variable's type never changes, so what it was declared with is what it holds wherever it is read; only functions that are
assigned later are joined to it. Code is walked once, from top to bottom, and no branch or loop matters.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Final

import msgspec
from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Flow, Op, Param, Read, Store
from appliance.codeintel.parse.flow.builder import Builder, OpenScope

DEEPEST: Final = 150  # steps down, of about three of Python's calls each
_LONGEST_SHOWN: Final = 64  # items of a container


class TypedBuilder(Builder):
    """Collects the flow of one blob. What no function binds is a module's to know, or with *members* a class's around it."""

    def __init__(self, *, members: bool) -> None:
        super().__init__()
        self._members = members

    def is_open(self, term: int) -> bool:
        """Return whether *term* is nothing, or a function: what is assigned later may be another one."""
        return self._rows[term][0] in {Op.UNKNOWN, Op.DEF}

    def can_be_function(self, term: int) -> bool:
        """Return whether what is declared as *term* can be a function: an instance of a type, or one that says so."""
        return self._rows[term][0] in {Op.INSTANCE, Op.DEF}

    def is_plain(self, term: int) -> bool:
        """Return whether *term* is nothing that anybody learns from: a literal, or nothing."""
        return self._rows[term][0] in {Op.UNKNOWN, Op.CONST}

    def is_instance(self, term: int) -> bool:
        """Return whether *term* is an instance of a type that is named."""
        return self._rows[term][0] == Op.INSTANCE

    def is_made(self, term: int) -> bool:
        """Return whether *term* is a container."""
        return self._rows[term][0] == Op.MAKE

    def last_name(self, term: int) -> str:
        """Return the last name of what *term* reads or takes from elsewhere."""
        return self._rows[term][3].rpartition("::")[2]

    def type_of(self, term: int) -> int:
        """Return the type that *term* is shown to be an instance of, or UNKNOWN."""
        op, kind, *_ = self._rows[term]
        return kind if op == Op.INSTANCE else UNKNOWN

    def parameter_of(self, term: int) -> int:
        """Return the scope whose parameter *term* is, or -1."""
        op, scope, *_ = self._rows[term]
        return scope if op == Op.PARAM else -1

    def _holder(self, scope: int, name: str) -> int:
        at = scope
        while (one := self.scopes[at]).kind != "module":
            if (name in one.bound) if one.kind in {"function", "lambda"} else self._members:
                return at
            at = one.parent
        return at

    def _names(self, number: int) -> dict[str, int]:
        """Return what the names of a scope hold, also those of which nothing is known: they hide others."""
        return {name: self.join(bound) for name, bound in self.scopes[number].bound.items()}


@dataclass(slots=True)
class Variable:
    """A name of a block: how it is called in its *scope*, and what it holds if that does not change."""

    scope: int
    own: str
    term: int


@dataclass(slots=True)
class Block:
    """What stands between braces: its variables by name."""

    outer: "Block | None" = None
    names: dict[str, Variable] = field(default_factory=dict)


class Typed(ABC):
    """The walk of a front end: where it stands, and what the names mean there."""

    members: ClassVar[bool] = False  # whether code in a class sees its members by their bare names

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.builder = TypedBuilder(members=self.members)
        self.scope = 0
        self.block = Block()
        self.imports: dict[str, int] = {}  # what this file alone calls so
        self.generics: dict[str, int] = {}  # parameters of types, with an instance of what they are at least
        self.depth = 0
        self.at_line = 1  # where what is being read stands
        self.builder.scopes.append(OpenScope("module", "", -1, 1))

    def finish(self, unit: str = "") -> Flow:
        """Return the flow of the file, a part of *unit* as it says itself."""
        made = self.builder.finish()
        return msgspec.structs.replace(made, unit=unit)

    def read(self, node: Node | None) -> int:
        """Return the term of *node*, an expression or statement, and note what is called in it. Too deep is not gone."""
        if node is None:
            return UNKNOWN
        if self.too_deep():
            return UNKNOWN
        self.depth += 1
        self.at_line = line_of(node)
        try:
            return self.visit(node)
        finally:
            self.depth -= 1

    def too_deep(self) -> bool:
        """Return whether this is where the walk turns back, and note that it does."""
        self.builder.cut = self.builder.cut or self.depth > DEEPEST
        return self.depth > DEEPEST

    def each(self, node: Node) -> int:
        """Read everything in *node*; return the term of the last thing."""
        term = UNKNOWN
        for child in node.named_children:
            term = self.read(child)
        return term

    def text(self, node: Node | None) -> str:
        """Return the source of *node*, "" for None."""
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @contextmanager
    def inside(self, opened: OpenScope) -> Iterator[int]:
        """Stand in the new scope *opened*, whose number is the value, and afterwards where the walk stood before."""
        self.builder.scopes.append(opened)
        before = self.scope, self.block, self.generics
        self.scope, self.block, self.generics = len(self.builder.scopes) - 1, Block(self.block), dict(self.generics)
        try:
            yield self.scope
        finally:
            self.scope, self.block, self.generics = before

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Stand in a block of the same scope, and afterwards where the walk stood before."""
        outer, self.block = self.block, Block(self.block)
        try:
            yield
        finally:
            self.block = outer

    def find(self, name: str) -> Variable | None:
        """Return the variable *name* of the blocks around, None if there is none."""
        at: Block | None = self.block
        while at is not None:
            found = at.names.get(name)
            if found is not None:
                return found
            at = at.outer
        return None

    def named(self, name: str) -> int:
        """Return the term of what *name* holds here: a variable, what is imported, or what others are asked for later."""
        variable = self.find(name)
        if variable is not None:
            return variable.term or self.builder.term(Op.READ, variable.scope, text=variable.own)
        imported, around = self.imports.get(name), self.around()
        if imported:
            self.builder.reads.append(Read(self.scope, imported, self.at_line))
            return imported
        self.builder.use(self.scope, name, self.at_line, of=around)
        return self.builder.term(Op.READ, around, text=name)

    def around(self) -> int:
        """Return the scope that is asked for a name which is no variable: of the type around, or of the module."""
        at = self.scope
        while (one := self.builder.scopes[at]).kind != "module" and not (self.members and one.kind == "class"):
            at = one.parent
        return at

    def declare(self, name: str, term: int) -> None:
        """Let *name* be a variable of this block that holds *term*: an instance of its type, or else what it begins with."""
        bound = self.builder.scopes[self.scope].bound
        own = f"{name}@{len(bound)}"  # behind its block the name alone means another thing again
        may_change = self.builder.is_open(term)
        self.block.names[name] = Variable(self.scope, own, UNKNOWN if may_change else term)
        self.builder.bind(self.scope, own, term)

    def typed(self, declared: int, value: int) -> int:
        """Return the term of what is *declared* and begins with *value*: which function it is only the value tells."""
        if declared and not self.builder.is_open(declared) and not self.builder.is_open(value):
            return declared
        return self.builder.join((declared, value))

    def assign(self, name: str, term: int) -> None:
        """Let *name* hold *term* from now on as well."""
        variable = self.find(name)
        if variable is None:
            if not self.builder.is_plain(term):
                self.builder.stores.append(Store(self.builder.term(Op.IMPORT), term, name))
            return
        if variable.term and not self.builder.is_open(term):
            return
        self.builder.bind(variable.scope, variable.own, term)
        if variable.term:
            read = self.builder.term(Op.READ, variable.scope, text=variable.own)
            variable.term = self.builder.join((variable.term, read))

    def store(self, base: int, term: int, *, name: str = "", key: int = UNKNOWN) -> None:
        """Let *name* of *base*, or without a name what stands at *key* of it, hold *term*."""
        if base and not self.builder.is_plain(term):
            self.builder.stores.append(Store(base, term, name, key))

    def bind(self, name: str, term: int) -> None:
        """Let *name* of the scope itself, a module or a class, hold *term* as well."""
        self.builder.bind(self.scope, name, term)

    def parameter(
        self, name: str, declared: int, *, called: str = "", default: int = UNKNOWN, star: bool = False
    ) -> None:  # fmt: skip
        """Add a parameter to this function, *called* something else in it if its name is `flow.RECEIVER`.

        *declared* is an instance of its type, and for one with a *star* a list of these.
        """
        opened = self.builder.scopes[self.scope]
        place = len(opened.params)
        opened.params = (*opened.params, Param(name, default, declared, "*" if star else ""))
        if called or name:
            self.block.names[called or name] = Variable(self.scope, name, self.builder.term(Op.PARAM, self.scope, place))

    def instance(self, kind: int) -> int:
        """Return the term of an instance of the type *kind*."""
        return self.builder.term(Op.INSTANCE, kind) if kind else UNKNOWN

    def attribute(self, base: int, name: str, *, at: Node | None = None) -> int:
        """Return the term of *name* of *base*, and note that it is read: where *at* stands, or else where the walk does."""
        term = self.builder.term(Op.ATTR, base, text=name)
        if name.removeprefix(".").isidentifier():
            self.builder.reads.append(Read(self.scope, term, self.at_line if at is None else line_of(at)))
        return term

    def constant(self, text: str) -> int:
        """Return the term of a literal: its type, and perhaps its value."""
        return self.builder.term(Op.CONST, text=text)

    def item(self, base: int, place: int = -1) -> int:
        """Return the term of what stands at *place* of *base*, or anywhere in it."""
        return self.builder.term(Op.ITEM, base, self.constant(f"int:{place}") if place >= 0 else UNKNOWN)

    def held(self, kind: str, node: Node, values: Iterable[int]) -> int:
        """Return the term of the container at *node* in which any of *values* can be anywhere."""
        items = [each for value in list(dict.fromkeys(values))[:_LONGEST_SHOWN] for each in (UNKNOWN, value)]
        return self.builder.term(Op.MAKE, text=kind, name=f"{node.start_byte}:{node.end_byte}", items=tuple(items))

    def tuple_(self, node: Node, values: Sequence[int]) -> int:
        """Return the term of several values side by side, as a function with several results gives them."""
        items = [each for place, value in enumerate(values) for each in (self.constant(f"int:{place}"), value)]
        return self.builder.term(Op.MAKE, text="tuple", name=f"{node.start_byte}:{node.end_byte}", items=tuple(items))

    def call(self, callee: int, line: int, arguments: Iterable[tuple[str, int]]) -> int:
        """Note a call and return the term of what it gives."""
        return self.builder.term(Op.CALL, self.builder.site("call", self.scope, callee, line, arguments))

    def signature(
        self, node: Node, result: int, takes: Iterable[int] = (), *, marks: tuple[str, ...] = (), name: str = "<type>"
    ) -> int:  # fmt: skip
        """Return the term of any function of a type that stands at *node*: it *takes* such things, and gives *result*."""
        params = tuple(Param("", type=each) for each in takes)
        opened = OpenScope("lambda", name, self.scope, line_of(node), params, marks=("signature", *marks), type=result)
        self.builder.scopes.append(opened)
        return self.builder.term(Op.DEF, len(self.builder.scopes) - 1)

    @abstractmethod
    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""

    @abstractmethod
    def visit(self, node: Node) -> int:
        """Read *node* for `read`, which counts the steps down."""


def line_of(node: Node) -> int:
    """Return the line that *node* begins on, from 1."""
    return node.start_point.row + 1


def first(node: Node | None) -> Node | None:
    """Return the first named child of *node* that is no comment, or None if it has none."""
    return next((child for child in node.named_children if "comment" not in child.type), None) if node else None
