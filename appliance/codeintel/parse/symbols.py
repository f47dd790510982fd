"""Definitions: from captured nodes to symbols, each with its place in the nest of scopes. Nothing here recurses."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import msgspec
from tree_sitter import Node

from appliance.codeintel.facts import Symbol, SymbolKind
from appliance.codeintel.parse.added_grammar import NOTHING_TOLD, Told
from appliance.codeintel.parse.docs import comment_of, comment_rows, docstring
from appliance.codeintel.parse.grammars import Captures
from appliance.codeintel.parse.names import Name, name_of, split_name, type_name
from appliance.codeintel.parse.text import SourceText

_CLASS_LIKE: Final = frozenset({"class", "interface", "struct", "enum", "trait", "impl"})
_CODE: Final = frozenset({"function", "method", "constructor"})
_SCOPES: Final = _CLASS_LIKE | _CODE | {"module", "namespace", "type"}
_VALUES: Final = frozenset({"variable", "constant", "field", "property"})
_VAGUE: Final = ("export", "variable", "field", "class")  # of two captures of one node the more telling counts
_TRAILER = " {:=;,"
_SIGNATURE = 300
_LOOKED_AT = 1500  # bytes of a head
_LONGEST_DOC = 4000
_QUALNAME = 400  # a nest of 200,000 functions would otherwise spell 40 GB of names
_BY_LINE: Final = frozenset({"ruby", "lua"})  # an empty body is no node there
_FARTHEST = 80  # bytes from the line's start to a node whose first words stand before it
_PREFIX = re.compile(r"[^;{}()=]*")
_PARAMETERS: Final = frozenset(
    {"class_parameter", "formal_parameter", "spread_parameter", "parameter"}
)  # of a head, that are members too
_HEADED: Final = frozenset({"java", "csharp", "kotlin"})  # only there, because to find what a node stands in is slow
_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression"})
_MOST_DOCS: Final = 60  # comments above a definition
_COMMENT_MARKS: Final = " \t;%"  # of languages whose comments nobody here knows, beside those of `docs`


@dataclass(slots=True)
class Scope:
    """A stretch of source that holds others. ``symbol`` is -1 for one that has no symbol of its own (``impl``)."""

    start: int
    end: int
    first: int  # lines
    last: int
    above: int  # the first line of the comment above it, or its own
    symbol: int
    qualname: str
    kind: str
    parent: int  # among the scopes, or -1


@dataclass(slots=True)
class Found:
    """The symbols of one file in the order of the source, and the scopes among them."""

    symbols: list[Symbol] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)


class SymbolFinder:
    """Finds the definitions of one file. *told* is what a plugin's query told of them, by the ids of their nodes."""

    def __init__(self, language: str, text: SourceText, *, header: bool, told: Mapping[int, Told] = NOTHING_TOLD) -> None:
        self._language = language
        self._text = text
        self._header = header
        self._told = told
        self._symbols: list[Symbol] = []
        self._owners: dict[int, str] = {}  # of symbols that do not stand in the type that they belong to: its qualified name
        self._scopes: list[Scope] = []
        self._stack: list[Scope] = []
        self._inner: list[int] = []  # the stack as indexes
        self._times: dict[str, int] = {}

    def find(self, captures: Captures) -> Found:
        """Return every definition among *captures*; a second one of the same name is numbered, none is dropped."""
        whole = {_definition_start(node): node.start_byte for node in captures.get("decorated", ())}
        for start, end, node, kind in _ordered(captures):
            while self._stack and self._stack[-1].end <= start:
                self._stack.pop()
                self._inner.pop()
            if kind == "scope":
                row = self._row(start)
                above, _ = comment_rows(self._text.lines, row, language=self._language)
                qualname = self._qualified(type_name(node, self._text))
                symbol = self._stack[-1].symbol if self._stack else -1
                self._enter(start, end, rows=(above, row), symbol=symbol, qualname=qualname, kind="impl")
            else:
                self._define(node, kind, start, end, whole.get(start, start))
        self._attach_docstrings(captures.get("doc", ()))
        self._attach_owners()
        return Found(self._symbols, self._scopes)

    def _define(self, node: Node, kind: str, start: int, end: int, outer: int) -> None:
        around = self._stack[-1] if self._stack else None
        if kind == "prototype" and not (self._header and (around is None or around.kind not in _CODE)):
            return
        name = self._name(node, start, end)
        if name is None or (kind == "export" and name.name == "default"):
            return
        kind = self._kind(node, kind, name, around)
        if kind in _VALUES and around is not None and around.kind in _CODE:
            return
        owner = self._qualified(name.prefix) if name.prefix else ""
        qualname = self._numbered(f"{owner}.{name.name}" if owner else self._qualified(name.name, kind))
        row = self._row(outer)
        above, doc = self._doc(node, row)
        symbol = len(self._symbols)
        self._symbols.append(
            Symbol(
                name.name,
                qualname,
                cast("SymbolKind", kind),
                row + 1,
                max(self._last_line(end), row + 1),
                self._signature(node, start, end, kind),
                doc,
                around.symbol if around else -1,
            )
        )
        if owner:
            self._owners[symbol] = owner
        if kind in _SCOPES:
            self._enter(outer, end, rows=(above, row), symbol=symbol, qualname=qualname, kind=kind)

    def _name(self, node: Node, start: int, end: int) -> Name | None:
        told = self._told.get(node.id) if self._told else None
        if told is not None and told.name is not None:
            return split_name(told.name, self._text)
        return name_of(self._language, node, self._text) if node.child_count else Name(self._text.cut(start, end))

    def _doc(self, node: Node, row: int) -> tuple[int, str]:
        """Return the first row of the comment right above *row*, or that, and what the comment says."""
        lines = self._text.lines
        told = self._told.get(node.id) if self._told else None
        if told is None or not told.docs:
            above, below = comment_rows(lines, row, language=self._language)
            return above, comment_of(lines, above, below) if above < below else ""
        first = row
        for doc in reversed(told.docs[-_MOST_DOCS:]):
            if self._last_line(doc.end_byte) != first:
                break
            first = self._row(doc.start_byte)
        comment = [line.lstrip(_COMMENT_MARKS) for line in lines[first:row]]
        return first, comment_of(comment, 0, row - first) if comment else ""

    def _enter(self, start: int, end: int, *, rows: tuple[int, int], symbol: int, qualname: str, kind: str) -> None:
        above, row = rows
        parent = self._inner[-1] if self._inner else -1
        scope = Scope(start, end, row + 1, self._last_line(end), above + 1, symbol, qualname, kind, parent)
        self._inner.append(len(self._scopes))
        self._scopes.append(scope)
        self._stack.append(scope)

    def _row(self, start: int) -> int:
        return bisect_right(self._text.offsets, start) - 1

    def _last_line(self, end: int) -> int:
        """Return the line that the byte before *end* stands in."""
        return bisect_left(self._text.offsets, end)

    def _qualified(self, name: str, kind: str = "") -> str:
        around = self._stack
        if kind in _CLASS_LIKE and around and around[-1].kind == "type":
            around = around[:-1]  # `typedef struct bar {…} bar_t` does not put bar into bar_t
        outer = around[-1].qualname[:_QUALNAME] if around else ""
        return f"{outer}.{name}" if outer and name else outer or name

    def _numbered(self, qualname: str) -> str:
        times = self._times[qualname] = self._times.get(qualname, 0) + 1
        return qualname if times == 1 else f"{qualname}#{times}"

    def _kind(self, node: Node, kind: str, name: Name, around: Scope | None) -> str:
        inside = bool(around and around.kind in _CLASS_LIKE)
        if kind in {"function", "prototype"}:
            kind = "method" if inside or (name.prefix and self._language != "php") else "function"
        if kind == "method" and (name.name == "constructor" or (self._language == "cpp" and _makes(name, around))):
            return "constructor"
        if kind == "field" and (value := node.child_by_field_name("value")) and value.type in _FUNCTIONS:
            return "method"
        if kind == "default":
            return "class" if node.type == "class" else "function" if node.type in _FUNCTIONS else "variable"
        if kind in {"variable", "export"}:
            return "field" if inside else "constant" if name.name.isupper() else "variable"
        return kind

    def _signature(self, node: Node, start: int, end: int, kind: str) -> str:
        text, row = self._text, self._row(start)
        if kind in _VALUES and self._language in _HEADED and (around := node.parent) and around.type in _PARAMETERS:
            return _one_line(text.cut(around.start_byte, min(around.end_byte, around.start_byte + _LOOKED_AT)))
        line = text.offsets[row]
        if start - line <= _FARTHEST and _PREFIX.fullmatch(text.cut(line, start)):
            start = line  # `export default`, `const`, `pub` and `template<…>` stand before the node
        if kind not in _SCOPES:
            return _one_line(text.cut(start, min(start + _LOOKED_AT, text.offsets[row + 1])))
        body = _body(node)
        head = text.cut(start, min(body.start_byte if body else end, start + _LOOKED_AT))
        if self._language in _BY_LINE or (self._told and not body):
            head = head.partition("\n")[0]
        return _one_line(head if body else head.partition("{")[0])

    def _attach_docstrings(self, docs: Sequence[Node]) -> None:
        starts = [scope.start for scope in self._scopes]
        for node in docs:
            start, end = node.byte_range
            position = bisect_right(starts, start) - 1
            if position >= 0 and (symbol := self._scopes[position].symbol) >= 0:
                doc = docstring(self._text.cut(start, min(end, start + _LONGEST_DOC)))
                self._symbols[symbol] = msgspec.structs.replace(self._symbols[symbol], doc=doc)

    def _attach_owners(self) -> None:
        adding = [scope for scope in self._scopes if scope.kind == "impl"]
        if not (adding or self._owners):
            return
        by_qualname = {symbol.qualname: index for index, symbol in enumerate(self._symbols)}
        for scope in adding:
            scope.symbol = by_qualname.get(scope.qualname, scope.symbol)
        for index, owner in self._owners.items():
            if owner in by_qualname:
                self._symbols[index] = msgspec.structs.replace(self._symbols[index], parent=by_qualname[owner])


def _ordered(captures: Captures) -> list[tuple[int, int, Node, str]]:
    """Return the definitions and their bytes, outer before inner, each node once and by the most telling of its captures."""
    best: dict[tuple[int, int], tuple[int, Node, str]] = {}
    for capture, nodes in captures.items():
        label, _, kind = capture.partition(".")
        if label not in {"d", "n", "scope"}:
            continue
        kind = kind or "scope"
        telling = _telling(kind)
        for node in nodes:
            start, end = node.byte_range
            key = (start, -end)
            if key not in best or telling > best[key][0]:
                best[key] = (telling, node, kind)
    return [(start, -end, *best[start, end][1:]) for start, end in sorted(best)]


def _telling(kind: str) -> int:
    return _VAGUE.index(kind) if kind in _VAGUE else len(_VAGUE)


def _definition_start(decorated: Node) -> int:
    inner = decorated.child_by_field_name("definition")
    return inner.start_byte if inner else -1


def _body(node: Node) -> Node | None:
    if body := node.child_by_field_name("body"):
        return body
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    return value.child_by_field_name("body") if value else None


def _makes(name: Name, around: Scope | None) -> bool:
    """Return whether *name* is a C++ constructor's: that of its type, which it stands in or names."""
    within = name.prefix or (around.qualname if around and around.kind in _CLASS_LIKE else "")
    return within.rpartition(".")[2].partition("#")[0] == name.name


def _one_line(head: str) -> str:
    line = " ".join(head[:_LOOKED_AT].split())
    while (shorter := line.rstrip(_TRAILER).removesuffix("=>")) != line:
        line = shorter
    return line if len(line) <= _SIGNATURE else line[: _SIGNATURE - 1] + "…"
