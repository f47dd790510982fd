"""Uses of names: calls with their receiver, types, what a class inherits from, decorators."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from tree_sitter import Node

from appliance.codeintel.facts import Reference, ReferenceKind
from appliance.codeintel.parse.grammars import Captures
from appliance.codeintel.parse.symbols import Scope
from appliance.codeintel.parse.text import SourceText

_RECEIVER = 80
_LOOKED_AT = 200  # bytes before the end: in a chain of a thousand calls each one holds all that came before it
_DOTTED: Final = frozenset({"python", "javascript", "typescript", "tsx", "go", "java", "kotlin", "scala", "swift"})
_INVOKED: Final = ("name", "method")
_KINDS: Final[dict[str, ReferenceKind]] = {
    "r.call": "call", "r.invocation": "call", "r.inherit": "inherit", "r.name": "name", "r.type": "type",
}  # fmt: skip
"""Sorted by kind: of two uses that end at one place the first counts."""

_END: Final = itemgetter(0)
_BEYOND: Final = 1 << 62  # any file's end

_Use = tuple[int, str, str, ReferenceKind]  # end, name, receiver, kind: plain, there is one for each line


def references(language: str, captures: Captures, text: SourceText, scopes: Sequence[Scope]) -> list[Reference]:
    """Return the uses among *captures* in the order of the source, each with the innermost symbol of *scopes* around it."""
    uses: list[_Use] = []
    for capture, kind in _KINDS.items():
        nodes = captures.get(capture)
        if nodes:
            uses += _invocations(nodes, text) if capture == "r.invocation" else _dotted(nodes, text, kind, language=language)
    uses.sort(key=_END)
    return _placed(uses, scopes, text.offsets)


def _dotted(nodes: Sequence[Node], text: SourceText, kind: ReferenceKind, *, language: str) -> list[_Use]:
    cut, plain = text.cut, language in _DOTTED
    uses: list[_Use] = []
    for node in nodes:
        start, end = node.byte_range
        whole = cut(start if end - start <= _LOOKED_AT else end - _LOOKED_AT, end)
        if whole.isidentifier():
            uses.append((end, whole, "", kind))
            continue
        if not plain or "?" in whole or ":" in whole:
            whole = whole.replace("::", ".").replace("->", ".").replace("?.", ".").replace("\\", ".").replace(":", ".")
        if whole.endswith(">"):
            whole = whole.partition("<")[0]
        if "." in whole:
            receiver, _, name = whole.rpartition(".")
            uses.append((end, name.strip(), _short(receiver), kind))
        elif whole:
            uses.append((end, whole, "", kind))
    return uses


def _invocations(nodes: Sequence[Node], text: SourceText) -> list[_Use]:
    """Java, Ruby and PHP keep the name of a called method in a field of the call."""
    uses: list[_Use] = []
    for node in nodes:
        name = next((found for field in _INVOKED if (found := node.child_by_field_name(field))), None)
        if name is not None:
            start, end = name.byte_range
            receiver = text.cut(max(node.start_byte, start - _LOOKED_AT), start).rstrip(" \t\r\n.:->?&")
            uses.append((end, text.cut(start, end), _short(receiver), "call"))
    return uses


def _short(receiver: str) -> str:
    if len(receiver) > _RECEIVER or "\n" in receiver:
        receiver = " ".join(receiver.split())[-_RECEIVER:]
    return receiver


def _placed(uses: Sequence[_Use], scopes: Sequence[Scope], offsets: Sequence[int]) -> list[Reference]:
    """Walk uses, scopes and lines side by side; a use at the end of a chain counts where its name stands."""
    found: list[Reference] = []
    stack: list[Scope] = []
    inner, begins = iter(scopes), iter([*(scope.start for scope in scopes), _BEYOND])
    rows = iter([*offsets, _BEYOND])
    start, row = next(begins), next(rows)  # of the scope and of the line that come next
    line, last = 0, -1
    for end, name, receiver, kind in uses:
        if end == last:  # e.g. a base class that is also a generic type
            continue
        last = end
        while start < end:
            stack.append(next(inner))
            start = next(begins)
        while stack and stack[-1].end < end:
            stack.pop()
        while row <= end:
            line += 1
            row = next(rows)
        found.append(Reference(name, line, kind, stack[-1].symbol if stack else -1, receiver))
    return found
