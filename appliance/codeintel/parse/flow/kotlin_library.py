"""What the functions of Kotlin's library make of what they are given, as far as calls hang on it."""

from typing import Final

from tree_sitter import Node

from appliance.codeintel.flow import RESULT, UNKNOWN, Op
from appliance.codeintel.parse.flow.kotlin_names import KotlinNames
from appliance.codeintel.parse.flow.kotlin_types import child_of
from appliance.codeintel.parse.flow.typed import first

_GIVES_BASE: Final = frozenset({"apply", "also", "takeIf", "takeUnless"})
SCOPES: Final = frozenset({"apply", "run", "with", "let", "also", "use", "takeIf", "takeUnless"})
_LISTS: Final = frozenset({
    "listOf", "mutableListOf", "arrayListOf", "setOf", "mutableSetOf", "hashSetOf", "linkedSetOf", "sortedSetOf", "arrayOf",
    "sequenceOf", "flowOf", "listOfNotNull", "emptyList", "emptySet", "emptySequence", "emptyArray", "emptyFlow",
    "arrayOfNulls", "mutableStateOf", "mutableStateListOf", "lazyOf", "ArrayList", "HashSet", "LinkedHashSet", "LinkedList",
    "ArrayDeque", "MutableStateFlow", "MutableSharedFlow", "Channel", "buildList", "buildSet",
})  # fmt: skip
_MAPS: Final = frozenset({
    "mapOf", "mutableMapOf", "hashMapOf", "linkedMapOf", "sortedMapOf", "emptyMap", "HashMap", "LinkedHashMap", "TreeMap",
    "ConcurrentHashMap", "buildMap",
})  # fmt: skip


class KotlinLibrary(KotlinNames):
    """Knows the library's functions."""

    def made(self, name: str, node: Node, arguments: list[tuple[str, int]], base: int, *, lazily: bool) -> int:
        """Return the term of what the libraries' *name* makes of *arguments* or gives of *base*, UNKNOWN if nothing.

        *lazily*: the last of these is a lambda.
        """
        if lazily and name in _GIVES_BASE:
            return base or self.this
        terms = [term for _, term in arguments]
        if name in {"requireNotNull", "checkNotNull"} and terms:
            return terms[0]
        if lazily and (name in SCOPES or name == "lazy"):
            return self.attribute(terms[-1], RESULT)
        if base or (name not in _LISTS and name not in _MAPS) or not self.is_library(name) or self.find(name) is not None:
            return UNKNOWN
        kinds = child_of(node, "type_arguments") or child_of(first(node), "type_arguments")
        given = [self.declared(child) for child in kinds.named_children] if kinds is not None else []
        if name in _MAPS:
            key, value = given if len(given) == 2 else (self._keys(terms), self._values(terms))
            place = f"{node.start_byte}:{node.end_byte}"
            return self.builder.term(Op.MAKE, text="map", name=place, items=(key, value))
        return self.held("list", node, given or [each for each in terms if not self.builder.is_constant(each)])

    def _keys(self, pairs: list[int]) -> int:
        return self.builder.join(self.item(each, 0) for each in pairs)

    def _values(self, pairs: list[int]) -> int:
        return self.builder.join(self.item(each, 1) for each in pairs)
