"""The kinds of edges and the ways in which each is known, and how a graph writes them down: as small numbers."""

from collections.abc import Mapping
from typing import Final

CALLS: Final = ("call", "decorator", "raise", "iter", "with", "get", "implied")
USES: Final = ("inherits", "implements", "overrides", "imports", "references", "tests", "defines")
HOWS: Final = ("name", "self", "type", "value", "protocol", "candidate")

FIRST_USE: Final = 32  # the kinds of calls are below it
KIND_NUMBERS: Final[Mapping[str, int]] = {
    **{kind: number for number, kind in enumerate(CALLS)},
    **{kind: number for number, kind in enumerate(USES, start=FIRST_USE)},
}
KINDS: Final[Mapping[int, str]] = {number: kind for kind, number in KIND_NUMBERS.items()}
HOW_NUMBERS: Final[Mapping[str, int]] = {how: number for number, how in enumerate(HOWS)}
