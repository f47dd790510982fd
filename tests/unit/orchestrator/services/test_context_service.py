import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from appliance.contracts.chat import ChatDelta, ChatRequest, Message
from appliance.errors import EngineUnavailable, PromptTooLong
from appliance.orchestrator.services.content import Content
from appliance.orchestrator.services.context import AROUND_MESSAGE, LocalContextService
from appliance.orchestrator.services.conversation import ConversationMessage, ToolUse
from appliance.orchestrator.state.host import Staged


@dataclass
class Counting:
    """A model whose tokens are words; with *away* its engine does not answer."""

    context: int = 100
    away: bool = False
    model: str = "counting"
    asked: list[str] = field(default_factory=list)

    async def tokens(self, text: str) -> int:
        self.asked.append(text)
        if self.away:
            raise EngineUnavailable("The engine is down.")
        return len(text.split())

    def chat(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        raise AssertionError(request)


class Nothing:
    def content(self, session_id: str) -> tuple[Content, int]:
        raise AssertionError(session_id)

    def write(self, session_id: str, staged: Staged, *, observed: Sequence[str] = (), expected: int | None = None) -> int:
        raise AssertionError((session_id, staged, observed, expected))


def service(model: Counting) -> LocalContextService:
    return LocalContextService(Nothing(), lambda: model)


def words(count: int, role: str = "user", word: str = "w") -> ConversationMessage:
    return ConversationMessage(role, " ".join([word] * count))  # type: ignore[arg-type]


def test_tokens_are_those_that_the_engine_counts_and_each_text_is_counted_once() -> None:
    model = Counting()
    context = service(model)
    messages: list[ConversationMessage | Message] = [words(10), Message("system", "a b c"), words(10)]
    for _ in range(2):
        count = asyncio.run(context.estimate_tokens(messages))
        assert (count.tokens, count.exact, count.why) == (23 + 3 * AROUND_MESSAGE, True, "")
    assert len(model.asked) == 2


def test_while_the_engine_is_away_the_count_is_an_upper_bound_and_says_so() -> None:
    model = Counting(away=True)
    texts = [words(10, word="ä€"), words(5), words(7)]
    count = asyncio.run(service(model).estimate_tokens(texts))
    assert count.tokens == sum(len(text.content.encode()) for text in texts) + 3 * AROUND_MESSAGE
    assert not count.exact
    assert "engine is down" in count.why
    assert "upper bound" in count.why
    assert len(model.asked) == 1, "an engine that is away is not asked again for each message"


def test_what_does_not_fit_is_known_before_the_call() -> None:
    context = service(Counting(context=100))
    fits = asyncio.run(context.check_context_overflow([words(50)], max_tokens=42))
    over = asyncio.run(context.check_context_overflow([words(50)], max_tokens=43))
    assert (fits.over, over.over, over.limit) == (0, 1, 100)
    with pytest.raises(EngineUnavailable):
        asyncio.run(service(Counting(context=0)).check_context_overflow([words(1)], max_tokens=1))


def use(name: str) -> ConversationMessage:
    return ConversationMessage("assistant", "", uses=(ToolUse(name, "callers", {}),))


def result(name: str, count: int = 5) -> ConversationMessage:
    return ConversationMessage("tool", "r " * count, tool="callers", call=name)


def test_compaction_keeps_the_system_message_the_newest_and_pairs_of_calls_and_results() -> None:
    conversation = [
        words(5, "system"),
        words(5, word="old"),
        use("c1"),
        result("c1"),
        result("c1"),
        words(5, "assistant"),
        words(5),
    ]
    whole = asyncio.run(service(Counting(context=500)).compact_context(conversation, max_tokens=50))
    assert (list(whole.messages), whole.dropped, whole.said) == (conversation, 0, "")
    tight = asyncio.run(service(Counting(context=whole.fit.prompt.tokens)).compact_context(conversation, max_tokens=10))
    assert [message.role for message in tight.messages] == ["system", "assistant", "tool", "tool", "assistant", "user"]
    tighter = asyncio.run(service(Counting(context=60)).compact_context(conversation, max_tokens=10))
    assert [message.role for message in tighter.messages] == ["system", "assistant", "user"]
    assert tighter.dropped == 4
    assert "4 oldest messages" in tighter.said


def test_the_last_question_stays_though_long_results_stand_behind_it() -> None:
    conversation = [words(3, "system"), words(5, word="question"), use("c1"), result("c1", 30), use("c2"), result("c2", 30)]
    found = asyncio.run(service(Counting(context=110)).compact_context(conversation, max_tokens=10))
    assert [message.role for message in found.messages] == ["system", "user", "assistant", "tool"]
    assert found.messages[-1].call == "c2"


def test_what_must_stay_is_never_cut_but_refused_with_the_figures() -> None:
    with pytest.raises(PromptTooLong, match="108") as refused:
        asyncio.run(service(Counting(context=100)).compact_context([words(100)], max_tokens=10))
    assert refused.value.remedy
    assert refused.value.context["limit"] == 100


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_conversation_what_is_kept_fits_is_in_order_and_is_the_same_each_time(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - cases, no keys
    conversation = [words(chance.randint(1, 8), "system")]
    for turn in range(chance.randint(1, 12)):
        conversation.append(words(chance.randint(1, 20)))
        for number in range(chance.randint(0, 3)):
            conversation += [use(f"{turn}.{number}"), result(f"{turn}.{number}", chance.randint(1, 15))]
        conversation.append(words(chance.randint(1, 20), "assistant"))
    conversation.append(words(4, word="last"))
    compactions = [
        asyncio.run(service(Counting(context=200)).compact_context(conversation, max_tokens=30)) for _ in range(2)
    ]
    kept = compactions[0]
    assert kept == compactions[1]
    assert not kept.fit.over
    places = [next(n for n, each in enumerate(conversation) if each is message) for message in kept.messages]
    assert places == sorted(places)
    assert kept.messages[0] is conversation[0]
    assert kept.messages[-1] is conversation[-1]
    assert kept.dropped + len(kept.messages) == len(conversation)
    calls = {message.uses[0].id for message in kept.messages if message.uses}
    assert calls == {message.call for message in kept.messages if message.role == "tool"}
