"""Rust's macros: what stands in them is read as the arguments of a call, where it can be."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.parse.grammars import grammar

_MOST_TRIES: Final = 5  # parses of one file
_LIBRARY: Final = frozenset({
    b"vec", b"println", b"print", b"eprintln", b"eprint", b"format", b"write", b"writeln", b"panic", b"assert", b"assert_eq",
    b"assert_ne", b"debug_assert", b"debug_assert_eq", b"debug_assert_ne", b"dbg", b"todo", b"unreachable",
})  # fmt: skip
_LIST: Final = b"vec"


def opened(root: Node, source: bytes) -> tuple[Node, frozenset[int]]:
    """Return the tree of *source* with macros as calls, and where the names of these macros end.

    ``name!(a, b)`` is parsed as ``name (a, b)``, and ``vec![a, b]`` as a list. What is no expression then stays a macro, of
    which nothing is known but that it is called.
    """
    spots = _spots(root, source)
    for tries in range(_MOST_TRIES):
        if not spots:
            break
        tree = grammar("rust").root(_blanked(source, spots))
        wrong = _errors(tree)
        kept = {end: whole for end, whole in spots.items() if not any(whole[0] <= at < whole[1] for at in wrong)}
        if len(kept) == len(spots):
            return tree, frozenset(spots)
        spots = kept if tries + 2 < _MOST_TRIES else _known(kept, source)
    return root, frozenset()


def _known(spots: dict[int, tuple[int, int]], source: bytes) -> dict[int, tuple[int, int]]:
    """Return those *spots* that are macros of the language's own library, which take expressions."""
    return {end: whole for end, whole in spots.items() if source[whole[0] : end] in _LIBRARY}


def _spots(root: Node, source: bytes) -> dict[int, tuple[int, int]]:
    """Return the macros that may be calls: where their names end, and from where to where they reach."""
    spots: dict[int, tuple[int, int]] = {}
    waiting = [(root, "")]
    while waiting:
        node, around = waiting.pop()
        if node.type == "macro_invocation":
            if around == "declaration_list":
                continue  # an expression cannot stand there
            name, given = node.child_by_field_name("macro"), node.named_children[-1]
            if name is not None and given.type == "token_tree" and _may_be_call(name, given, source):
                spots[name.end_byte] = (node.start_byte, node.end_byte)
                waiting.append((given, node.type))
        elif node.type == "token_tree":
            _within(node, source, spots)
            waiting += ((child, node.type) for child in node.named_children if child.type == "token_tree")
        elif node.type != "macro_definition":
            waiting += ((child, node.type) for child in node.named_children)
    return spots


def _within(tree: Node, source: bytes, spots: dict[int, tuple[int, int]]) -> None:
    """Find the macros in the tokens of another one."""
    children = tree.children
    for name, mark, given in zip(children, children[1:], children[2:], strict=False):
        if (
            name.type == "identifier"
            and mark.type == "!"
            and given.type == "token_tree"
            and _may_be_call(name, given, source)
        ):
            spots[name.end_byte] = (name.start_byte, given.end_byte)


def _may_be_call(name: Node, given: Node, source: bytes) -> bool:
    bracket = source[given.start_byte : given.start_byte + 1]
    return bracket == b"(" or (bracket == b"[" and source[name.start_byte : name.end_byte] == _LIST)


def _blanked(source: bytes, spots: dict[int, tuple[int, int]]) -> bytes:
    made = bytearray(source)
    for end, (start, _) in spots.items():
        made[end] = ord(" ")
        if source[start:end] == _LIST:
            made[start:end] = b"   "
    return bytes(made)


def _errors(root: Node) -> list[int]:
    """Return where the tree of *root* has errors."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found.append(node.start_byte)
        if node.has_error:
            waiting += node.children
    return found
