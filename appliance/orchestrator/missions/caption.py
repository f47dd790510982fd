"""The model's caption: its reading of the lines of one part of the goal, as `ask` lets a model read, from the record."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.codeintel.answer import LEAST_OVERLAP
from appliance.codeintel.prose import Outcome, read
from appliance.codeintel.query.context import PACK_TOKENS, Block, shown, smaller, tokens_of
from appliance.codeintel.results import Citation, Gate, Sentence, Struck
from appliance.codeintel.support import Ground
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, PromptTooLong
from appliance.orchestrator.fence import visible
from appliance.orchestrator.missions.card import Card
from appliance.orchestrator.missions.case import Case, Finding

_CONTEXT: Final = 4096
_MOST_LINES: Final = 60


@dataclass(slots=True)
class Caption:
    """What came of one reading."""

    gate: Gate
    sentences: list[Sentence]
    struck: list[Struck]


class RecordedChat:
    """Satisfies `ChatModel`: a model whose every completion stands on record, or is put there."""

    def __init__(self, case: Case, agent: str, weights: dict[str, float]) -> None:
        self._case = case
        self._agent = agent
        self._weights = weights

    @property
    def model(self) -> str:
        """Catalogue name, as it was when the mission began."""
        return self._case.begun.model

    @property
    def context(self) -> int:
        """What a prompt of ours keeps far below."""
        return _CONTEXT

    async def tokens(self, text: str) -> int:
        """Return about how many tokens *text* is."""
        return tokens_of(text)

    async def chat(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """Stream the completion, once it is whole and the words in it are weighed."""
        completion = await self._case.complete(self._agent, request)
        self._weights |= await self._case.weights(self._agent, completion.text)
        for delta in completion.deltas():
            yield delta


async def caption(case: Case, finding: Finding, card: Card, *, agent: str) -> Caption:
    """Return the model's reading of what *finding* gathered, or why there is none."""
    overlap = finding.overlap
    if (closed := _closed(case, finding)) is not None:
        return Caption(closed, [], [])
    blocks = _blocks(finding, card)
    by_number = {citation.n: citation for citation in card.citations}
    grounds = [_ground(by_number[block.n]) for block in blocks]
    weights = await case.weights(agent, finding.question)
    told = Caption(Gate(False, "the model gave no verdict on the evidence.", overlap=overlap), [], [])
    chat = RecordedChat(case, agent, weights)
    try:
        try:
            await _read(told, finding, blocks, grounds, chat, case, weights)
        except PromptTooLong:
            case.warn("The evidence did not fit the model: it read the first half of it.")
            await _read(told, finding, smaller(blocks), grounds, chat, case, weights)
    except ApplianceError as exc:
        told.gate = Gate(False, exc.message, overlap=overlap)
        case.warn(f"The model could not be asked: {exc}")
    return told


def _closed(case: Case, finding: Finding) -> Gate | None:
    """Return why no model is asked, None where one may be."""
    overlap, begun = finding.overlap, case.begun
    if not finding.evidence:
        return Gate(False, "nothing that could be read in the index matches the question.")
    if overlap < LEAST_OVERLAP:
        reason = f"the evidence is weak: {overlap:.0%} of the question's words stand in its best lines."
        return Gate(False, reason, overlap=overlap)
    if not begun.model:
        return Gate(False, "no chat model is set up.", overlap=overlap)
    if not begun.abilities.reading:
        return Gate(False, f"{begun.model} is not let write. {' '.join(begun.abilities.said)}", overlap=overlap)
    return None


async def _read(
    told: Caption,
    finding: Finding,
    blocks: Sequence[Block],
    grounds: Sequence[Ground],
    chat: RecordedChat,
    case: Case,
    weights: dict[str, float],
) -> None:
    reading = read(
        finding.question,
        blocks,
        chat=chat,
        grounds=grounds,
        weigh=lambda words: {w: weights[w] for w in words if w in weights},
    )
    async for part in reading:
        if isinstance(part, Outcome):
            told.gate = Gate(part.gate.passed, part.gate.reason, part.gate.probability, finding.overlap)
            case.warn(*part.warnings)
        elif isinstance(part, Sentence):
            told.sentences.append(part)
        elif isinstance(part, Struck):
            told.struck.append(part)


def _blocks(finding: Finding, card: Card) -> list[Block]:
    """Return what the model reads: of the finding's places those that fit its budget, by their numbers on the card."""
    blocks: dict[int, Block] = {}
    left = PACK_TOKENS
    for at in finding.read or range(len(finding.evidence)):
        number = card.place(finding.evidence[at]) if at < len(finding.evidence) else None
        citation, piece = None if number is None else card.citations[number - 1], finding.evidence[at]
        if citation is None or not citation.span.verified or not citation.text:
            continue
        text = visible(shown(piece.text.split("\n")[:_MOST_LINES]))
        cost = tokens_of(text)
        if blocks and cost > left:
            continue
        left -= cost
        if before := blocks.get(citation.n):  # another piece of the same definition
            blocks[citation.n] = replace(before, text=f"{before.text}\n{text}")
            continue
        of = f" ({citation.symbol})" if citation.symbol else ""
        heading = visible(f"{piece.path}:{piece.start_line}-{piece.end_line}{of}")
        blocks[citation.n] = Block(citation.n, heading, text)
    return list(blocks.values())


def _ground(citation: Citation) -> Ground:
    return Ground.of(citation.n, citation.text, citation.span.path, citation.symbol)
