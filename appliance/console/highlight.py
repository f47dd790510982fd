"""Colour for code: classes of tokens from the syntax tree, as escaped HTML. Without a grammar the text stays plain.

Files are foreign: some are written so that their parse takes minutes and gigabytes. This runs in the process that serves
every page, so a parse that takes longer than any honest one is given up, and the file stays plain. So does one in a language
that a plugin added: its grammar may crash.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup, escape
from tree_sitter import Node, Parser, Tree, TreeCursor

from appliance.codeintel.parse.grammars import LANGUAGES, grammar

_LARGEST: Final = 200_000  # bytes; more is shown plain
_MOST_NODES: Final = 100_000
_PARSE_SECONDS: Final = 0.1  # of processor time; 200 KB of honest code take 0.03
_WALK_SECONDS: Final = 0.4
_READ: Final = 65_536
_TYPES: Final = frozenset({"type_identifier", "primitive_type", "predefined_type", "namespace_identifier"})
_WORDS: Final = frozenset({"true", "false", "none", "nil", "null", "self", "this", "super", "nullptr", "undefined"})
_NAMERS: Final = ("definition", "declaration", "declarator", "_item", "method", "class", "function")


def highlight(lines: Sequence[str], *, language: str) -> list[Markup]:
    """Return each of *lines* as HTML with ``<i class=…>`` around comments, keywords, strings, numbers, names and types."""
    source = "\n".join(lines).encode("utf-8", "replace")
    if language not in LANGUAGES or len(source) > _LARGEST:
        return [escape(line) for line in lines]
    tree = _parsed(source, language)
    if tree is None:
        return [escape(line) for line in lines]
    rows: list[list[Markup]] = [[]]
    at = 0
    for start, end, name in _tokens(tree.walk()):
        if start < at:
            continue
        _put(rows, source[at:start], name="")
        _put(rows, source[start:end], name=name)
        at = end
    _put(rows, source[at:], name="")
    return [Markup("").join(row) for row in rows]


def _parsed(source: bytes, language: str) -> Tree | None:
    """Return the syntax tree, or None when it takes too long; meanwhile other threads run."""
    parser = Parser(grammar(language).parser.language)  # its own: a parser serves one thread at a time
    end = time.thread_time() + _PARSE_SECONDS
    try:
        # Only a parse that reads by a function asks whether to go on.
        return parser.parse(
            lambda at, _: source[at : at + _READ], progress_callback=lambda *_: time.thread_time() > end, encoding="utf8"
        )
    except ValueError:  # the parse was given up
        return None


def _put(rows: list[list[Markup]], text: bytes, *, name: str) -> None:
    for i, part in enumerate(text.decode("utf-8", "replace").split("\n")):
        if i:
            rows.append([])
        if part:
            rows[-1].append(Markup('<i class="{}">{}</i>').format(name, part) if name else escape(part))


def _tokens(cursor: TreeCursor) -> Iterator[tuple[int, int, str]]:
    """Yield (first byte, byte after the last, class), in order; walks with a cursor, so depth costs no stack."""
    end = time.thread_time() + _WALK_SECONDS
    for _ in range(_MOST_NODES):
        if time.thread_time() > end:
            return
        node = cursor.node
        name = _class(node) if node is not None else ""
        if node is not None and name:
            yield node.start_byte, node.end_byte, name
        if not (not name and cursor.goto_first_child()) and not _forward(cursor):
            return


def _forward(cursor: TreeCursor) -> bool:
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent():
            return False
    return True


def _class(node: Node) -> str:
    kind = node.type
    if "comment" in kind:
        return "c"
    if node.child_count == 0:
        return _leaf_class(node, kind)
    if kind in {"string", "char_literal", "character_literal", "raw_string_literal"} or kind.endswith("string_literal"):
        return "" if any("interpolation" in child.type or "substitution" in child.type for child in node.children) else "s"
    return ""


def _leaf_class(node: Node, kind: str) -> str:
    if not node.is_named:
        return "k" if kind.isalpha() and len(kind) > 1 else ""
    found = ""
    if kind in _TYPES:
        found = "t"
    elif kind in _WORDS:
        found = "k"
    elif "string" in kind or "char" in kind or kind in {"escape_sequence", "heredoc_body"}:
        found = "s"
    elif "number" in kind or kind.startswith(("integer", "float", "int_", "decimal")):
        found = "n"
    elif "identifier" in kind and _is_defined(node):
        found = "f"
    return found


def _is_defined(node: Node) -> bool:
    parent = node.parent
    return parent is not None and any(word in parent.type for word in _NAMERS) and parent.child_by_field_name("name") == node
