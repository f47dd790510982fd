"""The reviewer: it holds what was found against the lines, lets the model caption what is sound, and strikes what is not."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.results import Citation, Freshness, Gate, Sentence, Struck
from appliance.contracts.tools import Json
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.canonical import canonical
from appliance.orchestrator.missions.caption import caption
from appliance.orchestrator.missions.card import Card, cited, composed, numbered
from appliance.orchestrator.missions.case import Case, Finding
from appliance.orchestrator.missions.encoding import plain, typed
from appliance.orchestrator.tools.citing import place_of

_CAPTIONS: Final = 4  # a model reads for a quarter of a minute each
_CALLS: Final = re.compile(r"`?([A-Za-z_][\w.]*)`?(?:\(\))?\s+(?:calls|invokes)\s+(?:the\s+)?`?([A-Za-z_][\w.]*)`?")
_GONE: Final = "The lines that it rests on do not stand there any more."


class Reviewer:
    """Satisfies `AgentRunner`: writes the answer of *case*, as far as it stands."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.freshness: tuple[Freshness, ...] = case.begun.freshness
        self._clear()

    def _clear(self) -> None:
        self.card = Card()
        self.sentences: list[Sentence] = []
        self.struck: list[Struck] = []
        self.gate: Gate | None = None
        self._gates: list[Gate] = []

    async def so_far(self, agent: str) -> "Reviewer":
        """Return what stands of all that was found until now, with the captions that there are; nothing of it is noted."""
        made = Reviewer(self._case)
        made.card, lines = composed(self._case.findings)
        await made.verify(agent)
        made.sentences = [line.sentence for line in lines if cited(line.sentence, made.card.citations)]
        made.sentences += [each for each in self.sentences if each.origin == "model"]
        made.struck, made.gate = list(self.struck), self.gate
        return made

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Review all that was found so far, anew each time; report how much stood."""
        del streaming_callback
        self._clear()
        agent, case = request.agent, self._case
        card, lines = composed(case.findings)
        self.card = card
        await self.verify(agent)
        self._note(agent)
        if card.left_out:
            case.warn(f"{card.left_out} sentences are left out: the card holds {len(card.evidence)} places.")
        readings = self._readings()
        for part in sorted({line.part for line in lines} | {finding.part for finding in readings}):
            self._tell(agent, [line.sentence for line in lines if line.asked and line.part == part])
            for finding in readings:
                if finding.part == part:
                    await self._caption(agent, finding)
        self._tell(agent, [line.sentence for line in lines if not line.asked])
        self._judge()
        await self._freshness(agent)
        held = sum(citation.span.verified for citation in card.citations)
        return AgentResult(
            content=f"{held} of {len(card.citations)} places stand; {len(self.struck)} sentences were struck."
        )

    def _tell(self, agent: str, sentences: Sequence[Sentence]) -> None:
        for sentence in sentences:
            if cited(sentence, self.card.citations):
                self._keep(agent, sentence)
            else:
                self._strike(agent, Struck(sentence.text, _GONE))

    async def verify(self, agent: str) -> None:
        """Hold every place of the card against its repository."""
        card = self.card
        if not card.evidence:
            return
        places: list[Json] = [canonical(plain(place_of(each))) for each in card.evidence]
        gave = await self._case.call(agent, instruments.VERIFY, {"text": places})
        citations = typed(gave.data.get("citations", ()), tuple[Citation, ...])
        if gave.error or len(citations) != len(card.evidence):
            self._case.warn(f"No citation could be verified: {gave.error}")
            citations = tuple(
                Citation(0, place_of(each).span(), each.symbol, each.kind, each.text) for each in card.evidence
            )
        card.citations = numbered(citations)

    def _note(self, agent: str) -> None:
        for each in self.card.citations:
            span = each.span
            told: dict[str, Json] = {
                "n": each.n,
                "repo_name": span.repo_name,
                "path": span.path,
                "start_line": span.start_line,
                "end_line": span.end_line,
                "commit": span.commit,
                "symbol": each.symbol,
                "verified": span.verified,
            }
            self._case.journal.note("evidence", told, agent=agent)

    def _readings(self) -> list[Finding]:
        """Return what a model may read, one finding for each part that wants prose, as many as it is let read."""
        wanted = [finding for finding in self._case.findings if finding.question and not finding.said]
        if len(wanted) > _CAPTIONS:
            said = f"The model read for {_CAPTIONS} of {len(wanted)} questions; the others have their evidence alone."
            self._case.warn(said)
        return wanted[:_CAPTIONS]

    async def _caption(self, agent: str, finding: Finding) -> None:
        """Let the model read *finding*, and check what it says of calls against the graph."""
        told = await caption(self._case, finding, self.card, agent=agent)
        self._gates.append(told.gate)
        self.gate = next((gate for gate in self._gates if gate.passed), self._gates[0])
        for struck in told.struck:
            self._strike(agent, struck)
        for sentence in told.sentences:
            if reason := await self._contradicted(agent, sentence.text):
                self._strike(agent, Struck(sentence.text, reason))
            elif all(sentence.text != other.text for other in self.sentences):
                self._keep(agent, sentence)

    def _judge(self) -> None:
        """Say of the questions that the model was kept from why it was, where it read for others."""
        for gate in self._gates:
            if not gate.passed and self.gate is not None and self.gate.passed:
                self._case.warn(f"For another of its questions there is no prose: {gate.reason}")

    async def _contradicted(self, agent: str, text: str) -> str:
        """Return why the graph says otherwise than *text*, "" where it does not, or does not know."""
        found = _CALLS.search(text)
        if found is None:
            return ""
        caller, callee = found[1], found[2].rpartition(".")[2]
        gave = await self._case.ask(agent, instruments.STRUCTURE, {"intent": "callees", "name": caller})
        rows = gave.data.get("sentences", ())
        said = (
            " ".join(str(row.get("text")) for row in rows if isinstance(row, Mapping)) if isinstance(rows, Sequence) else ""
        )
        if gave.error or gave.warnings or not said or callee in said:
            return ""
        return f"The graph knows every call in `{caller}`, and none of `{callee}`."

    async def _freshness(self, agent: str) -> None:
        """Say what the index is like now, and which of it was renewed meanwhile."""
        gave = await self._case.call(agent, instruments.STATE, {})
        if gave.error:
            return
        self.freshness = typed(gave.data["freshness"], tuple[Freshness, ...])
        before = {(each.repo, each.branch): each.generation for each in self._case.begun.freshness}
        for each in self.freshness:
            if before.get((each.repo, each.branch), each.generation) != each.generation:
                self._case.warn(f"The index of {each.repo_name} was renewed meanwhile: citations may be of two commits.")

    def _keep(self, agent: str, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        told: dict[str, Json] = {"text": sentence.text, "cites": list(sentence.cites), "origin": sentence.origin}
        self._case.journal.note("sentence", told, agent=agent)

    def _strike(self, agent: str, struck: Struck) -> None:
        self.struck.append(struck)
        self._case.journal.note("struck", {"text": struck.text, "reason": struck.reason}, agent=agent)
