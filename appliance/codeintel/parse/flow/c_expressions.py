"""C's expressions: what they can be, and what is called in them."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Store
from appliance.codeintel.parse.flow.c_types import Types
from appliance.codeintel.parse.flow.typed import first

HOLDER: Final = "="  # of `Op.FROM`: what holds a name, and not what the name holds
FUNCTION: Final = "()"  # of `Op.FROM`: what a name means where no macro is meant
PASTED: Final = "pasted__"  # stands where a macro makes a name
_LONGEST_KEY: Final = 40
_POINTS: Final = frozenset({"+", "-", "+=", "-="})


class Expressions(Types):
    """Reads expressions as well."""

    def inner(self, node: Node) -> int:
        """Read what *node* only wraps."""
        shown = first(node)
        return self.read(shown)

    def argument(self, node: Node) -> int:
        """Read the operand of *node*: a pointer is what it points to."""
        return self.read(node.child_by_field_name("argument"))

    def nothing(self, node: Node) -> int:
        """Read nothing: what stands in *node* is not run."""
        del node
        return UNKNOWN

    def name(self, node: Node) -> int:
        """Read a name."""
        text = self.text(node)
        return UNKNOWN if text == PASTED else self.named(text)

    def field(self, node: Node) -> int:
        """Read ``a.b`` and ``a->b``."""
        return self.attribute(self.argument(node), self.text(node.child_by_field_name("field")))

    def function(self, node: Node | None) -> int:
        """Read what is called. No macro is, where its name stands in parentheses."""
        shown = node
        while shown is not None and shown.type in {"parenthesized_expression", "pointer_expression"}:
            shown = next((each for each in reversed(shown.named_children) if not each.is_extra and not each.is_error), None)
        if shown is not None and shown is not node and shown.type == "identifier" and self.find(self.text(shown)) is None:
            return self.builder.term(Op.FROM, self.scope, text=FUNCTION, name=self.text(shown))
        return self.read(shown)

    def call_(self, node: Node) -> int:
        """Read a call."""
        callee = self.function(node.child_by_field_name("function"))
        return self.called(node, callee, self.arguments(node.child_by_field_name("arguments")))

    def called(self, node: Node, callee: int, arguments: list[int]) -> int:
        """Return the term of what *callee* gives for *arguments*."""
        if self.builder.is_constant(callee):
            return UNKNOWN
        if self.macro_parameter(callee):
            return self.protocol(node, callee, arguments)
        return self.call(callee, self.line(node), [("", each) for each in arguments])

    def protocol(self, node: Node, function: int, arguments: Sequence[int] = ()) -> int:
        """Note that *function*, which no call names, is called if there is such a one; return the term of what it gives."""
        site = self.builder.site("implied", self.scope, function, self.line(node), [("", each) for each in arguments])
        return self.builder.term(Op.CALL, site)

    def macro_parameter(self, term: int) -> bool:
        """Return whether *term* is a parameter of a macro, which may be called with anything."""
        scope = self.builder.parameter_of(term)
        return scope >= 0 and "macro" in self.builder.scopes[scope].marks

    def arguments(self, node: Node | None) -> list[int]:
        """Read the arguments of a call."""
        shown = node.named_children if node else []
        return [self.read(each) for each in shown if each.type not in {"comment", "ERROR"}]

    def subscript(self, node: Node) -> int:
        """Read ``a[b]``."""
        base = self.argument(node)
        key = self.read(node.child_by_field_name("index") or node.child_by_field_name("indices"))
        return self.builder.term(Op.ITEM, base, key if self.builder.is_constant(key) else UNKNOWN) if base else UNKNOWN

    def assignment(self, node: Node) -> int:
        """Read ``a = b``."""
        operator = self.text(node.child_by_field_name("operator"))
        right = node.child_by_field_name("right")
        value = self.read(right)
        left = node.child_by_field_name("left")
        while left is not None and left.type == "parenthesized_expression":
            left = first(left)
        if operator != "=":
            return self.read(left)
        self.assign_to(left, value)
        return value

    def assign_to(self, target: Node | None, value: int) -> None:
        """Let *target* hold *value*."""
        kind = target.type if target is not None else ""
        if target is None:
            return
        if kind == "identifier":
            self.assign(self.text(target), value)
        elif kind == "field_expression":
            self.store(self.argument(target), value, name=self.text(target.child_by_field_name("field")))
        elif kind == "subscript_expression":
            base = self.argument(target)
            self.read(target.child_by_field_name("index") or target.child_by_field_name("indices"))
            self.store(base, value)
        elif kind == "call_expression" and (name := self.torn(target)):
            self.begin(name, value)
        else:
            self.read(target)

    def torn(self, node: Node) -> str:
        """Return the name that ``type (*name)(type) = value`` declares, where the grammar sees calls; "" for real ones."""
        called = node.child_by_field_name("function")
        listed = called.child_by_field_name("arguments") if called is not None and called.type == "call_expression" else None
        shown = listed.named_children if listed is not None else []
        pointed = (
            shown[0].child_by_field_name("argument") if len(shown) == 1 and shown[0].type == "pointer_expression" else None
        )
        return self.text(pointed) if pointed is not None and pointed.type == "identifier" else ""

    def begin(self, name: str, value: int) -> None:
        """Let the variable *name*, which is declared here, hold *value*."""
        if self.builder.scopes[self.scope].kind in {"function", "lambda"}:
            self.declare(name, UNKNOWN)
            self.assign(name, value)
        else:
            self.bind(name, value)

    def assign(self, name: str, term: int) -> None:
        """Let *name* hold *term* from now on as well."""
        if self.find(name) is not None:
            super().assign(name, term)
        elif not self.builder.is_plain(term):
            holder = self.builder.term(Op.FROM, self.scope, text=HOLDER, name=name)
            self.builder.stores.append(Store(holder, term, name))

    def either(self, node: Node) -> int:
        """Read ``a ? b : c``."""
        condition = self.read(node.child_by_field_name("condition"))
        consequence = node.child_by_field_name("consequence")
        chosen = self.read(consequence) if consequence else condition
        return self.builder.join((chosen, self.read(node.child_by_field_name("alternative"))))

    def comma(self, node: Node) -> int:
        """Read ``a, b``, which is b."""
        at: Node | None = node
        while at is not None and at.type == "comma_expression":
            self.read(at.child_by_field_name("left"))
            right = at.child_by_field_name("right")
            if right is None or right.type != "comma_expression":
                return self.read(right)
            at = right
        return UNKNOWN

    def binary(self, node: Node) -> int:
        """Read ``a + b``: a place behind a pointer holds what the pointer holds."""
        term = UNKNOWN
        at: Node | None = node
        while at is not None and at.type == "binary_expression":  # a long sum leans to the left
            self.read(at.child_by_field_name("right"))
            pointed = self.text(at.child_by_field_name("operator")) in _POINTS
            at = at.child_by_field_name("left")
            term = self.read(at) if at is not None and at.type != "binary_expression" else UNKNOWN
        return term if pointed else UNKNOWN

    def cast(self, node: Node) -> int:
        """Read ``(T)a``."""
        return self.known(self.declared(node.child_by_field_name("type")), self.read(node.child_by_field_name("value")))

    def text_constant(self, node: Node) -> int:
        """Read a literal of text."""
        del node
        return self.constant("str")

    def number(self, node: Node) -> int:
        """Read a number."""
        text = self.text(node)[:_LONGEST_KEY].rstrip("uUlL")
        return self.constant(f"int:{int(text)}") if text.isdecimal() else self.constant("int")

    def literal(self, node: Node) -> int:
        """Read ``(T){ a, b }``."""
        declared = self.declared(node.child_by_field_name("type"))
        return self.initial(node.child_by_field_name("value"), declared, array=False)

    def listed(self, node: Node) -> int:
        """Read ``{ a, b }`` of which no type is known."""
        return self.initial(node, UNKNOWN, array=False)

    def initial(self, node: Node | None, declared: int, *, array: bool) -> int:
        """Return what a variable holds that begins as *node*: one of type *declared*, or with *array* several."""
        if node is None or node.type != "initializer_list":
            return self.known(declared, self.read(node))
        if declared and not array:
            self.fill(node, declared)
            return declared
        held: list[int] = []
        for child in node.named_children:
            if child.type == "comment":
                continue
            value = child.child_by_field_name("value") if child.type == "initializer_pair" else child
            if declared and value is not None and value.type == "initializer_list":
                self.fill(value, declared)
            else:
                held.append(self.read(value))
                if declared and value is not None and value.type == "call_expression":  # a macro may write a list
                    self.store(declared, held[-1], key=self.constant("field:0"))
        return self.builder.join((declared, self.held("list", node, filter(None, held))))

    def fill(self, node: Node, base: int) -> None:
        """Let the fields of *base* hold what the list *node* gives them, by their order or by their names."""
        with self.deeper() as stop:
            children = [] if stop else [child for child in node.named_children if child.type != "comment"]
            for place, child in enumerate(children):
                key = self.constant(f"field:{place}")
                value, at = child, base
                if child.type == "initializer_pair":
                    at, name = self._designated(child, base)
                    value = child.child_by_field_name("value") or child
                    self._fill_one(value, self.attribute(at, name), at, name=name)
                else:
                    self._fill_one(value, self.builder.term(Op.ITEM, base, key), base, key=key)

    def _fill_one(self, value: Node, inside: int, base: int, *, name: str = "", key: int = UNKNOWN) -> None:
        if value.type == "initializer_list":
            self.fill(value, inside)
        elif name or key:
            self.store(base, self.read(value), name=name, key=key)

    def _designated(self, pair: Node, base: int) -> tuple[int, str]:
        """Return what ``.a.b = c`` is put into, and under which name."""
        names = [
            self.text(first(each) or each)
            for each in pair.children_by_field_name("designator")
            if each.type == "field_designator"
        ] or [self.text(each) for each in pair.named_children[:1] if each.type == "field_identifier"]
        for name in names[:-1]:
            base = self.attribute(base, name)
        return base, names[-1] if names else ""

    READERS: ClassVar[dict[str, "Callable[[Expressions, Node], int]"]] = {
        "identifier": name,
        "field_expression": field,
        "call_expression": call_,
        "parenthesized_expression": inner,
        "pointer_expression": argument,
        "update_expression": argument,
        "subscript_expression": subscript,
        "assignment_expression": assignment,
        "conditional_expression": either,
        "comma_expression": comma,
        "binary_expression": binary,
        "cast_expression": cast,
        "compound_literal_expression": literal,
        "initializer_list": listed,
        "string_literal": text_constant,
        "concatenated_string": text_constant,
        "number_literal": number,
        "sizeof_expression": nothing,
        "alignof_expression": nothing,
        "offsetof_expression": nothing,
        "comment": nothing,
    }
