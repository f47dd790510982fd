"""What a definition is called: its own name, and the type or table that it says it belongs to."""

import re
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from appliance.codeintel.parse.text import SourceText

_LONGEST = 200
_MARKS = "\"'`&*$"
_PARAMETERS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)")
_EXPORTS = re.compile(r"^(?:module\.)?exports\.|^this\.|^window\.|^globalThis\.")
_TYPES = frozenset({"int", "void", "char", "long", "short", "unsigned", "signed", "float", "double", "bool"})
_NAME_FIELDS = ("name", "left", "key", "pattern", "alias", "property")


class Name(NamedTuple):
    """*prefix* is dotted: the receiver type of a Go method, the class of a C++ method defined outside of it, or ""."""

    name: str
    prefix: str = ""


def name_of(language: str, node: Node, text: SourceText) -> Name | None:
    """Return what *node*, a definition, is called, or None if it has no name."""
    kind = node.type
    special = _SPECIAL.get((language, kind)) or _SPECIAL.get(("", kind))
    return special(node, text) if special else split_name(_named(node), text)


def type_name(node: Node, text: SourceText) -> str:
    """Return the dotted name of the type that a Rust ``impl`` or a Swift ``extension`` adds to."""
    target = node.child_by_field_name("type") or node.child_by_field_name("name")
    found = split_name(target, text)
    return ".".join(filter(None, (found.prefix, found.name))) if found else ""


def _named(node: Node) -> Node | None:
    for field in _NAME_FIELDS:
        if found := node.child_by_field_name(field):
            return found
    return None


def split_name(node: Node | None, text: SourceText) -> Name | None:
    """Take the name that *node* is apart: ``ns::Foo<T>::bar``, ``M.foo`` and ``M:foo`` all end in their own name."""
    if node is None:
        return None
    start, end = node.byte_range
    whole = text.cut(start, min(end, start + _LONGEST)).strip()
    if whole.isidentifier():
        return Name(whole)
    head, operator, tail = whole.partition("operator")
    if operator and not tail[:1].isalnum() and not tail.startswith("_"):
        prefix = _plain(head).strip(".")
        return Name("operator" + "".join(tail.split()), prefix)
    own_dollar = node.type.endswith("identifier")  # as JavaScript's: it is no mark of a variable
    prefix, _, name = _plain(whole, marks="\"'`&*" if own_dollar else _MARKS).rpartition(".")
    return Name(name, prefix) if name else None


def _plain(name: str, *, marks: str = _MARKS) -> str:
    while "<" in name or "[" in name:
        shorter = _PARAMETERS.sub("", name)
        if shorter == name:
            name = re.split(r"[<\[]", name)[0]
            break
        name = shorter
    dotted = name.replace("::", ".").replace("->", ".").replace(":", ".").replace("\\", ".")
    return "".join(dotted.split()).strip(marks)


def _declarator(node: Node, text: SourceText) -> Name | None:
    """Follow C's declarators inwards: ``int (*table[])(void)`` declares *table*."""
    found: Node | None = node
    for _ in range(30):
        if found is None:
            return None
        inner = found.child_by_field_name("declarator")
        if inner is None:
            if found.type not in {"parenthesized_declarator", "reference_declarator", "attributed_declarator"}:
                break
            inner = next(
                (child for child in found.named_children if child.type.endswith(("declarator", "identifier"))), None
            )
        found = inner
    if found is None or found == node or not _is_name(found):
        return None
    return split_name(behind_macro(found, text.cut(found.start_byte, found.end_byte)), text)


def behind_macro(name: Node, written: str) -> Node:
    """Return the name that is declared where *name*, which is *written* so, is what the grammar takes for it.

    In ``API int (f)(void)`` of a macro ``API`` it takes the type for the name.
    """
    around = name.parent
    listed = around.child_by_field_name("parameters") if around is not None and written in _TYPES else None
    shown = listed.named_children if listed is not None else []
    kind = shown[0].child_by_field_name("type") if len(shown) == 1 and shown[0].named_child_count == 1 else None
    return kind if kind is not None and kind.type == "type_identifier" else name


def _is_name(node: Node) -> bool:
    return node.type.endswith(("identifier", "_name")) or node.type == "operator_cast"


def _go_method(node: Node, text: SourceText) -> Name | None:
    found, receiver = split_name(node.child_by_field_name("name"), text), node.child_by_field_name("receiver")
    match = _RECEIVER.match(text.cut(receiver.start_byte, receiver.end_byte)[:_LONGEST]) if receiver else None
    return Name(found.name, match[1]) if found and match else found


def _assigned(node: Node, text: SourceText) -> Name | None:
    """``exports.f``, ``Foo.prototype.f`` and ``this.f`` name *f*; a whole ``module.exports`` is called *default*."""
    left = node.child_by_field_name("left")
    if left is None:
        return None
    whole = text.cut(left.start_byte, min(left.end_byte, left.start_byte + _LONGEST))
    if whole in {"module.exports", "exports"}:
        right = node.child_by_field_name("right")
        if right is not None and right.type == "class" and right.child_by_field_name("name"):
            return None  # a definition of its own
        return (split_name(right.child_by_field_name("name"), text) if right else None) or Name("default")
    prefix, _, name = _EXPORTS.sub("", whole).replace(".prototype.", ".").rpartition(".")
    return Name(name, prefix) if name.isidentifier() or name.startswith("$") else None


def _fixed(name: str) -> Callable[[Node, SourceText], Name | None]:
    def named(node: Node, text: SourceText) -> Name | None:
        return split_name(node.child_by_field_name("name"), text) or Name(name)

    return named


def _kotlin_alias(node: Node, text: SourceText) -> Name | None:
    return split_name(node.child_by_field_name("type"), text)


def _lua_assigned(node: Node, text: SourceText) -> Name | None:
    variables = node.named_child(0)
    return split_name(variables.child_by_field_name("name"), text) if variables else None


_SPECIAL: dict[tuple[str, str], Callable[[Node, SourceText], Name | None]] = {
    ("go", "method_declaration"): _go_method,
    ("kotlin", "companion_object"): _fixed("Companion"),
    ("kotlin", "secondary_constructor"): _fixed("constructor"),
    ("kotlin", "type_alias"): _kotlin_alias,
    ("swift", "init_declaration"): _fixed("init"),
    ("lua", "assignment_statement"): _lua_assigned,
    ("", "assignment_expression"): _assigned,
}
for _language in ("c", "cpp"):
    for _type in ("function_definition", "declaration", "field_declaration", "type_definition"):
        _SPECIAL[_language, _type] = _declarator
for _type in ("arrow_function", "function_expression", "class", "object"):
    _SPECIAL["", _type] = _fixed("default")
