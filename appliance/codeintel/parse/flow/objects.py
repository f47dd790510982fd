"""What the front ends of Java, C# and Kotlin share: classes whose members are seen by their bare names, and functions."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import AS_FUNCTION, RECEIVER, TAKEN, UNKNOWN, Op, Param, Read
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.typed import DEEPEST, Typed, Variable, line_of

CONSTRUCTOR: Final = "new()"  # the key of a constructor among the members of its class
_DECIDES: Final = frozenset({"==", "!=", "<", ">", "<=", ">=", "&&", "||", "===", "!=="})


@dataclass(frozen=True, slots=True)
class Home:
    """A class that the walk stands in: its scope, its name, an instance of it, and the names that it declares."""

    scope: int
    name: str
    this: int
    fields: frozenset[str]
    types: frozenset[str]
    derived: bool  # whether it names anything that it inherits from


class Objects(Typed):
    """The walk in a language of classes."""

    members: ClassVar[bool] = True
    texts: ClassVar[str] = "String"  # the type of texts
    truths: ClassVar[str] = "boolean"
    functions: ClassVar[frozenset[str]] = frozenset()  # nodes of functions without a name

    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.homes: list[Home] = []
        self.this = UNKNOWN
        self.shape = UNKNOWN  # what the function that comes next is declared to be

    @contextmanager
    def class_(
        self, node: Node, name: str, *, bases: Iterable[int] = (), marks: tuple[str, ...] = (),
        fields: frozenset[str] = frozenset(), types: frozenset[str] = frozenset(),
    ) -> Iterator[int]:  # fmt: skip
        """Stand in the new class *name*, whose term is the value, and afterwards where the walk stood before."""
        line = line_of(node.child_by_field_name("name") or node)
        opened = OpenScope("class", name, self.scope, line, bases=tuple(base for base in bases if base), marks=marks)
        before = self.this
        with self.inside(opened) as scope:
            term = self.builder.term(Op.DEF, scope)
            self.this = self.instance(term)
            self.homes.append(Home(scope, name, self.this, fields, types, bool(opened.bases)))
            for each in fields | types:
                if self.find(each) is not None:  # a member hides the variable of a function around its class
                    self.block.names[each] = Variable(scope, each, self.builder.term(Op.READ, scope, text=each))
            try:
                yield term
            finally:
                self.homes.pop()
                self.this = before

    @contextmanager
    def method(
        self, node: Node, name: str, *, static: bool = False, marks: tuple[str, ...] = (), kind: str = "function"
    ) -> Iterator[int]:  # fmt: skip
        """Stand in the new function *name*, whose term is the value, and afterwards where the walk stood before."""
        line = line_of(node.child_by_field_name("name") or node)
        free = static or kind == "lambda" or not self._in_class()
        opened = OpenScope(
            "lambda" if kind == "lambda" else "function", name, self.scope, line,
            marks=("staticmethod", *marks) if free else marks,
        )  # fmt: skip
        before = self.this
        with self.inside(opened) as scope:
            if not free:
                opened.params = (Param(RECEIVER),)
                self.this = self.builder.term(Op.PARAM, scope, 0)
            elif static:
                self.this = UNKNOWN
            try:
                yield self.builder.term(Op.DEF, scope)
            finally:
                self.this = before

    def _in_class(self) -> bool:
        return self.builder.scopes[self.scope].kind == "class"

    def anonymous(self) -> str:
        """Return the name of the next function or class without one."""
        within = self.builder.scopes[self.scope]
        within.lambdas += 1
        return f"<anonymous{within.lambdas}>"

    def outer(self, name: str) -> int:
        """Return the term of the instance of the class *name* around."""
        return next((home.this for home in reversed(self.homes) if home.name == name), UNKNOWN)

    def behind(self) -> int:
        """Return the term of what ``super`` is."""
        return self.builder.term(Op.SUPER, self.homes[-1].scope, self.this) if self.homes and self.this else UNKNOWN

    def holder(self, name: str) -> int:
        """Return the term of the instance whose field *name* is: of a class around that says so, else of the innermost."""
        return next((home.this for home in reversed(self.homes) if name in home.fields), self.this)

    def type_named(self, dotted: str) -> int:
        """Return the term of the type *dotted*: one of a class around, one that is imported, or what others know."""
        head, *rest = (part.strip() for part in dotted.split("."))
        term = self._type(head)
        for each in rest:
            term = self.attribute(term, each)
        return term

    def _type(self, name: str) -> int:
        variable = self.find(f"type {name}")
        if variable is not None:
            return variable.term
        home = next((home for home in reversed(self.homes) if name in home.types or name == home.name), None)
        if home is not None:
            return self.builder.term(Op.READ, home.scope, text=name) if name in home.types else self.type_of(home)
        if name in self.imports:
            return self.imports[name]
        hidden = any(name in each.fields for each in self.homes)  # a field may have the name of its type
        return self.builder.term(Op.READ, self._unit() if hidden else self.scope, text=name)

    def _unit(self) -> int:
        """Return the module scope that the walk stands in."""
        at = self.scope
        while self.builder.scopes[at].kind != "module":
            at = self.builder.scopes[at].parent
        return at

    def type_of(self, home: Home) -> int:
        """Return the term of the class *home*."""
        return self.builder.term(Op.DEF, home.scope)

    def declare_type(self, name: str, term: int) -> None:
        """Let *name* be the type *term*: of a function's block, or else a member of the class or module."""
        if self.builder.scopes[self.scope].kind in {"function", "lambda"}:
            self.block.names[f"type {name}"] = self.block.names[name] = Variable(self.scope, name, term)
        else:
            self.bind(name, term)

    def member(self, base: int, name: str, node: Node) -> int:
        """Return the term of *name* of *base*, which is read at *node*."""
        term = self.attribute(base, name)
        self.builder.reads.append(Read(self.scope, term, line_of(node)))
        return term

    def sum_of(self, node: Node) -> int:
        """Read ``a + b + …``; return the term of what it gives: a text, or what *a* is. A long sum leans to the left."""
        chain = []
        at: Node | None = node
        while at is not None and at.type == node.type:
            chain.append(at)
            at = at.child_by_field_name("left")
        term = self.read(at)
        for each in reversed(chain):
            right, operator = self.read(each.child_by_field_name("right")), each.child_by_field_name("operator")
            kind = operator.type if operator is not None else ""
            if kind in _DECIDES:
                term = self.constant(self.truths)
            elif kind == "??":
                term = self.builder.join((term, right))
            elif self.builder.is_text(right):
                term = right
        return term

    def one_of(self, node: Node) -> int:
        """Read ``a ? b : c ? d : …``; return the term of any of what it can be."""
        found = []
        at: Node | None = node
        while at is not None and at.type == node.type:
            self.read(at.child_by_field_name("condition"))
            found.append(self.read(at.child_by_field_name("consequence")))
            at = at.child_by_field_name("alternative")
        return self.builder.join((*found, self.read(at)))

    def begun(self, node: Node | None, declared: int) -> int:
        """Return the term of what is *declared* and begins as *node*: of a function the type says too little."""
        before = self.shape
        self.shape = declared if node is not None and node.type in self.functions else UNKNOWN
        value = self.read(node)
        self.shape = before
        return self.narrowed(value, declared)

    def narrowed(self, value: int, declared: int) -> int:
        """Return the term of *value*, which is *declared*: what that says, and what functions the value is."""
        if not declared or self.builder.is_plain(value) or not self.builder.can_be_function(declared):
            return declared or value
        return self.builder.join((declared, self.attribute(value, AS_FUNCTION)))

    def begin_lambda(self) -> int:
        """Return the term of what is declared to be the function whose parameters are read next, UNKNOWN if nothing is."""
        shape, self.shape = self.shape, UNKNOWN
        return shape

    def given_to(self, shape: int, place: int) -> int:
        """Return the term of what a function declared as *shape* takes at *place*."""
        return self.attribute(shape, f"{TAKEN}{place}") if shape else UNKNOWN

    def language(self, name: str) -> int:
        """Return the term of what the language itself calls *name*."""
        return self.builder.term(Op.BUILTIN, text=name)

    def implicit(self, node: Node, name: str, result: int) -> int:
        """Return the term of a function that nobody wrote down but is there, because of *node*, and gives *result*."""
        marks = ("staticmethod", "signature", "implicit")
        self.builder.scopes.append(OpenScope("lambda", name, self.scope, line_of(node), marks=marks, type=result))
        return self.builder.term(Op.DEF, len(self.builder.scopes) - 1)

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        if node is None:
            return UNKNOWN
        if self.depth > DEEPEST:
            self.builder.cut = True
            return UNKNOWN
        self.depth += 1
        self.at_line = line_of(node)
        term = self.instance_of(node)
        self.depth -= 1
        return term

    @abstractmethod
    def instance_of(self, node: Node) -> int:
        """Return what `declared` does, which counts the steps down."""
