"""The grammars: one wheel a language, loaded when its first file comes."""

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree, TreeCursor

from appliance.codeintel.parse.conditions import first_branches
from appliance.codeintel.parse.ends import with_ends
from appliance.codeintel.parse.torn import torn_pieces
from appliance.errors import MalformedContent

_QUERIES = Path(__file__).with_name("queries")
WHEELS: Final = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "bash": ("tree_sitter_bash", "language"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "swift": ("tree_sitter_swift", "language"),
    "lua": ("tree_sitter_lua", "language"),
}
LANGUAGES: Final = tuple(WHEELS)
_BLANKS: Final = {  # a macro before the name of a type: ``class API Client {`` would be a function to it
    "cpp": re.compile(
        rb"(?:(?<=\bclass )|(?<=\bstruct ))[A-Z][A-Z0-9_]{2,60}(?=[ \t]{1,9}\w{1,200}\s{0,9}(?:final\s{0,9})?(?:\{|:(?!:)))"
    ),
}
_MENDS: Final = {"csharp": first_branches, "kotlin": with_ends}
_ADDS_TO: Final = {"tsx": ("typescript",)}  # its query holds only what it has beyond that one's

# A query takes time with the square of both. Of 22,735 files of twelve projects and the system's libraries one was deeper, a
# table, and the next had 692 levels; the widest error had 10,159 pieces.
_DEEPEST: Final = 2_000  # levels
_WIDEST: Final = 20_000  # pieces side by side that are no syntax

Captures = dict[str, list[Node]]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A parser, the query for what it finds anywhere in its trees, and the one for what it finds from their roots alone."""

    parser: Parser
    query: Query
    at_root: Query  # apart, because to hold a pattern of the root open costs time at every node of the tree
    blanks: re.Pattern[bytes] | None = None  # what it reads as if nothing stood there
    mend: Callable[[bytes], bytes] | None = None  # what to read instead, where that leaves less that is no syntax

    def captures(self, root: Node) -> Captures:
        """Return the captured nodes at and below *root* by the names that the queries give them."""
        found = QueryCursor(self.query).captures(root)
        cursor = QueryCursor(self.at_root)
        cursor.set_max_start_depth(0)
        for name, nodes in cursor.captures(root).items():
            found.setdefault(name, []).extend(nodes)
        return found

    def root(self, source: bytes) -> Node:
        """Parse *source*, which is UTF-8, and return the root of its tree.

        Raise `MalformedContent` when that is deeper, or more torn, than any that somebody wrote.
        """
        return sane_root(self.tree(source))

    def tree(self, source: bytes) -> Tree:
        """Parse *source*, which is UTF-8; where that is no syntax in places, as it can be mended."""
        if self.blanks is not None:
            source = self.blanks.sub(_blank, source)
        tree = self.parser.parse(source)
        if self.mend is not None and tree.root_node.has_error and (mended := self.mend(source)) != source:
            whole = self.parser.parse(mended)
            tree = whole if torn_pieces(whole.root_node) < torn_pieces(tree.root_node) else tree
        return tree


@cache
def grammar(language: str) -> Grammar:
    """Return the grammar of one of `LANGUAGES`."""
    module, function = WHEELS[language]
    loaded = Language(getattr(importlib.import_module(module), function)())
    names = (*_ADDS_TO.get(language, ()), language)
    query = _query(loaded, [_QUERIES / f"{name}.scm" for name in names])
    at_root = _query(loaded, [path for name in names if (path := _QUERIES / f"{name}.root.scm").exists()])
    return Grammar(Parser(loaded), query, at_root, _BLANKS.get(language), _MENDS.get(language))


def sane_root(tree: Tree) -> Node:
    """Return the root of *tree*; raise `MalformedContent` when it is deeper, or more torn, than any that somebody wrote."""
    if not _is_sane(tree.walk()):
        raise MalformedContent("The file is one deep nest, or no syntax at all.")
    return tree.root_node


def _query(loaded: Language, files: Sequence[Path]) -> Query:
    return Query(loaded, "\n".join(file.read_text(encoding="ascii") for file in files))


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match[0])


def _is_sane(cursor: TreeCursor) -> bool:
    """Return whether a tree is within `_DEEPEST` and `_WIDEST`; what is too small to reach beyond is not looked into."""
    depth = 0
    while True:
        node = cursor.node
        if node is not None and node.descendant_count + depth > _DEEPEST and cursor.goto_first_child():
            depth += 1
            if depth > _DEEPEST or (node.is_error and node.child_count > _WIDEST):
                return False
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return True
            depth -= 1
