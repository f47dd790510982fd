"""A pack of evidence for a question, as large as a budget of tokens lets it be."""

from typing import Final

from appliance.codeintel.citations import cite
from appliance.codeintel.query.asking import Asked
from appliance.codeintel.query.context import CARD_PLACES, pack, tokens_of
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.results import ContextResponse
from appliance.errors import InvalidInput

LEAST_TOKENS: Final = 100
MOST_TOKENS: Final = 32_000
_TOKENS_A_PLACE: Final = 100  # about; a larger budget takes in more places


def refuse_odd(tokens: int) -> None:
    """Raise `InvalidInput` for a budget that cannot be."""
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise InvalidInput(f"A budget is {LEAST_TOKENS} to {MOST_TOKENS:,} tokens.", tokens=tokens)


def context(asked: Asked, question: str, gathered: Gathered, tokens: int) -> ContextResponse:
    """Return the lines that bear on *question*, best first, that fit into so many *tokens*."""
    packed = pack(gathered, texts=asked.texts, budget_tokens=tokens, most=max(CARD_PLACES, tokens // _TOKENS_A_PLACE))
    kept = {block.n for block in packed.blocks}
    places = [place for number, place in enumerate(packed.places, start=1) if number in kept]
    evidence, unread = cite(places, texts=asked.texts)
    text = "\n\n".join(f"{block.heading}\n{block.text}" for block in packed.blocks)
    left = len(packed.places) - len(places)
    warnings = [*gathered.warnings, *gathered.vector_warnings, *unread]
    if left:
        warnings.append(f"{left} more places bear on it and do not fit into {tokens:,} tokens.")
    return ContextResponse(
        question=question,
        evidence=evidence,
        text=text,
        tokens=tokens_of(text),
        budget=tokens,
        **asked.rest(total=len(packed.places), end=len(places), warnings=warnings),
    )
