"""JavaScript's names: which scope each belongs to, and what it holds at the point that the walk has reached."""

from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.builder import Builder, OpenScope
from appliance.codeintel.parse.flow.env import Env

_LONGEST_KEY: Final = 60
_DEEPEST: Final = 150  # steps down, of about three of Python's calls each
DECLARED: Final = frozenset({
    "function_declaration", "generator_function_declaration", "function_signature", "class_declaration",
    "abstract_class_declaration", "interface_declaration", "type_alias_declaration", "enum_declaration", "internal_module",
})  # fmt: skip
VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})


@dataclass(slots=True)
class Block:
    """What stands between braces: its names, and how each is called in the *scope* whose it is.

    A name of a block inside of a function is called by its place as well, so that it is told from one of the function's.
    """

    scope: int
    outer: "Block | None" = None
    nested: bool = False
    names: dict[str, str] = field(default_factory=dict)


class Names:
    """Looks names up in blocks, functions and the module."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.builder = Builder()
        self.scope = 0
        self.env = Env(self.builder)
        self.block = Block(0)
        self.this = UNKNOWN
        self.home: int | None = None  # the class that `super` is seen from
        self.depth = 0
        self.generics: dict[str, int] = {}  # parameters of types, with what they are at least
        self.merged: dict[tuple[int, str], int] = {}  # types that have the name of a value

    def too_deep(self) -> bool:
        """Return whether this is where the walk turns back, and note that it does."""
        self.builder.cut = self.builder.cut or self.depth > _DEEPEST
        return self.depth > _DEEPEST

    def text(self, node: Node | None) -> str:
        """Return the source of *node*, "" for None."""
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def find(self, name: str) -> tuple[int, str] | None:
        """Return the scope that *name* belongs to here and how it is called there, None if no block declares it."""
        at: Block | None = self.block
        while at is not None:
            own = at.names.get(name)
            if own is not None:
                return at.scope, own
            at = at.outer
        return None

    def named(self, name: str) -> int:
        """Return the term of what *name* holds here."""
        found = self.find(name)
        if found is None:
            return self.builder.term(Op.READ, self.block.scope, text=name)
        scope, own = found
        held = self.env.get(own) if scope == self.scope else None
        if held is not None and own not in self.builder.scopes[scope].shared:
            return held
        return self.builder.join((held or UNKNOWN, self.builder.term(Op.READ, scope, text=own)))

    def use(self, name: str, node: Node) -> None:
        """Note that *name* is read at *node*."""
        scope, own = self.find(name) or (None, name)
        self.builder.use(self.block.scope, own, node.start_point.row + 1, of=scope)

    def plain(self, name: str) -> int:
        """Return the term of what *name* holds in the end, wherever it is read."""
        scope, own = self.find(name) or (self.block.scope, name)
        return self.builder.term(Op.READ, scope, text=own)

    def bind(self, name: str, term: int) -> None:
        """Let *name*, in the block that declares it or else in the module, hold *term*."""
        scope, own = self.find(name) or (0, name)
        merged = self.merged.get((scope, own))
        if merged:
            term = self.builder.join((term, merged))
        self.builder.bind(scope, own, term, from_within=scope != self.scope)
        if scope == self.scope:
            self.env.set(own, term)

    def declare(self, name: str, *, of_function: bool = False) -> None:
        """Let *name* be one of this block's, or with *of_function* one of the function's around it."""
        block = self.block
        while of_function and block.nested and block.outer is not None:
            block = block.outer
        block.names.setdefault(name, name)

    def opened(self, node: Node, *, nested: bool) -> Block:
        """Return the block *node*, with the names that stand in it."""
        block = Block(self.block.scope, self.block, nested)
        self.scan(node, block, suffix=f"@{node.start_byte}" if nested else "")
        return block

    def scan(self, node: Node, block: Block, *, suffix: str) -> None:
        """Let *block* declare what the statements of *node* declare."""
        for child in node.named_children:
            kind = child.type
            if kind in DECLARED:
                name = self.text(child.child_by_field_name("name"))
                block.names[name] = name + suffix
            elif kind == "lexical_declaration" or (kind == "variable_declaration" and not suffix):
                for declarator in child.named_children:
                    for name in self.pattern_names(declarator.child_by_field_name("name")):
                        block.names[name] = name + suffix
            elif kind in {"export_statement", "ambient_declaration"}:
                self.scan(child, block, suffix=suffix)

    def pattern_names(self, node: Node | None) -> list[str]:
        """Return the names that the pattern *node* binds."""
        found: list[str] = []
        waiting = [node] if node else []
        while waiting:
            at = waiting.pop()
            kind = at.type
            if kind in {"identifier", "shorthand_property_identifier_pattern"}:
                found.append(self.text(at))
            elif kind in {"assignment_pattern", "object_assignment_pattern"}:
                waiting += at.children_by_field_name("left")
            elif kind == "pair_pattern":
                waiting += at.children_by_field_name("value")
            elif kind in {"object_pattern", "array_pattern", "rest_pattern"}:
                waiting += at.named_children
        return found

    def enter(self, scope: OpenScope) -> int:
        """Add *scope* and return its number."""
        self.builder.scopes.append(scope)
        return len(self.builder.scopes) - 1


def constant_key(node: Node | None, source: bytes) -> str:
    """Return how the constant *node* is called as a key, "" for what is not constant or too long."""
    if node is None or node.end_byte - node.start_byte > _LONGEST_KEY:
        return ""
    kind, text = node.type, source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    if kind == "number":
        return f"int:{text}" if text.isdigit() else ""
    if kind in {"string", "template_string"} and "\\" not in text and "${" not in text:
        return f"str:{text[1:-1]}" if len(text) > 2 else ""
    return ""


def first(node: Node) -> Node | None:
    """Return the first named child of *node* that is no comment, or None if it has none."""
    return next((child for child in node.named_children if child.type != "comment"), None)
