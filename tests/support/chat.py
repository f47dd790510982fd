"""A chat model that says what a test tells it to, token by token, and knows whether it was let go."""

import json
import math
from collections.abc import AsyncGenerator, Sequence

from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest
from appliance.errors import ApplianceError


def verdict(probability: float) -> tuple[Candidate, ...]:
    """Return the candidates of a verdict token that put *probability* on true."""
    return (Candidate(" true", math.log(probability)), Candidate(" false", math.log(1 - probability)), Candidate(" {", -9.0))


def said(*sentences: str, enough: bool = True) -> str:
    """Return the JSON in which a model says *sentences*."""
    return json.dumps({"enough_evidence": enough, "sentences": sentences})


class ScriptedChat:
    """Satisfies `needs.ChatModel`. Every call says *text* in pieces of *cut* characters.

    *probability* is what the verdict's token puts on true; None: no candidates. The first calls raise *errors* instead, one
    each; *breaks_after* pieces, *broken* is raised.
    """

    def __init__(
        self,
        text: str = "",
        *,
        probability: float | None = 0.9,
        cut: int = 3,
        finish: str = "stop",
        errors: Sequence[ApplianceError] = (),
        broken: ApplianceError | None = None,
        breaks_after: int = 0,
    ) -> None:
        self.model = "scripted"
        self.context = 4096
        self.requests: list[ChatRequest] = []
        self.open = 0
        self._text = text
        self._probability = probability
        self._cut = cut
        self._finish = finish
        self._errors = list(errors)
        self._broken = broken
        self._breaks_after = breaks_after

    async def tokens(self, text: str) -> int:
        """Return a token for each four characters."""
        return len(text) // 4

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Say the text. The pieces are cut so that the verdict begins one of them, as tokens do."""
        self.requests.append(request)
        if self._errors:
            raise self._errors.pop(0)
        self.open += 1
        try:
            for number, piece in enumerate(self._pieces()):
                if self._broken is not None and number == self._breaks_after:
                    raise self._broken
                begins = piece.strip().startswith(("true", "false")) and self._probability is not None
                yield ChatDelta(piece, top=verdict(self._probability or 0.5) if begins else ())
            yield ChatDelta(
                "", finish="length" if self._finish == "length" else "stop", prompt_tokens=10, completion_tokens=9
            )
        finally:
            self.open -= 1

    def _pieces(self) -> list[str]:
        head, colon, rest = self._text.partition(":")
        if not colon:
            return [self._text]
        word, comma, tail = rest.partition(",")
        return [head + colon, word, *self._cuts(comma + tail)]

    def _cuts(self, text: str) -> list[str]:
        return [text[start : start + self._cut] for start in range(0, len(text), self._cut)]
