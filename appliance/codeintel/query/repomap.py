"""A map of the code: the definitions that most of it leans on, file by file, within a budget of tokens."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from appliance.base.paths import display
from appliance.codeintel.query.asking import Asked
from appliance.codeintel.query.calls import unfollowed
from appliance.codeintel.query.draft import CALLABLES, CLASSES, Code
from appliance.codeintel.query.outline import entries_of, file_of
from appliance.codeintel.query.ranks import Ranker, Ranks, focused
from appliance.codeintel.results import MapFile, RepomapResponse
from appliance.codeintel.store.symbols import SymbolRow

CHARACTERS_A_TOKEN: Final = 3.3
_KINDS: Final = CLASSES | CALLABLES | {"macro", "module", "namespace"}
_LONGEST_HEAD: Final = 100
_MOST_RANKED: Final = 4000  # definitions that are looked up
_MOST_MISSED: Final = 20  # that do not fit any more, before the map is full


def repomap(asked: Asked, ranker: Ranker, *, tokens: int, focus: Sequence[str]) -> RepomapResponse:
    """Return the files and definitions that matter most, in about so many *tokens*; raise as `focused` does.

    What has nothing of *focus* comes behind what has some: ranks tell only how much of the same code leans on a thing.
    """
    held = focused(asked.code, focus)
    ranked = [(code, ranker.ranks(code, of)) for code, of in zip(asked.code, held, strict=True)]
    behind = frozenset(id(code.generation) for code, of in zip(asked.code, held, strict=True) if focus and not of)
    draft = _Draft(int(tokens * CHARACTERS_A_TOKEN), behind)
    best = sorted(
        (each for code, ranks in ranked for each in _best(code, ranks)),
        key=lambda each: (id(each[1].generation) in behind, -each[0]),
    )
    for _, code, row in best:
        if not draft.add(code, row):
            break
    files = draft.files(ranked)
    text = draft.text(files)
    total = sum(len(code.generation.files) for code in asked.code)
    said = [f"{part.label}: {what}" for part in asked.parts for what in unfollowed(part.generation)]
    return RepomapResponse(
        files=files,
        text=text,
        tokens=math.ceil(len(text) / CHARACTERS_A_TOKEN),
        budget=tokens,
        **asked.rest(total=total, end=len(files), warnings=said),
    )


def _best(code: Code, ranks: Ranks) -> Iterator[tuple[float, Code, SymbolRow]]:
    symbols = np.flatnonzero(ranks.ids >= 0)
    top = symbols[np.argsort(-ranks.rank[symbols], kind="stable")[:_MOST_RANKED]]
    rows = code.generation.symbols.rows(int(number) for number in ranks.ids[top])
    for rank, row in zip(ranks.rank[top], rows, strict=True):
        if row.kind in _KINDS:
            yield float(rank), code, row


@dataclass(slots=True)
class _Draft:
    """Lines of a map, as long as there is room for them."""

    left: int  # characters
    behind: AbstractSet[int]  # generations that come last
    missed: int = 0
    rows: dict[tuple[int, str], dict[int, SymbolRow]] = field(default_factory=lambda: defaultdict(dict))
    code: dict[int, Code] = field(default_factory=dict)

    def add(self, code: Code, row: SymbolRow) -> bool:
        """Take *row* in, with what it stands in, if that fits; return whether more may."""
        key = (id(code.generation), row.path)
        held = self.rows.get(key, {})
        around = _around(code, row)
        fresh = [each for each in around if each.id not in held]
        cost = sum(len(_line(0, 3, each.signature or each.qualname)) + 1 for each in fresh)
        cost += 0 if held else len(display(row.path)) + len(code.label) + 1
        if cost > self.left:
            self.missed += 1
            return self.missed < _MOST_MISSED
        self.left -= cost
        self.code[key[0]] = code
        self.rows[key] |= {each.id: each for each in fresh}
        return True

    def files(self, ranked: Sequence[tuple[Code, Ranks]]) -> tuple[MapFile, ...]:
        """Return what was taken in, the files with the highest ranks first but for those that are behind."""
        shares = {id(code.generation): np.bincount(ranks.file, weights=ranks.rank) for code, ranks in ranked}
        found = list[tuple[bool, MapFile]]()
        for (code, path), rows in self.rows.items():
            item = self.code[code]
            share = float(shares[code][item.generation.files.by_path[path]]) / len(ranked)
            inside = sorted(rows.values(), key=lambda row: (row.start_line, row.id))
            found.append((code in self.behind, MapFile(file_of(item, path), round(share, 6), tuple(entries_of(inside)))))
        return tuple(each for _, each in sorted(found, key=lambda pair: (pair[0], -pair[1].rank, pair[1].file.path)))

    def text(self, files: Sequence[MapFile]) -> str:
        """Return *files* as one text."""
        several = len(self.code) > 1
        lines = []
        for each in files:
            lines.append(f"{each.file.repo_name}: {display(each.file.path)}" if several else display(each.file.path))
            lines += [_line(entry.start_line, entry.depth, entry.signature or entry.symbol) for entry in each.entries]
        return "\n".join(lines)


def _around(code: Code, row: SymbolRow) -> list[SymbolRow]:
    """Return *row* and the definitions that it stands in."""
    found, at = [row], row
    while at.parent and len(found) < 5:
        parent = next((each for each in code.generation.symbols.in_file(row.path) if each.qualname == at.parent), None)
        if parent is None:
            break
        found.append(parent)
        at = parent
    return found


def _line(number: int, depth: int, head: str) -> str:
    return f"{number:>5} {'  ' * depth}{' '.join(head.split())[:_LONGEST_HEAD]}"
