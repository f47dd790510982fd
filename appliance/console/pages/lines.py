"""The lines of a card: read whole from the repository for their colours, or as the index has them when it is away."""

from typing import Final

from appliance.codeintel.results import Span
from appliance.console.code import Excerpt, cited, excerpt, slimmed
from appliance.errors import ApplianceError
from appliance.services import Services

_MOST_CHARACTERS: Final = 4_500  # of HTML for one card
_ROOM: Final = 46_000  # of HTML for all cards of a page, which stays under 60 KB
_HEAD: Final = 1_700  # of HTML around the lines of one card, and in the list beside them
_LARGEST: Final = 200_000  # bytes of a file that is read for its colours


def card_lines(span: Span, text: str, *, language: str, limit: int, services: Services, among: int = 1) -> Excerpt:
    """Return at most *limit* lines of *span*, whose lines are *text*, for one *among* so many cards of a page."""
    try:
        content = services.generations.source(span.repo).blob(span.blob)
    except (ApplianceError, OSError):
        content = b""
    if not content or len(content) > _LARGEST:
        shown = excerpt(text, language=language, start=span.start_line, limit=limit)
    else:
        shown = cited(content, language=language, start=span.start_line, end=span.end_line, limit=limit)
    return slimmed(shown, characters=min(_MOST_CHARACTERS, _ROOM // among - _HEAD))
