"""The card of a mission: all evidence in one numbering, and the sentences that rest on it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from appliance.codeintel.query.draft import CALLABLES
from appliance.codeintel.results import Citation, Sentence
from appliance.contracts.tools import Evidence
from appliance.orchestrator.missions.case import Finding

MOST_PLACES: Final = 40
_LONGEST: Final = 60  # lines of a place that stands for its pieces
_SURE: Final = "% sure)."
_SURELY: Final = re.compile(r" \(\d+% sure\)\.$")
_Key = tuple[str, str, int, int, str]


@dataclass(slots=True)
class Card:
    """Evidence in the order in which it is spoken of; numbers begin at 1."""

    wholes: Sequence[Evidence] = ()  # what may stand for a piece of it
    evidence: list[Evidence] = field(default_factory=list)
    citations: tuple[Citation, ...] = ()
    left_out: int = 0  # sentences whose places did not fit
    _numbers: dict[_Key, int] = field(default_factory=dict)

    def place(self, evidence: Evidence) -> int | None:
        """Return the number of *evidence*, a new one where there is room; None where there is none."""
        if evidence.end_line > evidence.start_line:
            around = [each for each in self.wholes if _is_piece(evidence, each) and _lines(each) <= _LONGEST]
            evidence = max(around, key=_lines, default=evidence)
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


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence on the card, for which part of the goal, and whether that asks it."""

    part: int
    asked: bool
    sentence: Sentence


def composed(findings: Sequence[Finding]) -> tuple[Card, list[Line]]:
    """Return the card of *findings* and the sentences on it, each once.

    What was asked comes before what stands beside it, each in the order of the goal's parts. Calls that are asked for are
    not told again in their order. Pieces of one definition that have more than one line share the number of all of it.
    """
    card = Card(wholes=[each for finding in findings for each in finding.evidence if each.kind in CALLABLES])
    asked = {_where(each.evidence[0]) for each in findings if each.calls and each.asked and each.evidence}
    findings = [each for each in findings if not each.calls or each.asked or _where(each.evidence[0]) not in asked]
    ordered = sorted(findings, key=lambda finding: (not finding.asked, finding.part))
    lines: list[Line] = []
    for finding in ordered:
        again = 0
        for sentence in card.sentences(finding):
            if any(_says(other.sentence, sentence) for other in lines):
                again += sentence.text.endswith(_SURE)
            else:
                lines.append(Line(finding.part, finding.asked, sentence))
        if again:
            told = f"{again} of these {'calls' if again == 1 else 'call'} it directly, as told above."
            lines.append(Line(finding.part, finding.asked, Sentence(told, (), finding.origin)))
        for evidence in finding.evidence if not finding.said else ():
            card.place(evidence)
    return card, lines


def _where(evidence: Evidence) -> tuple[str, str, int]:
    return evidence.repo, evidence.path, evidence.start_line


def _says(other: Sentence, sentence: Sentence) -> bool:
    """Return whether *other* says all that *sentence* does: a call that was told is the nearest reach of a change, too."""
    if other.text == sentence.text:
        return True
    told, said = (_SURELY.sub(".", each.text).removesuffix(".") for each in (sentence, other))
    by_both = told != sentence.text.removesuffix(".") or said != other.text.removesuffix(".")
    beside = said == told or said.startswith(f"{told}, ")
    return by_both and beside and set(sentence.cites) <= set(other.cites)


def within(piece: Evidence, whole: Evidence) -> bool:
    """Return whether *piece* stands in the lines of *whole*."""
    same = (piece.repo, piece.path, piece.blob) == (whole.repo, whole.path, whole.blob)
    return same and whole.start_line <= piece.start_line and piece.end_line <= whole.end_line


def _is_piece(evidence: Evidence, whole: Evidence) -> bool:
    return evidence.symbol == whole.symbol and within(evidence, whole)


def _lines(evidence: Evidence) -> int:
    return evidence.end_line - evidence.start_line + 1


def cited(sentence: Sentence, citations: Sequence[Citation]) -> bool:
    """Return whether every place that *sentence* rests on stands where the card says."""
    return all(citations[number - 1].span.verified for number in sentence.cites)


def numbered(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return *citations*, numbered in their order."""
    return tuple(replace(each, n=n) for n, each in enumerate(citations, start=1))
