"""How much of a file its grammar could not read."""

from tree_sitter import Node

_WHOLE = 100  # percent


def torn_pieces(root: Node) -> int:
    """Return how many pieces below *root* are no syntax, or were put in for it."""
    count, waiting = 0, [root]
    while waiting:
        at = waiting.pop()
        count += at.is_error or at.is_missing
        waiting += [child for child in at.children if child.has_error]
    return count


def torn_percent(root: Node) -> int:
    """Return the percentage of *root*'s bytes that stand in errors of its syntax: 0 without an error, else 1 to 100.

    What the grammar puts in where only a sign is missing is no error: nothing is lost by it.
    """
    if not root.has_error:
        return 0
    errors, waiting = list[int](), [root]
    while waiting:
        node = waiting.pop()
        if node.is_error:
            errors.append(node.end_byte - node.start_byte)
        else:
            waiting += [child for child in node.children if child.has_error]
    share = _WHOLE * sum(errors) // max(1, root.end_byte - root.start_byte)
    return min(_WHOLE, max(1, share)) if errors else 0
