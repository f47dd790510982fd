"""Files that a query names and that no index holds: whoever looks for one is told why it is not there."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.parts import Part
from appliance.codeintel.query.querylang import ParsedQuery
from appliance.codeintel.source.base import LeftOut

_FILE: Final = re.compile(r"[^\s*?\[\]]*[^\s/*?\[\]]\.[A-Za-z]\w{0,9}")  # a name with an ending, in folders or not
_MOST_NAMES: Final = 16
_MOST: Final = 3  # files that are named, of each part


def absent(query: ParsedQuery, parts: Sequence[Part]) -> list[str]:
    """Return a warning for each file of *parts* that *query* names, by its path or the end of it, and that was left out."""
    names = list(dict.fromkeys(_named(query)))[:_MOST_NAMES]
    if not names:
        return []
    return [_said(part, item) for part in parts for item in part.generation.left_out_named(names, limit=_MOST)]


def _named(query: ParsedQuery) -> Iterator[str]:
    for each in query.of("path"):
        if not each.negative and "." in each.value.rpartition("/")[2]:
            yield each.value.strip("/")
    for word in query.text.split():
        plain = word.strip("()[]{}<>,;:!?'`\"")
        if _FILE.fullmatch(plain):
            yield plain.strip("/")


def _said(part: Part, item: LeftOut) -> str:
    detail = f", {display(item.detail)}" if item.detail else ""
    return f"{display(item.path)} is left out of {part.label}: {item.reason}{detail}."
