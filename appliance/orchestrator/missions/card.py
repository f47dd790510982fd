"""The card of a mission: all evidence in one numbering, and the sentences that rest on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from appliance.codeintel.results import Citation, Sentence
from appliance.contracts.tools import Evidence
from appliance.orchestrator.missions.case import Finding

MOST_PLACES: Final = 40
_Key = tuple[str, str, int, int, str]


@dataclass(slots=True)
class Card:
    """Evidence in the order in which it is spoken of; numbers begin at 1."""

    evidence: list[Evidence] = field(default_factory=list)
    citations: tuple[Citation, ...] = ()
    left_out: int = 0  # sentences whose places did not fit
    _numbers: dict[_Key, int] = field(default_factory=dict)

    def place(self, evidence: Evidence) -> int | None:
        """Return the number of *evidence*, a new one where there is room; None where there is none."""
        key = (evidence.repo, evidence.path, evidence.start_line, evidence.end_line, evidence.commit)
        if key not in self._numbers:
            if len(self.evidence) >= MOST_PLACES:
                return None
            self.evidence.append(evidence)
            self._numbers[key] = len(self.evidence)
        return self._numbers[key]

    def sentences(self, finding: Finding) -> list[Sentence]:
        """Return what *finding* says, linked to the card; a sentence none of whose places fits is left out, and counted."""
        linked: list[Sentence] = []
        for said in finding.said:
            numbers = [self.place(finding.evidence[at]) for at in said.rests_on if at < len(finding.evidence)]
            held = tuple(number for number in numbers if number is not None)
            if held or not said.rests_on:
                linked.append(Sentence(said.text, held, finding.origin))
            else:
                self.left_out += 1
        return linked


def composed(findings: Sequence[Finding]) -> tuple[Card, list[Sentence]]:
    """Return the card of *findings* and the sentences on it.

    What was asked comes before what stands beside it, each in the order of the goal's parts.
    """
    card = Card()
    ordered = sorted(findings, key=lambda finding: (not finding.asked, finding.part))
    lines: list[Sentence] = []
    for finding in ordered:
        for sentence in card.sentences(finding):
            if all(sentence.text != other.text for other in lines):
                lines.append(sentence)
        for evidence in finding.evidence if not finding.said else ():
            card.place(evidence)
    return card, lines


def cited(sentence: Sentence, citations: Sequence[Citation]) -> bool:
    """Return whether every place that *sentence* rests on stands where the card says."""
    return all(citations[number - 1].span.verified for number in sentence.cites)


def numbered(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return *citations*, numbered in their order."""
    return tuple(replace(each, n=n) for n, each in enumerate(citations, start=1))
