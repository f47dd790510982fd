"""An answer: the evidence first, then, where the evidence is strong enough, the model's reading of it.

Questions of structure never reach a model. The card of citations is there before a model is asked, whatever becomes of the
model; an engine that is down costs the prose and nothing else.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from appliance.base.clock import Clock
from appliance.codeintel.citations import Texts, cite
from appliance.codeintel.needs import ChatModel
from appliance.codeintel.prose import Outcome, ProseEvent, read
from appliance.codeintel.query import structure
from appliance.codeintel.query.context import PACK_TOKENS, Block, pack, smaller
from appliance.codeintel.query.draft import Code, StructureAnswer
from appliance.codeintel.query.gather import Gathered
from appliance.codeintel.query.parts import texts_of
from appliance.codeintel.query.querylang import plain
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.questions import classify
from appliance.codeintel.reading import Fragment
from appliance.codeintel.results import Answer, AnswerEvent, AnswerKind, Citation, Freshness, Gate, Scope, Sentence, Struck
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.support import Ground, Rarity, share
from appliance.errors import Cancelled, InvalidInput, PromptTooLong, Unavailable

# Of the question's words, weighed by rarity, in the best block. For 22 questions about this project the packs had at least
# 0.28; of the packs of other questions, four in five stay under this.
LEAST_OVERLAP = 0.25


@dataclass(slots=True)
class _Draft:
    """The answer as it grows."""

    question: str
    kind: AnswerKind = "evidence"
    evidence: tuple[Citation, ...] = ()
    sentences: list[Sentence] = field(default_factory=list)
    struck: list[Struck] = field(default_factory=list)
    gate: Gate | None = None
    model: str = ""
    freshness: tuple[Freshness, ...] = ()
    warnings: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)

    def answer(self) -> Answer:
        """Return the answer as it stands now."""
        return Answer(
            question=self.question,
            kind=self.kind,
            evidence=self.evidence,
            sentences=tuple(self.sentences),
            struck=tuple(self.struck),
            gate=self.gate,
            model=self.model,
            freshness=self.freshness,
            warnings=tuple(dict.fromkeys(self.warnings)),
            timings=dict(self.timings),
        )


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The card, and what a model would read of it."""

    citations: tuple[Citation, ...]
    warnings: tuple[str, ...]
    blocks: tuple[Block, ...]
    grounds: tuple[Ground, ...]
    rarity: Rarity
    overlap: float


class Answerer:
    """Answers questions about code. Without *chat*, or while its engine is away, answers are cards of evidence."""

    def __init__(
        self,
        generations: Generations,
        searcher: Searcher,
        chat: ChatModel | None,
        clock: Clock,
        *,
        pack_tokens: int = PACK_TOKENS,
    ) -> None:
        self._generations = generations
        self._searcher = searcher
        self._chat = chat
        self._clock = clock
        self._pack_tokens = pack_tokens

    async def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        """Yield the answer step by step: ``evidence`` first, ``done`` with the whole of it last.

        Closing the generator lets the engine go at once. Raise `InvalidInput` or `LimitExceeded` for a question without
        words or far too long, `NotFound` when nothing of *scope* is indexed; an engine that fails is a warning. Without
        *prose* no model is asked.
        """
        watch = _Watch(self._clock)
        question = question.encode("utf-8", "replace").decode()  # half a surrogate pair could not be sent to an engine
        gathered = await self._searcher.gather(plain(question), scope=scope)
        draft = _Draft(question, freshness=tuple(part.freshness for part in gathered.parts))
        draft.warnings += gathered.warnings
        draft.timings |= {"search_ms": watch.ms()}
        texts = await asyncio.to_thread(texts_of, gathered.parts, self._generations)
        found = await asyncio.to_thread(_structure, question, gathered, texts)
        if found is not None:
            draft.kind = "structure"
            draft.warnings += found.warnings
            draft.evidence, warnings = await asyncio.to_thread(cite, found.places, texts=texts)
            draft.warnings += warnings
            events = self._known(found.sentences, draft, watch)
        else:
            draft.warnings += gathered.vector_warnings
            evidence = await asyncio.to_thread(self._evidence, question, gathered, texts)
            draft.evidence = evidence.citations
            draft.warnings += evidence.warnings
            draft.gate = self._gate(evidence) if prose else None
            events = self._read(evidence, draft, watch)
        draft.timings["evidence_ms"] = watch.ms()
        yield AnswerEvent("evidence", answer=draft.answer())
        async with aclosing(events):
            async for event in events:
                yield event
        draft.timings["total_ms"] = watch.ms()
        yield AnswerEvent("done", answer=draft.answer())

    async def _known(
        self, sentences: tuple[Sentence, ...], draft: _Draft, watch: "_Watch"
    ) -> AsyncGenerator[AnswerEvent, None]:
        for sentence in sentences:
            draft.timings.setdefault("first_token_ms", watch.ms())
            draft.sentences.append(sentence)
            yield AnswerEvent("sentence", sentence=sentence)

    async def _read(self, evidence: _Evidence, draft: _Draft, watch: "_Watch") -> AsyncGenerator[AnswerEvent, None]:
        """Let the model read, if the gate is open so far, and fill *draft* with what comes of it."""
        if self._chat is None or draft.gate is None or not draft.gate.passed:
            return
        draft.model = self._chat.model
        overlap = draft.gate.overlap
        try:
            async with aclosing(self._prose(evidence, self._chat, draft)) as events:
                async for part in events:
                    if isinstance(part, Outcome):
                        draft.gate = Gate(part.gate.passed, part.gate.reason, part.gate.probability, overlap)
                        draft.warnings += part.warnings
                    else:
                        draft.timings.setdefault("first_token_ms", watch.ms())
                        yield _event(part, draft)
        except Cancelled:
            raise
        except (Unavailable, InvalidInput, PromptTooLong) as exc:
            if draft.sentences or draft.struck:
                draft.warnings.append(f"The model broke off: {exc}")
            else:
                draft.model = ""
                draft.gate = Gate(False, exc.message, overlap=overlap)
                draft.warnings.append(f"The model could not be asked: {exc}")
        draft.kind = "prose" if draft.sentences or draft.struck else "evidence"

    async def _prose(self, evidence: _Evidence, chat: ChatModel, draft: _Draft) -> AsyncGenerator[ProseEvent, None]:
        """Ask with the whole pack, and once more with a smaller one if that does not fit the model."""
        blocks = evidence.blocks
        for attempt in (1, 2):
            reading = read(draft.question, blocks, chat=chat, grounds=evidence.grounds, weigh=evidence.rarity.of)
            try:
                async with aclosing(reading):
                    async for event in reading:
                        yield event
            except PromptTooLong:
                if attempt == 2:
                    raise
                blocks = smaller(blocks)
                draft.warnings.append(
                    f"The evidence did not fit {chat.model}: it read {len(blocks)} of {len(evidence.blocks)} blocks."
                )
            else:
                return

    def _gate(self, evidence: _Evidence) -> Gate:
        """Say what is known before a model is asked: passed only means that it may be asked."""
        if not evidence.blocks:
            return Gate(False, "nothing that could be read in the index matches the question.")
        overlap = round(evidence.overlap, 3)
        if overlap < LEAST_OVERLAP:
            reason = f"the evidence is weak: {overlap:.0%} of the question's words stand in its best lines."
            return Gate(False, reason, overlap=overlap)
        if self._chat is None:
            return Gate(False, "no chat model is set up.", overlap=overlap)
        return Gate(True, "the evidence has the question's words.", overlap=overlap)

    def _evidence(self, question: str, gathered: Gathered, texts: Texts) -> _Evidence:
        chosen = pack(gathered, texts=texts, budget_tokens=self._pack_tokens)
        citations, warnings = cite(chosen.places, texts=texts)
        read_by_model = {block.n for block in chosen.blocks}
        grounds = tuple(Ground.of(c.n, c.text, c.span.path, c.symbol) for c in citations if c.n in read_by_model)
        rarity = Rarity(
            [part.generation.lexical for part in gathered.parts],
            chunks=sum(part.generation.info.chunks for part in gathered.parts),
        )
        overlap = share(question, grounds, weigh=rarity.of)
        return _Evidence(citations, tuple(warnings), chosen.blocks, grounds, rarity, overlap)


class _Watch:
    """Milliseconds since it was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.monotonic()

    def ms(self) -> float:
        return round((self._clock.monotonic() - self._start) * 1000, 1)


def _structure(question: str, gathered: Gathered, texts: Texts) -> StructureAnswer | None:
    asked = classify(question)
    if asked is None:
        return None
    several = len(gathered.parts) > 1
    code = [Code(part.generation, part.repo.name, f"{part.label}: " if several else "") for part in gathered.parts]
    return structure.answer(asked, code=code, texts=texts)


def _event(part: Fragment | Sentence | Struck, draft: _Draft) -> AnswerEvent:
    if isinstance(part, Fragment):
        return AnswerEvent("token", text=part.text)
    if isinstance(part, Sentence):
        draft.sentences.append(part)
        return AnswerEvent("sentence", sentence=part)
    draft.struck.append(part)
    return AnswerEvent("struck", struck=part)
