"""Pages of lists: as many entries as fit an answer, and a cursor that goes on exactly behind them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypedDict, TypeVar

from appliance.codeintel.results import Freshness
from appliance.mcp.arguments import Limited, Paged
from appliance.mcp.cursors import Cursor, digest, opened, unchanged
from appliance.mcp.replies import Reply, told
from appliance.mcp.results import Answered, Listed
from appliance.mcp.texts import text_of

T = TypeVar("T")

CHARACTERS_A_TOKEN: Final = 3.3  # of code, as models count
MOST_LINES: Final = 2_000  # of a file, in one answer

_LONGEST_TEXT: Final = 1_200  # characters of one entry's lines
_SHARE: Final = 6  # an entry's lines take at most one part in so many of an answer
_PAGE: Final = {"cursor", "limit", "max_tokens"}  # arguments that do not change which list is meant


class Listing(Protocol):
    """A page of a list, as the services give it."""

    @property
    def total(self) -> int:
        """How many entries there are in all."""

    @property
    def freshness(self) -> tuple[Freshness, ...]:
        """Which state of each repo was read."""


class Rest(TypedDict):
    """The members of a `Listed` that say what is not on the page."""

    total: int
    truncated: bool
    next_cursor: str
    hint: str


class Page:
    """The page of a list that is asked for, and how long it may be."""

    def __init__(self, tool: str, asked: Paged) -> None:
        self.limit = asked.limit if isinstance(asked, Limited) else MOST_LINES
        self.characters = characters(asked.max_tokens)
        self.text = longest_text(asked.max_tokens)
        self._cursor = opened(asked.cursor, question=digest(tool, asked.model_dump(exclude=_PAGE)))

    @property
    def offset(self) -> int:
        """How many entries come before it."""
        return self._cursor.offset

    async def fitted(
        self,
        listing: Listing,
        items: Sequence[T],
        make: Callable[[Sequence[T], Rest], Listed],
        *,
        hint: str,
        order: Sequence[object] = (),
    ) -> Reply:
        """Return what *make* makes of as many of *items*, which begin at the offset, as fit: at least of one.

        *hint* says how to narrow a list that goes on; *order* is what its order depends on, beside the index.
        """
        read = [(fresh.repo, fresh.generation, fresh.commit) for fresh in listing.freshness]
        state = digest(read, listing.total, list(order))  # a graph is published behind its index, and changes the total
        unchanged(self._cursor, state=state)

        def made(some: Sequence[T]) -> Listed:
            all_of_it = len(some) == len(items)  # then entries that could not be shown are behind us too
            end = min(self.offset + (self.limit if all_of_it else len(some)), listing.total)
            more = end < listing.total
            cursor = Cursor(end, self._cursor.question, state).encoded() if more else ""
            return make(some, Rest(total=listing.total, truncated=more, next_cursor=cursor, hint=hint if more else ""))

        return await fitted(items, made, most=self.characters)


def characters(tokens: int) -> int:
    """Return how many characters about *tokens* tokens of code are."""
    return int(tokens * CHARACTERS_A_TOKEN)


def longest_text(tokens: int) -> int:
    """Return how many characters of its lines one entry of an answer of *tokens* tokens may show."""
    return min(_LONGEST_TEXT, characters(tokens) // _SHARE)


def fitting(items: Sequence[T], make: Callable[[Sequence[T]], Answered], *, most: int) -> Sequence[T]:
    """Return as many of the first of *items* as *make* an answer of at most *most* characters, its text with it; or one."""
    low, high = min(1, len(items)), len(items)
    while low < high:
        middle = (low + high + 1) // 2
        if _size(make(items[:middle])) <= most:
            low = middle
        else:
            high = middle - 1
    return items[:low]


async def fitted(items: Sequence[T], make: Callable[[Sequence[T]], Answered], *, most: int) -> Reply:
    """Return the reply that says in both forms what *make* makes of as many of *items* as fit; the event loop stays free."""

    def said() -> Reply:
        result = make(fitting(items, make, most=most))
        return told(result, text_of(result))

    return await asyncio.to_thread(said)


def _size(result: Answered) -> int:
    return len(result.model_dump_json()) + len(text_of(result))
