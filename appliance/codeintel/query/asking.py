"""What every question to the graph begins and ends with: the code that it is asked of, and what its answer rests on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from appliance.base.clock import Clock
from appliance.base.paths import display
from appliance.codeintel.citations import Texts
from appliance.codeintel.query.draft import Code
from appliance.codeintel.query.nearest import nearest
from appliance.codeintel.query.parts import Part, dated, lags, open_parts, repos_of, staleness, texts_of
from appliance.codeintel.results import Freshness, Scope
from appliance.codeintel.store.generations import Generations, Lag
from appliance.errors import InvalidInput, NotFound

MOST_LISTED: Final = 100  # on one page
_BEHIND_S: Final = 0.05
_ALIKE: Final = 0.6


class Rest(TypedDict):
    """The members of a `Listing`."""

    total: int
    truncated: bool
    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...]
    timings: dict[str, float]


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted."""

    limit: int
    offset: int
    most: int = MOST_LISTED

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= self.most or self.offset < 0:
            said = f"A page has 1 to {self.most} entries and starts at 0 or later."
            raise InvalidInput(said, limit=self.limit, offset=self.offset)

    @property
    def end(self) -> int:
        """What is behind the page."""
        return self.offset + self.limit

    @property
    def part(self) -> slice:
        """Where the page is in the whole list."""
        return slice(self.offset, self.end)

    def parts(self, lengths: Iterable[int]) -> Iterator[slice]:
        """Yield for each of the lists of these *lengths*, one behind the other, what the page has of it."""
        begin = 0
        for length in lengths:
            yield slice(max(0, self.offset - begin), max(0, self.end - begin))
            begin += length


@dataclass(frozen=True, slots=True)
class Asked:
    """The repos that one question is about, each held at one generation from its beginning to its end."""

    parts: tuple[Part, ...]
    code: tuple[Code, ...]
    texts: Texts
    warnings: tuple[str, ...]
    lags: tuple[Lag, ...]
    clock: Clock
    start: float

    def rest(self, *, total: int, end: int, warnings: Iterable[str]) -> Rest:
        """Return what a list of *total* entries rests on, of which those before *end* are given by now."""
        parts = dated(self.parts, self.lags, within=_BEHIND_S)
        return Rest(
            total=total,
            truncated=end < total,
            freshness=tuple(part.freshness for part in parts),
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings, *staleness(parts)))),
            timings={"total_ms": round((self.clock.monotonic() - self.start) * 1000, 3)},
        )


def ask(generations: Generations, clock: Clock, scope: Scope) -> Asked:
    """Open what is published in *scope*; raise `NotFound` when nothing of it is indexed."""
    start = clock.monotonic()
    parts, warnings = open_parts(generations, repos_of(generations, scope), branches=scope.branches)
    labelled = len(parts) > 1
    code = (Code(part.generation, part.repo.name, f"{part.label}: " if labelled else "") for part in parts)
    return Asked(
        parts=tuple(parts),
        code=tuple(code),
        texts=texts_of(parts, generations),
        warnings=tuple(warnings),
        lags=tuple(lags(parts, generations)),
        clock=clock,
        start=start,
    )


def unknown(name: str, code: Sequence[Code], *, what: str) -> NotFound:
    """Return the error that nothing which *what* says is called *name*, with the names that are near."""
    last = name.rpartition(".")[2] or name
    known = {near for each in code for near in each.generation.symbols.near(last)}
    near = nearest(last, sorted(known - {last}), least=_ALIKE)
    shown = ", ".join(display(each) for each in near)
    remedy = f"Names that are near: {shown}." if near else "Search for it: `skellig search`."
    if unread := sum(each.generation.info.problems for each in code):
        remedy += f" The syntax of {unread:,} of the files could not be used: what those define is not known."
    if torn := sum(each.generation.info.torn for each in code):
        remedy += f" In {torn:,} of the files there are places that are no syntax: what those define may be missing."
    return NotFound(f"{what} is named {display(name)!r}.", remedy=remedy, near=tuple(map(display, near)))
