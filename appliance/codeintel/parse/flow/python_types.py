"""Python's annotations: what a value of the type that is written there can be."""

import re
from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import UNKNOWN, Op
from appliance.codeintel.parse.flow.python_calls import Calls
from appliance.codeintel.parse.flow.python_expressions import first

_QUOTED: Final = re.compile(r"""[rRuU]?["']([\w. |]+)["']""")  # names, dotted or not, with bars between them
_WRAPPERS: Final = frozenset({
    "Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "Awaitable", "Coroutine", "ReadOnly",
})  # fmt: skip
_SEQUENCES: Final = frozenset({
    "list", "List", "Sequence", "MutableSequence", "Iterable", "Iterator", "AsyncIterable", "AsyncIterator", "set", "Set",
    "frozenset", "FrozenSet", "AbstractSet", "tuple", "Tuple", "Generator", "AsyncGenerator", "Collection", "deque",
})  # fmt: skip
_MAPPINGS: Final = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "DefaultDict"})
_SILENT: Final = frozenset({"None", "Any", "object", "Callable", "Literal", "Self", "TypeVar", "NoReturn", "Never"})


class Types(Calls):
    """Reads annotations as well."""

    _noted = False  # whether the names of the annotation that is being read are noted already

    def declared(self, node: Node | None) -> int:
        """Return the term of an instance of the type that *node* names, or UNKNOWN if it says nothing."""
        if node is None:
            return UNKNOWN
        kind = node.type
        if kind == "type":
            return self._annotation(node)
        if kind in {"identifier", "attribute"}:
            silent = self._last(node) in _SILENT
            return UNKNOWN if silent else self.builder.term(Op.INSTANCE, self.read(node))
        if kind == "string":
            return self._quoted(node)
        if kind in {"union_type", "binary_operator"}:
            return self.builder.join(self.declared(child) for child in node.named_children)
        if kind in {"generic_type", "subscript"} and node.named_child_count:
            return self._generic(node)
        return UNKNOWN

    def _annotation(self, node: Node) -> int:
        outer, self._noted = self._noted, True
        if not outer:
            self._note(node)
        term = self.declared(first(node))
        self._noted = outer
        return term

    def _note(self, node: Node) -> None:
        """Note every name that stands in an annotation, also in one that says nothing of what a value is."""
        waiting = [node]
        while waiting:
            at = waiting.pop()
            if at.type in {"identifier", "attribute"}:
                self.read(at)
            elif at.type == "string" and (match := _QUOTED.fullmatch(self.text(at))):
                for name in match[1].split("|"):
                    self.note_use(name.strip().partition(".")[0], at)
            else:
                waiting += at.named_children

    def _generic(self, node: Node) -> int:
        base, *rest = node.named_children
        given = [each for child in rest for each in (child.named_children if child.type == "type_parameter" else [child])]
        name = self._last(base)
        if name in {"type", "Type"}:
            return self._class(given[0]) if given else UNKNOWN
        if name == "Annotated":
            del given[1:]
        if name in _WRAPPERS:
            return self.builder.join(self.declared(each) for each in given)
        if name in _SEQUENCES or name in _MAPPINGS:
            held = given[-1:] if name in _MAPPINGS else given[:1] if name.endswith("Generator") else given
            value = self.builder.join(self.declared(each) for each in held)
            kind = "dict" if name in _MAPPINGS else "list"
            return self.builder.term(Op.MAKE, text=kind, b=node.start_byte, items=(UNKNOWN, value))
        return UNKNOWN if name in _SILENT else self.builder.term(Op.INSTANCE, self.read(base))

    def _class(self, node: Node) -> int:
        inner = first(node) if node.type == "type" else node
        return self.read(inner) if inner and inner.type in {"identifier", "attribute"} else UNKNOWN

    def _quoted(self, node: Node) -> int:
        match = _QUOTED.fullmatch(self.text(node))
        names = [name.strip() for name in match[1].split("|")] if match else []
        return self.builder.join(self._dotted(name) for name in names if name.rpartition(".")[2] not in _SILENT)

    def _dotted(self, name: str) -> int:
        first, *rest = name.split(".")
        term = self.named(first)
        for each in rest:
            term = self.builder.term(Op.ATTR, term, text=each)
        return self.builder.term(Op.INSTANCE, term)

    def _last(self, node: Node) -> str:
        return self.text(node).rpartition(".")[2]
