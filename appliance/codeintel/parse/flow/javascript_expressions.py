"""JavaScript's and TypeScript's expressions: from nodes of the syntax tree to terms."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op, Read
from appliance.codeintel.parse.flow.javascript_names import Names, constant_key, first

_LONGEST_SHOWN: Final = 64  # items of a container
_FUNCTIONS: Final = ("arrow_function", "function_expression", "generator_function")
_CONTAINERS: Final = {"Map": "map", "WeakMap": "map", "Set": "list", "WeakSet": "list", "Array": "list"}
_FIRST_OF: Final = frozenset({"await_expression", "non_null_expression", "spread_element", "parenthesized_expression"})


class Expressions(Names, ABC):
    """Reads expressions in the scope and environment that it stands in."""

    def read(self, node: Node | None) -> int:
        """Return the term of *node*, an expression, and note what is called in it."""
        if node is None or self.too_deep():
            return UNKNOWN
        reader = self._READERS.get(node.type)
        self.depth += 1
        try:
            return reader(self, node) if reader else self._rest(node)
        finally:
            self.depth -= 1

    def named_value(self, node: Node | None, name: str, *, receiver: int = UNKNOWN) -> int:
        """Return the term of *node*; a function or class without a name is called *name*, and has *receiver* as its this."""
        if node is not None and node.type in _FUNCTIONS:
            return self.function(node, name, receiver=receiver)
        if node is not None and node.type == "class":
            return self.class_(node, name)
        return self.read(node)

    def path(self, node: Node | None) -> str:
        """Return the path that *node* spells, such as ``this.x`` or ``d["a"]``, or "" if it is none."""
        tail = ""
        while node is not None:
            kind = node.type
            if kind == "identifier":
                found = self.find(self.text(node))
                return found[1] + tail if found and found[0] == self.scope else ""
            if kind == "this":
                return f"this{tail}"
            if kind not in {"member_expression", "subscript_expression"}:
                return ""
            key = self.text(node.child_by_field_name("property")) if kind == "member_expression" else self._index(node)
            if not key:
                return ""
            tail = f".{key.removeprefix('str:')}{tail}"
            node = node.child_by_field_name("object")
        return ""

    def _index(self, node: Node) -> str:
        return constant_key(node.child_by_field_name("index"), self.source)

    def _call(self, node: Node) -> int:
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        kind = function.type if function else ""
        if kind == "import":
            return self.module(given, Op.IMPORT)
        if kind == "identifier" and self.text(function) == "require" and self.find("require") is None:
            required = self.module(given, Op.FROM)
            if required:
                return required
        callee = self.builder.term(Op.ATTR, self._super(node), text="new()") if kind == "super" else self.read(function)
        arguments = self._arguments(given)
        site = self.builder.site("call", self.scope, callee, self.line(node, function), arguments)
        if arguments and kind == "member_expression" and self.text(function) == "Object.create":
            return self._made("dict", node, [arguments[0][1], UNKNOWN])  # an object in front of another
        if self.env.paths:
            receiver = function.child_by_field_name("object") if function and kind == "member_expression" else None
            for each in [receiver, *(given.named_children if given else [])]:
                if each is not None and (path := self.path(each)):
                    self.env.forget_below(path)
        return self.builder.term(Op.CALL, site)

    def line(self, node: Node, function: Node | None) -> int:
        """Return the line of a call: of the name that is called, which in a chain stands below its start."""
        last = function.child_by_field_name("property") if function and function.type == "member_expression" else None
        return (last or node).start_point.row + 1

    def _arguments(self, given: Node | None) -> list[tuple[str, int]]:
        if given is None:
            return []
        if given.type == "template_string":
            self._inside(given)
            return []
        return [
            ("*" if child.type == "spread_element" else "", self.read(child))
            for child in given.named_children
            if child.type != "comment"
        ]

    def _new(self, node: Node) -> int:
        constructor, given = node.child_by_field_name("constructor"), node.child_by_field_name("arguments")
        name = self.text(constructor) if constructor is not None and constructor.type == "identifier" else ""
        callee = self.read(constructor)
        arguments = self._arguments(given)
        self.builder.site("call", self.scope, callee, node.start_point.row + 1, arguments)
        if name in _CONTAINERS and self.find(name) is None:
            items = [(UNKNOWN, self.builder.term(Op.ITEM, term)) for _, term in arguments]
            return self._made(_CONTAINERS[name], node, [each for item in items for each in item])
        return self.builder.term(Op.INSTANCE, callee)

    def _element(self, node: Node) -> int:
        """Read ``<Name a={x}>``: a call of Name with one object."""
        named = node.child_by_field_name("name")
        items: list[int] = []
        for child in node.named_children:
            if child.type == "jsx_attribute" and (key := first(child)) is not None:
                items += (self.constant(f"str:{self.text(key)}"), self._inside(child))
            elif child != named:
                self.read(child)
        if named is not None and (named.type == "member_expression" or self.text(named)[:1].isupper()):
            props = self._made("dict", node, items)
            self.builder.site("call", self.scope, self.read(named), node.start_point.row + 1, [("", props)])
        return UNKNOWN

    def _identifier(self, node: Node) -> int:
        name = self.text(node)
        self.use(name, node)
        return self.named(name)

    def _this(self, _: Node) -> int:
        return self.this

    def _super(self, _: Node) -> int:
        return UNKNOWN if self.home is None else self.builder.term(Op.SUPER, self.home, self.this)

    def _member(self, node: Node) -> int:
        shown, attribute = node.child_by_field_name("object"), node.child_by_field_name("property")
        if attribute is None:
            return self._inside(node)
        name = self.text(attribute)
        if shown is not None and self.is_exports(shown, name):
            return self.named("export =")
        base = self.read(shown)
        return self._known(node, self.member(base, name, attribute))

    def member(self, base: int, name: str, node: Node) -> int:
        """Return the term of *name* of *base*, which is read at *node*."""
        term = self.builder.term(Op.ATTR, base, text=name)
        self.builder.reads.append(Read(self.scope, term, node.start_point.row + 1))
        return term

    def _subscript(self, node: Node) -> int:
        base, key = self.read(node.child_by_field_name("object")), self._index(node)
        if key.startswith("str:"):
            return self._known(node, self.member(base, key[4:], node))
        index = self.constant(key) if key else self.read(node.child_by_field_name("index"))
        return self._known(node, self.builder.term(Op.ITEM, base, index))

    def _known(self, node: Node, plain: int) -> int:
        """Return what the path that *node* spells holds, if that is known here, else *plain*."""
        if not self.env.paths or not (path := self.path(node)):
            return plain
        held = self.env.get(path)
        return plain if held is None else held

    def _string(self, node: Node) -> int:
        return self.constant(constant_key(node, self.source) or "str")

    def _template(self, node: Node) -> int:
        self._inside(node)
        return self.constant(constant_key(node, self.source) or "str")

    def _number(self, node: Node) -> int:
        return self.constant(constant_key(node, self.source) or "number")

    def constant(self, text: str) -> int:
        """Return the term of a constant."""
        return self.builder.term(Op.CONST, text=text)

    def _array(self, node: Node) -> int:
        items: list[int] = []
        place = 0
        for child in node.named_children:
            if child.type == "comment":
                continue
            if child.type == "spread_element":
                items += (UNKNOWN, self.builder.term(Op.ITEM, self.read(child)))
                place = -1
                continue
            key = self.constant(f"int:{place}") if place >= 0 else UNKNOWN
            items += (key, self.read(child))
            place += place >= 0
        return self._made("list", node, items)

    def _object(self, node: Node) -> int:
        """Read an object: its keys, and objects that are spread into it as keys without a value."""
        itself = self.builder.loose()
        items: list[int] = []
        for child in node.named_children:
            kind = child.type
            if kind == "pair":
                items += self._pair(child, itself)
            elif kind == "method_definition":
                items += self._own_method(child, itself)
            elif kind == "shorthand_property_identifier":
                items += (self.constant(f"str:{self.text(child)}"), self._identifier(child))
            elif kind == "spread_element":
                items += (self.read(child), UNKNOWN)
        term = self._made("dict", node, items)
        self.builder.tie(itself, (term,))
        return term

    def _own_method(self, node: Node, itself: int) -> tuple[int, int]:
        name, kinds = self.property_name(node.child_by_field_name("name")), {child.type for child in node.children}
        term = self.function(node, name, receiver=itself, marks=("property",) * ("get" in kinds))
        return self.constant(f"str:{name}=" if "set" in kinds else f"str:{name}"), term

    def _pair(self, node: Node, itself: int) -> tuple[int, int]:
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        if key is not None and key.type == "computed_property_name" and not constant_key(first(key), self.source):
            return self._inside(key) or UNKNOWN, self.read(value)
        name = self.property_name(key)
        return self.constant(f"str:{name}"), self.named_value(value, name, receiver=itself)

    def property_name(self, node: Node | None) -> str:
        """Return how the property is called whose name *node* spells."""
        if node is None:
            return ""
        shown = first(node) if node.type == "computed_property_name" else node
        return constant_key(shown, self.source).partition(":")[2] or self.text(node)

    def _made(self, kind: str, node: Node, items: list[int]) -> int:
        """Return the term of a container: of the place where it is made, so that what is put in later is told apart.

        Of a long list only what is no constant is kept, at any place: tables of data are nothing that is called.
        """
        if kind == "list" and len(items) > 2 * _LONGEST_SHOWN:
            kept = dict.fromkeys(value for value in items[1::2] if not self.builder.is_constant(value))
            items = [each for value in list(kept)[:_LONGEST_SHOWN] for each in (UNKNOWN, value)]
        return self.builder.term(Op.MAKE, text=kind, name=str(node.start_byte), items=tuple(items))

    def iterated(self, over: int, node: Node) -> int:
        """Return the term of what an iteration over *over* yields."""
        return self.builder.term(Op.NEXT, over, self.builder.site("iter", self.scope, over, node.start_point.row + 1))

    def _function(self, node: Node) -> int:
        return self.function(node, "")

    def _class(self, node: Node) -> int:
        return self.class_(node, "")

    def _assignment(self, node: Node) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None:
            return self.read(right)
        if left.type == "identifier":
            term = self.named_value(right, self.text(left))
        elif left.type == "member_expression":
            shown, attribute = left.child_by_field_name("object"), left.child_by_field_name("property")
            whole = shown is not None and attribute is not None and self.is_exports(shown, self.text(attribute))
            name = "default" if whole else self.text(attribute)
            mine = right is not None and right.type in _FUNCTIONS
            term = self.named_value(right, name, receiver=self.read(shown) if mine and not whole else UNKNOWN)
        else:
            term = self.read(right)
        self.assign(left, term)
        return term

    def _augmented(self, node: Node) -> int:
        """Read ``a ||= b`` and the like; what a holds after ``+=`` is nothing that is called."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        before = self.read(left)
        term = self.read(right)
        if left is None or operator is None or operator.type not in {"||=", "??=", "&&="}:
            return UNKNOWN
        term = self.builder.join((before, term))
        self.assign(left, term)
        return term

    def _binary(self, node: Node) -> int:
        chain = []
        at: Node | None = node
        while at is not None and at.type == "binary_expression":  # a long sum leans to the left
            chain.append(at)
            at = at.child_by_field_name("left")
        term = self.read(at)
        for each in reversed(chain):
            right = self.read(each.child_by_field_name("right"))
            operator = each.child_by_field_name("operator")
            kind = operator.type if operator else ""
            if kind in {"||", "??"}:
                term = self.builder.join((term, right))
            elif kind == "&&":
                term = right
            else:
                text = kind == "+" and (self.builder.is_text(term) or self.builder.is_text(right))
                term = self.constant("str") if text else UNKNOWN
        return term

    def _ternary(self, node: Node) -> int:
        found = []
        at: Node | None = node
        while at is not None and at.type == "ternary_expression":
            self.read(at.child_by_field_name("condition"))
            found.append(self.read(at.child_by_field_name("consequence")))
            at = at.child_by_field_name("alternative")
        return self.builder.join((*found, self.read(at)))

    def _as(self, node: Node) -> int:
        shown, *kinds = node.named_children
        term = self.read(shown)
        declared = self.declared(kinds[0]) if kinds else UNKNOWN
        return self.builder.term(Op.ELSE, term, declared) if term and declared else term or declared

    def _assertion(self, node: Node) -> int:
        """Read ``<T>x``."""
        return self.read(node.named_children[-1]) if node.named_children else UNKNOWN

    def _yield(self, node: Node) -> int:
        term = self._inside(node)
        all_of = any(child.type == "*" for child in node.children)
        self.builder.scopes[self.scope].yields.append(self.iterated(term, node) if all_of else term)
        return UNKNOWN

    def _rest(self, node: Node) -> int:
        term = self._inside(node)
        return term if node.type in _FIRST_OF or node.type == "sequence_expression" else UNKNOWN

    def _inside(self, node: Node) -> int:
        """Read everything in *node*; return the term of the last thing."""
        term = UNKNOWN
        for child in node.named_children:
            if child.type != "comment":
                term = self.read(child)
        return term

    def _nothing(self, _: Node) -> int:
        return UNKNOWN

    @abstractmethod
    def note(self, node: Node) -> int:
        """Note every name of a type that stands in *node*, and return UNKNOWN; types say how."""

    @abstractmethod
    def is_exports(self, shown: Node, name: str) -> bool:
        """Return whether *name* of *shown* is ``module.exports``; bindings say when."""

    @abstractmethod
    def module(self, given: Node | None, op: Op) -> int:
        """Return the term of the module that an import or ``require`` of *given* names, or UNKNOWN."""

    @abstractmethod
    def assign(self, target: Node | None, term: int) -> None:
        """Let *target* hold *term*; bindings say how."""

    @abstractmethod
    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names; types say how."""

    @abstractmethod
    def function(self, node: Node, name: str, *, receiver: int = UNKNOWN, marks: tuple[str, ...] = ()) -> int:
        """Return the term of the function *node*; definitions say how."""

    @abstractmethod
    def class_(self, node: Node, name: str) -> int:
        """Return the term of the class *node*; definitions say how."""

    _READERS: ClassVar[dict[str, Callable[["Expressions", Node], int]]] = {
        "identifier": _identifier,
        "this": _this,
        "super": _super,
        "member_expression": _member,
        "subscript_expression": _subscript,
        "call_expression": _call,
        "new_expression": _new,
        "jsx_opening_element": _element,
        "jsx_self_closing_element": _element,
        "string": _string,
        "template_string": _template,
        "number": _number,
        "array": _array,
        "object": _object,
        "class": _class,
        "assignment_expression": _assignment,
        "augmented_assignment_expression": _augmented,
        "binary_expression": _binary,
        "ternary_expression": _ternary,
        "as_expression": _as,
        "type_assertion": _assertion,
        "satisfies_expression": _as,
        "yield_expression": _yield,
        "comment": _nothing,
        **dict.fromkeys(("type_arguments", "type_annotation"), lambda self, node: self.note(node)),
        "string_fragment": _nothing,
        "jsx_text": _nothing,
        **dict.fromkeys(_FUNCTIONS, _function),
    }
