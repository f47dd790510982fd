"""The lines of a card: read whole from the repository for their colours, or as the index has them when it is away."""

from typing import Final

from appliance.codeintel.results import Span
from appliance.console.code import Excerpt, cited, excerpt, slimmed
from appliance.errors import ApplianceError
from appliance.services import Services

_MOST_CHARACTERS: Final = 4_500  # of HTML for one card: ten of them keep a page under 60 KB
_LARGEST: Final = 200_000  # bytes of a file that is read for its colours


def card_lines(span: Span, text: str, *, language: str, limit: int, services: Services) -> Excerpt:
    """Return at most *limit* lines of *span*, whose lines are *text*."""
    try:
        content = services.generations.source(span.repo).blob(span.blob)
    except (ApplianceError, OSError):
        content = b""
    if not content or len(content) > _LARGEST:
        shown = excerpt(text, language=language, start=span.start_line, limit=limit)
    else:
        shown = cited(content, language=language, start=span.start_line, end=span.end_line, limit=limit)
    return slimmed(shown, characters=_MOST_CHARACTERS)
