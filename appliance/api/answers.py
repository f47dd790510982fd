"""An answer on the wire."""

from typing import Annotated

from pydantic import Field, StringConstraints

from appliance.api.found import LinesOut, Numbered, PlaceOut, lines_of, place_of
from appliance.api.schemas import FreshnessOut, Input, Name, Output
from appliance.base.paths import shown
from appliance.codeintel.query.querylang import LONGEST_QUESTION
from appliance.codeintel.results import Answer, AnswerKind, Citation, Gate, Origin, Sentence, Struck
from appliance.services import DEFAULT_PROJECT
from appliance.web.demand import LONGEST_WAIT_S


class AskIn(Input):
    """A question about the code of a project, or of some of its repos."""

    question: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUESTION, strip_whitespace=True)]
    project: Name = DEFAULT_PROJECT
    repos: list[Name] = Field(default_factory=list, max_length=100, description="Ids or names; none means all.")
    branches: list[Name] = Field(
        default_factory=list, max_length=20, description="Patterns of indexed branches; none means each repo's own."
    )
    max_behind: int | None = Field(None, ge=0, le=1_000_000, description="Refuse what is more commits behind than this.")
    max_lag: float | None = Field(
        None, ge=0, le=1e9, description="Refuse what was last known to be current more seconds ago than this."
    )
    wait: float = Field(0.0, ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for an index instead.")
    prose: bool = Field(True, description="Whether the model may write sentences about the evidence.")


class EvidenceOut(LinesOut, Numbered):
    """Lines that bear on the question."""

    text: str

    @classmethod
    def of(cls, citation: Citation) -> "EvidenceOut":
        """Return *citation* with its lines."""
        return cls(n=citation.n, **lines_of(citation), text=shown(citation.text))


class CitationOut(PlaceOut, Numbered):
    """Where a numbered span lies."""

    @classmethod
    def of(cls, citation: Citation) -> "CitationOut":
        """Return the place of *citation*."""
        return cls(n=citation.n, **place_of(citation.span))


class SentenceOut(Output):
    """One sentence, linked by us to citations."""

    text: str
    cites: list[int]
    origin: Origin = Field(description="Who tells it; the `model` reads, and nobody verified it. Empty: not kept.")

    @classmethod
    def of(cls, sentence: Sentence) -> "SentenceOut":
        """Return *sentence* for the wire."""
        return cls(text=shown(sentence.text), cites=list(sentence.cites), origin=sentence.origin)


class StruckOut(Output):
    """A sentence that was not let through, and why."""

    text: str
    reason: str

    @classmethod
    def of(cls, struck: Struck) -> "StruckOut":
        """Return *struck* for the wire."""
        return cls(text=shown(struck.text), reason=shown(struck.reason))


class GateOut(Output):
    """Whether the evidence was strong enough for prose."""

    passed: bool
    reason: str
    probability: float | None
    overlap: float | None

    @classmethod
    def of(cls, gate: Gate) -> "GateOut":
        """Return *gate* for the wire."""
        return cls(passed=gate.passed, reason=shown(gate.reason), probability=gate.probability, overlap=gate.overlap)


class AnswerOut(Output):
    """A whole answer: the evidence, then the model's reading of it, if any."""

    question: str
    kind: AnswerKind
    evidence: list[EvidenceOut]
    sentences: list[SentenceOut]
    citations: list[CitationOut]
    struck: list[StruckOut]
    gate: GateOut | None
    model: str
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float] = Field(description="Milliseconds by step.")

    @classmethod
    def of(cls, answer: Answer) -> "AnswerOut":
        """Return *answer* for the wire."""
        return cls(
            question=shown(answer.question),
            kind=answer.kind,
            evidence=[EvidenceOut.of(citation) for citation in answer.evidence],
            sentences=[SentenceOut.of(sentence) for sentence in answer.sentences],
            citations=[CitationOut.of(citation) for citation in answer.evidence],
            struck=[StruckOut.of(struck) for struck in answer.struck],
            gate=None if answer.gate is None else GateOut.of(answer.gate),
            model=answer.model,
            freshness=[FreshnessOut.of(fresh) for fresh in answer.freshness],
            warnings=[shown(warning) for warning in answer.warnings],
            timings=answer.timings,
        )


class TokenOut(Output):
    """A piece of the model's text, as it writes."""

    text: str
