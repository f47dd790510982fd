"""Cursors: where a page of a list begins, in a form that callers keep and give back."""

import base64
import hashlib
import json
from dataclasses import dataclass

from appliance.errors import Conflict, InvalidInput

_DIGEST = 8
_LARGEST_OFFSET = 1_000_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: behind *offset* entries of the list that *question* asked for, as *state* had it."""

    offset: int = 0
    question: str = ""
    state: str = ""

    def encoded(self) -> str:
        """Return the cursor as callers keep it."""
        return base64.urlsafe_b64encode(f"{self.offset}.{self.question}.{self.state}".encode()).decode().rstrip("=")


def digest(*parts: object) -> str:
    """Return a short name for *parts*: equal ones have one name."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_DIGEST]


def opened(cursor: str, *, question: str) -> Cursor:
    """Return *cursor* as it was encoded, or the first page's for ""; raise `InvalidInput` if it is not *question*'s."""
    if not cursor:
        return Cursor(question=question)
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        offset, asked, state = text.split(".")
        known = Cursor(int(offset), asked, state)
    except ValueError as exc:  # binascii's error is one too
        raise InvalidInput("This is no cursor.", remedy="Give back the next_cursor of an answer as it was.") from exc
    if known.question != question or not 0 < known.offset <= _LARGEST_OFFSET:
        raise InvalidInput(
            "The cursor belongs to another question.",
            remedy="Leave every other argument as it was when the cursor was given, or ask anew without one.",
        )
    return known


def unchanged(cursor: Cursor, *, state: str) -> None:
    """Return if the list is still the one that *cursor* was made for; raise `Conflict` if the index is another by now."""
    if cursor.state and cursor.state != state:
        raise Conflict(
            "The index has changed since the page before, and with it the order of this list.",
            remedy="Ask anew without the cursor.",
        )
