"""Python's calls, and what builtin functions make of what they are given."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import ClassVar, Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.python_expressions import Expressions

_LONGEST_NAME: Final = 30  # of what is looked up in the table of builtin functions
_SPELL: Final = frozenset({"lower", "format"})  # methods after which the start of a string is still known

Arguments = Sequence[tuple[str, int]]


class Calls(Expressions):
    """Reads calls as well."""

    def call(self, node: Node) -> int:
        """Read a call: its function, its arguments, and what it does to what is known of them."""
        function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        callee = self.read(function)
        arguments = self._arguments(given)
        site = self.builder.site("call", self.scope, callee, node.start_point.row + 1, arguments)
        self._touch(function, given, arguments)
        term = self.builder.term(Op.CALL, site)
        of, name = self.builder.member(callee)
        if name in _SPELL and self.builder.is_text(of):
            start = self.builder.value(of)
            return self.builder.started(start.lower() if name == "lower" else start)
        made = self._gives(function, arguments, node)
        return self.builder.term(Op.ELSE, term, made) if made else term

    def _arguments(self, given: Node | None) -> list[tuple[str, int]]:
        if given is None:
            return []
        if given.type == "generator_expression":
            return [("", self.read(given))]
        found = []
        for child in given.named_children:
            kind = child.type
            if kind == "keyword_argument":
                name = child.child_by_field_name("name")
                found.append((self.text(name) if name else "", self.read(child.child_by_field_name("value"))))
            elif kind in {"list_splat", "dictionary_splat"}:
                found.append(("*" if kind == "list_splat" else "**", self.inside(child)))
            elif kind != "comment":
                found.append(("", self.read(child)))
        return found

    def _touch(self, function: Node | None, given: Node | None, arguments: Sequence[tuple[str, int]]) -> None:
        """Forget what a call may change: what lies below its receiver and below its arguments."""
        receiver = function.child_by_field_name("object") if function and function.type == "attribute" else None
        name = function.child_by_field_name("attribute") if receiver and function else None
        if receiver and name and self.text(name) == "update" and self._update(receiver, arguments):
            return
        for node in [receiver, *(given.named_children if given else [])] if self.env.paths else ():
            if node is not None and (path := self.path(node)):
                self.env.forget_below(path)

    def _update(self, receiver: Node, arguments: Sequence[tuple[str, int]]) -> bool:
        """Let ``d.update({"a": x})`` do what it says; return whether it is of that form."""
        path = self.path(receiver)
        shown = self.builder.entries(arguments[0][1]) if path and len(arguments) == 1 else {}
        if shown:
            base = self.read(receiver)
        for key, value in shown.items():
            plain = self.builder.term(Op.ITEM, base, self.builder.term(Op.CONST, text=key))
            self.env.set_path(f"{path}[{key}]", value, plain=plain)
        return bool(shown)

    def _gives(self, function: Node | None, arguments: Arguments, node: Node) -> int:
        """Return the term of what a builtin function makes of its arguments, as *function* names it, or UNKNOWN."""
        if function is None or function.end_byte - function.start_byte > _LONGEST_NAME:
            return UNKNOWN
        build = self._BUILT.get(self.text(function))
        return build(self, arguments, node) if build else UNKNOWN

    def _enumerated(self, arguments: Arguments, node: Node) -> int:
        given = _by_place(arguments)
        return (
            self._pairs([self.builder.term(Op.CONST, text="int"), self.iterated(given[0], node)], node) if given else UNKNOWN
        )

    def _zipped(self, arguments: Arguments, node: Node) -> int:
        return self._pairs([self.iterated(each, node) for each in _by_place(arguments)], node)

    def _filtered(self, arguments: Arguments, node: Node) -> int:
        return self._listed([self.iterated(each, node) for each in _by_place(arguments)[1:2]], node)

    def _chained(self, arguments: Arguments, node: Node) -> int:
        return self._listed([self.iterated(each, node) for each in _by_place(arguments)], node)

    def _flattened(self, arguments: Arguments, node: Node) -> int:
        inner = [self.iterated(each, node) for each in _by_place(arguments)[:1]]
        return self._listed([self.iterated(each, node) for each in inner], node)

    def _keyed(self, arguments: Arguments, node: Node) -> int:
        named = [(self.builder.term(Op.CONST, text=f"str:{name}"), term) for name, term in arguments if name.strip("*")]
        return self.made("dict", node, [each for pair in named for each in pair]) if named else UNKNOWN

    def _pairs(self, held: Sequence[int], node: Node) -> int:
        placed = [(self.builder.term(Op.CONST, text=f"int:{place}"), term) for place, term in enumerate(held)]
        return (
            self._listed([self.made("tuple", node, [each for pair in placed for each in pair])], node) if held else UNKNOWN
        )

    def _listed(self, held: Sequence[int], node: Node) -> int:
        return self.made("list", node, [each for term in held for each in (UNKNOWN, term)]) if held else UNKNOWN

    _BUILT: ClassVar[dict[str, Callable[["Calls", Arguments, Node], int]]] = {
        "enumerate": _enumerated,
        "zip": _zipped,
        "filter": _filtered,
        "dict": _keyed,
        **dict.fromkeys(("chain", "itertools.chain"), _chained),
        **dict.fromkeys(("chain.from_iterable", "itertools.chain.from_iterable"), _flattened),
    }


def _by_place(arguments: Arguments) -> list[int]:
    """Return the terms of arguments without a name, of those before a splat."""
    return [term for name, term in takewhile(lambda each: each[0] != "*", arguments) if not name]
