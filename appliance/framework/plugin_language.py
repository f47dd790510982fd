"""What a plugin says of a language, checked as far as that goes without its grammar."""

import re
from collections.abc import Set as AbstractSet
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.parse.added import AddedLanguage
from appliance.codeintel.parse.languages import ENDINGS
from appliance.contracts.languages import LanguageDefinition
from appliance.errors import Conflict, InvalidInput, LimitExceeded

LONGEST_QUERY: Final = 20_000  # characters
MOST_ENDINGS: Final = 32

_ENDING: Final = re.compile(r"[a-z0-9][a-z0-9_+-]{0,31}")
_PART: Final = r"[A-Za-z_]\w{0,99}"
_GRAMMAR: Final = re.compile(rf"{_PART}(?:\.{_PART}){{0,9}}(?::{_PART})?", re.ASCII)


def checked(definition: LanguageDefinition, *, taken: AbstractSet[str]) -> AddedLanguage:
    """Return the language of *definition*, whose name is one; *taken* are the endings of other plugins' languages.

    Raise `InvalidInput` or `LimitExceeded` for what is none, `Conflict` for an ending that another language has.
    """
    endings, grammar = _endings(definition, taken), definition.grammar
    if not isinstance(grammar, str) or not _GRAMMAR.fullmatch(grammar):
        raise InvalidInput(
            f"The grammar of the language {definition.name} is no module: {display(repr(grammar))[:80]}.",
            remedy="Name the module of a tree-sitter grammar, or `module:function`.",
        )
    return AddedLanguage(definition.name, endings, grammar, _query(definition))


def _endings(definition: LanguageDefinition, taken: AbstractSet[str]) -> tuple[str, ...]:
    given = definition.extensions
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= MOST_ENDINGS:
        raise InvalidInput(f"The language {definition.name} needs a tuple of 1 to {MOST_ENDINGS} endings of files.")
    endings = [ending.lower().removeprefix(".") if isinstance(ending, str) else "" for ending in given]
    for ending, written in zip(endings, given, strict=True):
        if not _ENDING.fullmatch(ending):
            raise InvalidInput(
                f"The language {definition.name} names {display(repr(written))[:80]}, which is no ending of files.",
                remedy="An ending is what stands behind the last dot: 1 to 32 of a-z, 0-9, +, - and _.",
            )
        if ending in ENDINGS or ending in taken:
            raise Conflict(f"Files that end in .{ending} have a language already.", remedy="Leave that ending out.")
    return tuple(dict.fromkeys(endings))


def _query(definition: LanguageDefinition) -> str:
    query = definition.definitions
    if not isinstance(query, str) or not query.isascii():
        raise InvalidInput(f"The query for definitions of {definition.name} is no text of ASCII characters.")
    if len(query) > LONGEST_QUERY:
        raise LimitExceeded(
            f"The query for definitions of {definition.name} has {len(query):,} characters; {LONGEST_QUERY:,} are allowed.",
            remedy="Leave out what captures no definition.",
        )
    return query
