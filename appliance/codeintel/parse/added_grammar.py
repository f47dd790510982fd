"""The grammar of a language that a plugin adds: native code of others, which only processes load that may die of it."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final, get_args

from tree_sitter import (
    LANGUAGE_VERSION,
    MIN_COMPATIBLE_LANGUAGE_VERSION,
    Language,
    Node,
    Parser,
    Query,
    QueryCursor,
    QueryError,
)

from appliance.codeintel.facts import SymbolKind
from appliance.codeintel.parse.added import AddedLanguage
from appliance.codeintel.parse.grammars import Captures, sane_root
from appliance.errors import InvalidInput

KINDS: Final[tuple[str, ...]] = get_args(SymbolKind)
_DEFINES: Final = "definition."
_REFERENCES: Final = {
    "call": "r.call", "send": "r.call", "implementation": "r.inherit",
    "class": "r.type", "interface": "r.type", "type": "r.type",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """What a query tells of a definition: the node of its name, and the comments that speak of it."""

    name: Node | None
    docs: tuple[Node, ...]


NOTHING_TOLD: Final[Mapping[int, Told]] = MappingProxyType({})
_NOTHING: Final = Told(None, ())


@dataclass(frozen=True, slots=True)
class AddedGrammar:
    """A parser, and the query for definitions."""

    parser: Parser
    query: Query

    def root(self, source: bytes) -> Node:
        """Parse *source*, which is UTF-8, and return the root of its tree; raise `MalformedContent` as for any other."""
        return sane_root(self.parser.parse(source))

    def captures(self, root: Node) -> tuple[Captures, Mapping[int, Told]]:
        """Return definitions and references below *root* as our own queries capture them, and what is told of the former."""
        captures: Captures = {}
        told: dict[int, Told] = {}
        for _, match in QueryCursor(self.query).matches(root):
            name, docs = next(iter(match.get("name", ())), None), tuple(match.get("doc", ()))
            for capture, nodes in match.items():
                label, _, kind = capture.partition(".")
                if label == "reference" and name is not None:
                    captures.setdefault(_REFERENCES.get(kind, "r.name"), []).append(name)
                if label != "definition":
                    continue
                captures.setdefault(f"d.{kind}", []).extend(nodes)
                for node in nodes:
                    known = told.get(node.id, _NOTHING)
                    told[node.id] = Told(known.name or name, max(known.docs, docs, key=len))
        return captures, told


@cache
def added_grammar(language: AddedLanguage) -> AddedGrammar:
    """Return the grammar of *language*; raise `InvalidInput` with what is wrong with it, or with its query."""
    loaded = _loaded(language)
    try:
        query = Query(loaded, language.definitions)
    except QueryError as exc:
        raise InvalidInput(
            f"The query for definitions of {language.name} does not compile: {exc}.",
            remedy="It is written in the query language of tree-sitter, over the nodes of this grammar.",
        ) from exc
    kinds = [capture.removeprefix(_DEFINES) for capture in _captures(query) if capture.startswith(_DEFINES)]
    if not kinds:
        raise InvalidInput(
            f"The query for definitions of {language.name} captures none.",
            remedy="Capture each as `@definition.KIND`, and within it the `@name`.",
        )
    for kind in kinds:
        if kind not in KINDS:
            raise InvalidInput(
                f"The query for definitions of {language.name} captures {kind!r}, which is no kind of symbol.",
                remedy=f"There are {', '.join(KINDS)}.",
            )
    return AddedGrammar(Parser(loaded), query)


def _loaded(language: AddedLanguage) -> Language:
    if language.path and language.path not in sys.path:
        sys.path.append(language.path)  # behind everything else, so that it can take no module's place
    module, _, function = language.grammar.partition(":")
    function = function or "language"
    try:
        make = getattr(importlib.import_module(module), function)
    except ImportError as exc:
        raise InvalidInput(
            f"The grammar of {language.name}, the module {module}, cannot be imported: {exc}.",
            remedy="Install it beside the appliance, or into the folder of plugins.",
        ) from exc
    except AttributeError as exc:
        raise InvalidInput(
            f"The grammar of {language.name}, the module {module}, has no function `{function}`.",
            remedy="Name the module of a tree-sitter grammar, or `module:function`.",
        ) from exc
    try:
        loaded = Language(make())
    except (ValueError, TypeError) as exc:
        raise InvalidInput(
            f"What `{function}` of the module {module} gives is no grammar: {exc}.",
            remedy="Name the module of a tree-sitter grammar, or `module:function`.",
        ) from exc
    if not MIN_COMPATIBLE_LANGUAGE_VERSION <= loaded.abi_version <= LANGUAGE_VERSION:
        raise InvalidInput(
            f"The grammar of {language.name} is of the ABI version {loaded.abi_version}.",
            remedy=f"Install a build of it of one of {MIN_COMPATIBLE_LANGUAGE_VERSION} to {LANGUAGE_VERSION}.",
        )
    return loaded


def _captures(query: Query) -> Iterator[str]:
    return (query.capture_name(number) for number in range(query.capture_count))
