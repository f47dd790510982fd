"""Rust's expressions: from nodes of the syntax tree to terms."""

from abc import ABC
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import OpenScope
from appliance.codeintel.parse.flow.rust_patterns import Patterns
from appliance.codeintel.parse.flow.rust_types import FIELD
from appliance.codeintel.parse.flow.typed import Block, first, line_of

_KEEPERS: Final = frozenset({"Box", "Rc", "Arc", "RefCell", "Cell", "Mutex", "RwLock", "Cow", "Pin", "OnceCell", "OnceLock"})
_EMPTY: Final = {
    "Vec": "Vec", "VecDeque": "Vec", "HashSet": "Vec", "BTreeSet": "Vec", "BinaryHeap": "Vec", "HashMap": "map",
    "BTreeMap": "map", "IndexMap": "map",
}  # fmt: skip
_OWN: Final = frozenset({"crate", "$crate", "self", "super"})
LITERALS: Final = {
    "string_literal": "str", "raw_string_literal": "str", "char_literal": "char", "integer_literal": "number",
    "float_literal": "number", "boolean_literal": "bool",
}  # fmt: skip
_STATEMENTS: Final = frozenset({"expression_statement", "let_declaration", "empty_statement"})


class Expressions(Patterns, ABC):
    """Reads expressions as well."""

    macros: frozenset[int] = frozenset()  # where names of macros end that are read as calls

    def identifier(self, node: Node) -> int:
        """Read a name."""
        return self.path(node)

    def self_(self, _: Node) -> int:
        """Read ``self``."""
        return self.named("self") if self.find("self") is not None else UNKNOWN

    def field(self, node: Node) -> int:
        """Read ``a.b``."""
        shown = node.child_by_field_name("field")
        base, name = self.read(node.child_by_field_name("value")), self.text(shown)
        if name.isdigit() and len(name) < 3:
            return self.item(base, int(name))
        return self.attribute(base, f"{FIELD}{name}", at=shown)

    def literal(self, node: Node) -> int:
        """Read a literal."""
        return self.constant(LITERALS[node.type])

    def called(self, node: Node) -> int:
        """Read a call."""
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None and function.type == "generic_function":
            function = function.child_by_field_name("function")
        if function is None:
            return self.each(node)
        if function.end_byte in self.macros:
            return self._macro(node, function, given)
        known = self._known(node, function, given)
        if known:
            return known
        last = function.child_by_field_name("field") if function.type == "field_expression" else function
        if function.type == "field_expression":
            callee = self.attribute(self.read(function.child_by_field_name("value")), self.text(last), at=last)
        else:
            callee = self.read(function)
        return self.call(callee, (last or function).end_point.row + 1, self.arguments(given))

    def arguments(self, given: Node | None) -> list[tuple[str, int]]:
        """Read what a call hands over."""
        return [("", self.read(child)) for child in (given.named_children if given else ()) if "comment" not in child.type]

    def _macro(self, node: Node, name: Node, given: Node | None) -> int:
        arguments = self.arguments(given)
        return self.call(self._macro_named(name), line_of(node), arguments)

    def _macro_named(self, node: Node | None) -> int:
        """Return the term of the macro that *node* names: of another crate, or one that is looked for by its name alone."""
        head, between, name = self.text(node).rpartition("::")
        if between and head not in _OWN:
            return self.builder.term(Op.FROM, text=head, name=f"{name}!")
        return self.builder.term(Op.READ, self.around(), text=f"{name}!")

    def _known(self, node: Node, function: Node, given: Node | None) -> int:
        """Return the term of what a call of the language's own library makes that is followed, UNKNOWN for others."""
        text = self.text(function)
        name, _, maker = text.partition("::")
        if len(text) > 40 or self.find(name) is not None:
            return UNKNOWN
        name = name.partition("<")[0]
        shown = given.named_children if given is not None else []
        if text in {"Ok", "Err"} and len(shown) == 1:
            value = self.read(shown[0])
            return self.result_of(node, [value] if text == "Ok" else [UNKNOWN, value])
        if text == "Some" and len(shown) == 1:
            return self.held("Option", node, [self.read(shown[0])])
        if name in _KEEPERS and maker in {"new", "pin", "from", "clone"} and len(shown) == 1:
            return self.read(shown[0])
        if name in _EMPTY and maker.rpartition("::")[2] in {"new", "with_capacity", "default"}:
            self.arguments(given)
            return self.held(_EMPTY[name], node, ())
        return UNKNOWN

    def macro(self, node: Node) -> int:
        """Read a macro of whose arguments nothing is known."""
        return self.call(self._macro_named(node.child_by_field_name("macro")), line_of(node), ())

    def tried(self, node: Node) -> int:
        """Read ``x?``: what is good in it."""
        return self.item(self.read(first(node)), 0)

    def index(self, node: Node) -> int:
        """Read ``a[b]``."""
        base, *rest = [self.read(child) for child in node.named_children]
        ranged = len(node.named_children) > 1 and node.named_children[1].type == "range_expression"
        return base if ranged or not rest else self.item(base)

    def cast(self, node: Node) -> int:
        """Read ``x as T``."""
        self.read(node.child_by_field_name("value"))
        return self.declared(node.child_by_field_name("type"))

    def binary(self, node: Node) -> int:
        """Read a sum or a comparison: nothing that is called."""
        at: Node | None = node
        while at is not None and at.type == "binary_expression":  # a long sum leans to the left
            self.read(at.child_by_field_name("right"))
            at = at.child_by_field_name("left")
        self.read(at)
        return UNKNOWN

    def assigned(self, node: Node) -> int:
        """Read an assignment."""
        left, value = node.child_by_field_name("left"), self.read(node.child_by_field_name("right"))
        if left is not None and left.type == "identifier":
            self.assign(self.text(left), value)
        elif left is not None and left.type == "field_expression":
            base = self.read(left.child_by_field_name("value"))
            self.store(base, value, name=f"{FIELD}{self.text(left.child_by_field_name('field'))}")
        else:
            self.read(left)
        return UNKNOWN

    def struct(self, node: Node) -> int:
        """Read ``S { a, b: c }``."""
        base = self.instance(self.path(node.child_by_field_name("name")))
        body = node.child_by_field_name("body")
        for child in body.named_children if body else ():
            if child.type == "field_initializer":
                named, value = child.child_by_field_name("field"), self.read(child.child_by_field_name("value"))
                self.store(base, value, name=f"{FIELD}{self.text(named)}")
            elif child.type == "shorthand_field_initializer":
                shown = first(child)
                self.store(base, self.read(shown), name=f"{FIELD}{self.text(shown)}")
            else:
                self.read(child)
        return base

    def listed(self, node: Node) -> int:
        """Read ``[a, b]``."""
        return self.held("Vec", node, [self.read(child) for child in node.named_children if "comment" not in child.type])

    def tuple_read(self, node: Node) -> int:
        """Read ``(a, b)``."""
        return self.tuple_(node, [self.read(child) for child in node.named_children if "comment" not in child.type])

    def closure(self, node: Node) -> int:
        """Read a closure."""
        opened = OpenScope("lambda", "<closure>", self.scope, line_of(node))
        with self.inside(opened) as scope:
            listed = node.child_by_field_name("parameters")
            for child in listed.named_children if listed else ():
                typed = child.type == "parameter"
                self.taken(child.child_by_field_name("pattern") if typed else child, child.child_by_field_name("type"))
            opened.type = self.declared(node.child_by_field_name("return_type"))
            opened.results.append(self.read(node.child_by_field_name("body")))
        return self.builder.term(Op.DEF, scope)

    def taken(self, pattern: Node | None, shown: Node | None) -> None:
        """Add a parameter with the *pattern* and of the type *shown*."""
        while pattern is not None and pattern.type in {"mut_pattern", "ref_pattern", "reference_pattern"}:
            pattern = self._inner(pattern)
        if pattern is not None and pattern.type == "identifier":
            self.parameter(self.text(pattern), self.declared(shown))
            return
        place = len(self.builder.scopes[self.scope].params)
        self.parameter("", self.declared(shown))
        self.bind_pattern(pattern, self.builder.term(Op.PARAM, self.scope, place))

    def block_of(self, node: Node) -> int:
        """Read a block, and return the term of what it ends with."""
        with self.nested():
            return self.tail(node)

    def tail(self, node: Node) -> int:
        """Read the statements of *node*, and return the term of the expression that it ends with."""
        term = UNKNOWN
        for child in node.named_children:
            if "comment" in child.type:
                continue
            term = self.read(child)
            if child.type in _STATEMENTS and not self._goes_on(child):
                term = UNKNOWN
        return term

    def _goes_on(self, node: Node) -> bool:
        """Return whether a statement is an expression without a semicolon, whose value counts if it is the last."""
        return node.type == "expression_statement" and node.children[-1].type != ";"

    def if_(self, node: Node) -> int:
        """Read an ``if``, with what it lets hold something."""
        outer, found = self.block, []
        at: Node | None = node
        while at is not None and at.type == "if_expression":  # a long chain nests to the right
            self.block = Block(outer)
            self.read(at.child_by_field_name("condition"))
            found.append(self.read(at.child_by_field_name("consequence")))
            self.block = outer
            at = first(at.child_by_field_name("alternative"))
        return self.builder.join((*found, self.read(at)))

    def let_condition(self, node: Node) -> int:
        """Read ``let pattern = value`` of a condition."""
        self.bind_pattern(node.child_by_field_name("pattern"), self.read(node.child_by_field_name("value")))
        return UNKNOWN

    def match(self, node: Node) -> int:
        """Read a ``match``."""
        term, body, found = self.read(node.child_by_field_name("value")), node.child_by_field_name("body"), []
        for arm in body.named_children if body else ():
            if arm.type != "match_arm":
                continue
            with self.nested():
                pattern = arm.child_by_field_name("pattern")
                self.bind_pattern(first(pattern), term)
                self.read(pattern.child_by_field_name("condition") if pattern else None)
                found.append(self.read(arm.child_by_field_name("value")))
        return self.builder.join(found)

    def for_(self, node: Node) -> int:
        """Read a loop over something."""
        over = self.read(node.child_by_field_name("value"))
        with self.nested():
            site = self.builder.site("iter", self.scope, over, line_of(node))
            self.bind_pattern(node.child_by_field_name("pattern"), self.builder.term(Op.NEXT, over, site))
            self.read(node.child_by_field_name("body"))
        return UNKNOWN

    def while_(self, node: Node) -> int:
        """Read a loop with a condition, which may let something hold."""
        with self.nested():
            self.each(node)
        return UNKNOWN

    def let(self, node: Node) -> int:
        """Read a declaration."""
        value, declared = self.read(node.child_by_field_name("value")), self.declared(node.child_by_field_name("type"))
        self.read(node.child_by_field_name("alternative"))
        self.bind_pattern(node.child_by_field_name("pattern"), self.typed(declared, value))
        return UNKNOWN

    def returned(self, node: Node) -> int:
        """Read a ``return``."""
        self.builder.scopes[self.scope].results.append(self.read(first(node)))
        return UNKNOWN

    def ignored(self, _: Node) -> int:
        """Read nothing."""
        return UNKNOWN
