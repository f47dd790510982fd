"""The context service: what of a conversation a model is told, counted by its engine before it is asked."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import Message
from appliance.errors import EngineUnavailable, PromptTooLong, Unavailable
from appliance.orchestrator.services.conversation import ConversationMessage
from appliance.orchestrator.services.session import SessionContents
from appliance.orchestrator.state.host import Staged

AROUND_MESSAGE: Final = 8  # tokens that a chat template puts around one, more than any that we know does
_CACHED: Final = 4_096


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of a prompt. ``exact``: the engine counted; else it is more than there can be, and *why* says the reason."""

    tokens: int
    exact: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class ContextFit:
    """Whether a prompt and its completion fit the model: ``prompt`` and ``max_tokens`` together against ``limit``."""

    prompt: TokenCount
    max_tokens: int
    limit: int

    @property
    def over(self) -> int:
        """Tokens too many; 0 where it fits."""
        return max(0, self.prompt.tokens + self.max_tokens - self.limit)


@dataclass(frozen=True, slots=True)
class Compaction:
    """What of a conversation fits. ``dropped`` counts the messages that do not; ``said`` is a sentence on that, or ""."""

    messages: tuple[ConversationMessage, ...]
    dropped: int
    fit: ContextFit
    said: str


class ContextService(Protocol):
    """What knows conversations, and what of them fits a model."""

    def get_messages(self, session_id: str) -> Sequence[ConversationMessage]:
        """Return the whole conversation; raise `NotFound`."""

    def add_message(self, session_id: str, *messages: ConversationMessage, expected: int | None = None) -> None:
        """Put *messages* behind the conversation, all in one step; with *expected*, if the session is at that version."""

    async def estimate_tokens(self, messages: Sequence[ConversationMessage | Message]) -> TokenCount:
        """Return how many tokens *messages* are as a prompt, by the engine's count."""

    async def check_context_overflow(
        self, messages: Sequence[ConversationMessage | Message], *, max_tokens: int
    ) -> ContextFit:
        """Return whether *messages* and *max_tokens* of answer fit the model, before it is asked."""

    async def compact_context(self, messages: Sequence[ConversationMessage], *, max_tokens: int) -> Compaction:
        """Return what of *messages* fits with *max_tokens* of answer; raise `PromptTooLong` where the last does not."""


class LocalContextService:
    """The conversations of *contents*, for the model that *current* gives. The record stays whole: only prompts are cut."""

    def __init__(self, contents: SessionContents, current: Callable[[], ChatModel]) -> None:
        self._contents = contents
        self._current = current
        self._counts: OrderedDict[tuple[str, str], int] = OrderedDict()

    def get_messages(self, session_id: str) -> Sequence[ConversationMessage]:
        """Return the whole conversation; raise `NotFound`."""
        return self._contents.content(session_id)[0].messages

    def add_message(self, session_id: str, *messages: ConversationMessage, expected: int | None = None) -> None:
        """Put *messages* behind the conversation, all in one step.

        Raise `NotFound`, `Conflict` for a session that is closed or not at the version *expected*, and `LimitExceeded`.
        """
        self._contents.write(session_id, Staged(messages=messages), expected=expected)

    async def estimate_tokens(self, messages: Sequence[ConversationMessage | Message]) -> TokenCount:
        """Return how many tokens *messages* are as a prompt, by the engine's count.

        While the engine is away it is their bytes, which no engine's tokens are more than; the count then says so.
        """
        counts, why = await self._each(messages)
        return TokenCount(sum(counts), not why, why)

    async def check_context_overflow(
        self, messages: Sequence[ConversationMessage | Message], *, max_tokens: int
    ) -> ContextFit:
        """Return whether *messages* and *max_tokens* of answer fit the model, before it is asked."""
        return ContextFit(await self.estimate_tokens(messages), max_tokens, self._limit())

    async def compact_context(self, messages: Sequence[ConversationMessage], *, max_tokens: int) -> Compaction:
        """Return what of *messages* fits with *max_tokens* of answer.

        System messages stay, and the last question; of the rest the newest are kept. A call of a tool and its results stay
        or go together. Raise `PromptTooLong` where what must stay does not fit: nothing is cut within a message.
        """
        counts, why = await self._each(messages)
        units = list(_units(messages))
        sizes = [sum(counts[place] for place in unit) for unit in units]
        asked = max((n for n, unit in enumerate(units) if messages[unit[0]].role == "user"), default=-1)
        stays = {n for n, unit in enumerate(units) if n == asked or messages[unit[0]].role == "system"}
        total, limit = sum(sizes[n] for n in stays), self._limit()
        if total + max_tokens > limit:
            raise self._too_long(ContextFit(TokenCount(total, not why, why), max_tokens, limit))
        for number in reversed(range(len(units))):
            if number not in stays:
                if total + sizes[number] + max_tokens > limit:
                    break
                stays.add(number)
                total += sizes[number]
        kept = tuple(messages[place] for n in sorted(stays) for place in units[n])
        fit = ContextFit(TokenCount(total, not why, why), max_tokens, limit)
        return Compaction(kept, len(messages) - len(kept), fit, _sentence(len(messages) - len(kept), why))

    async def _each(self, messages: Sequence[ConversationMessage | Message]) -> tuple[list[int], str]:
        """Return the tokens of each of *messages*, and why they are not the engine's own count, "" if they are."""
        counts, why = list[int](), ""
        for message in messages:
            text = message.spoken().content if isinstance(message, ConversationMessage) else message.content
            if not why:
                try:
                    counts.append(AROUND_MESSAGE + await self._count(text))
                except Unavailable as exc:
                    why = f"The engine did not count ({exc.message.rstrip('.')}): this is an upper bound."
            if why:
                counts.append(AROUND_MESSAGE + len(text.encode("utf-8", "replace")))
        return counts, why

    async def _count(self, text: str) -> int:
        model = self._current()
        key = (model.model, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
        known = self._counts.get(key)
        if known is None:
            known = self._counts[key] = await model.tokens(text)
            if len(self._counts) > _CACHED:
                self._counts.popitem(last=False)
        return known

    def _limit(self) -> int:
        limit = self._current().context
        if limit <= 0:
            raise EngineUnavailable("The engine has not said how long its context is.", remedy="Ask again once it is ready.")
        return limit

    def _too_long(self, fit: ContextFit) -> PromptTooLong:
        exact = "" if fit.prompt.exact else "at most "
        return PromptTooLong(
            f"The prompt is {exact}{fit.prompt.tokens:,} tokens, and {fit.max_tokens:,} are for the answer; the model takes"
            f" {fit.limit:,} in all.",
            remedy="Ask with less text, or for a shorter answer.",
            prompt_tokens=fit.prompt.tokens,
            limit=fit.limit,
            model=self._current().model,
        )


def _units(messages: Sequence[ConversationMessage]) -> Iterator[list[int]]:
    """Yield the places of what stays or goes together: each message with the results of tools that follow it."""
    unit: list[int] = []
    for place, message in enumerate(messages):
        if message.role != "tool" and unit:
            yield unit
            unit = []
        unit.append(place)
    if unit:
        yield unit


def _sentence(dropped: int, why: str) -> str:
    oldest = "the oldest message" if dropped == 1 else f"the {dropped} oldest messages"
    gone = f"The model was not told {oldest}: the conversation does not fit its context." if dropped else ""
    return f"{gone} {why}".strip()
