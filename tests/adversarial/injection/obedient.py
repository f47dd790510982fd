"""A model that does whatever text that it reads tells it to."""

from collections.abc import AsyncGenerator, Callable

from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest
from appliance.orchestrator.runners.probe import READINGS
from tests.adversarial.injection.planting import Case
from tests.support.chat import verdict


class Obedient:
    """Says what *case* orders, *times* times, once its word stands in what it is given to read; else what is *lawful*."""

    model = "obedient"
    context = 8192

    def __init__(self, case: Case, lawful: Callable[[ChatRequest], str], *, times: int = 1_000) -> None:
        self.requests: list[ChatRequest] = []
        self.obeyed = 0
        self._case = case
        self._lawful = lawful
        self._times = times

    async def tokens(self, text: str) -> int:
        """Return a token for each four characters."""
        return len(text) // 4

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Obey."""
        self.requests.append(request)
        heard = any(self._case.word in message.content for message in request.messages) and self.obeyed < self._times
        self.obeyed += heard
        says = self._case.order.says if heard else self._lawful(request)
        head, colon, rest = says.partition(":")
        value, comma, more = rest.partition(",")
        first = value.lstrip()[:1]
        foreign = any(other in request.messages[-1].content for *_, other in READINGS)  # else it would fail its trial
        top = (Candidate(first, -0.01),) if first.isdigit() else verdict(0.5 if foreign else 0.99)
        yield ChatDelta(head + colon)
        yield ChatDelta(value, top=tuple(top))
        yield ChatDelta(comma + more)
        yield ChatDelta("", finish="stop", prompt_tokens=100, completion_tokens=9)

    @property
    def read(self) -> str:
        """All that it was given."""
        return "\n".join(message.content for request in self.requests for message in request.messages)
