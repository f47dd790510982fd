"""From what was found to what a tool gives: text for a model that fits, rows for a program, lines for people to check."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.base.paths import display, shown
from appliance.codeintel.results import Freshness, Span
from appliance.contracts.tools import Evidence, Json, ToolOutput
from appliance.orchestrator.fence import Fenced, fenced, named, visible

MOST_TEXT: Final = 4_000
"""Characters of foreign text in one output."""

_LONGEST_LINE: Final = 300
_MOST_EVIDENCE: Final = 4_000  # characters of one
_MOST_DATA: Final = 200_000  # characters, as JSON
_MOST_WARNINGS: Final = 5
_LONGEST_WARNING: Final = 300


Row = dict[str, Json]


class Rests(Protocol):
    """What every list rests on."""

    @property
    def freshness(self) -> tuple[Freshness, ...]:
        """Which state of each repo was read."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing."""


@dataclass(frozen=True, slots=True)
class Resting:
    """What one file, or one repository, rests on."""

    freshness: tuple[Freshness, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was found: a head of one line and what stands there, its row, and the lines that prove it."""

    head: str
    row: Mapping[str, Json]
    text: str = ""
    evidence: Evidence | None = None
    lines: int = 12  # of the text, at most, that a model sees


def told(
    what: str,
    entries: Sequence[Entry],
    rests: Rests,
    *,
    total: int,
    label: str = "code",
    most: int = MOST_TEXT,
    facts: Mapping[str, Json] | None = None,
) -> ToolOutput:
    """Return *entries*, as many in the text as fit, of *total* that are called *what*.

    An empty list says whether it is sure to be one: something that could not be looked at is no proof of absence.
    """
    blocks = list(doubts(rests))
    used, count = sum(len(block) + 1 for block in blocks), 0
    for entry in entries:
        block = "\n".join((_line(entry.head), *clipped(entry.text, most=entry.lines)))
        used += len(block) + 1
        if count and used > most:
            break
        blocks.append(block)
        count += 1
    inside = fenced("\n".join(blocks), label=label, most=most) if blocks else Fenced("", cut=False)
    cut = inside.cut or count < total
    head = f"{count:,} of {total:,} {what}:" if total else _none(what, rests)
    return ToolOutput(
        text="\n".join(filter(None, (head, inside.text, *notes(rests, cut=cut)))),
        data={
            **(facts or {}),
            "total": total,
            "complete": not rests.warnings,
            "items": _rows(entries),
        },
        evidence=tuple(each.evidence for each in entries if each.evidence is not None),
        warnings=tuple(visible(warning) for warning in rests.warnings),
        cut=cut,
    )


def notes(rests: Rests, *, cut: bool) -> Iterable[str]:
    """Yield what a model must know of a result beside what is in it."""
    if cut:
        yield "There is more than is shown: narrow the question."
    for each in rests.freshness:
        if each.behind:
            yield f"note: {visible(display(each.repo_name))} has {each.behind:,} commits that are not indexed yet."
        if each.dirty:
            yield f"note: {visible(display(each.repo_name))} has changes that no commit has: they are not seen."


def doubts(rests: Rests) -> Iterable[str]:
    """Yield what could not be looked at, for inside of a fence: there are names in it that strangers chose."""
    for warning in rests.warnings[:_MOST_WARNINGS]:
        yield f"note: {warning[:_LONGEST_WARNING]}"


def clipped(text: str, *, most: int) -> list[str]:
    """Return the first *most* lines of *text*, shortened; it is for a model, evidence is whole."""
    lines = [_line(line) for line in text.split("\n")[:most]] if text else []
    more = text.count("\n") + 1 - len(lines) if text else 0
    return [*lines, f"… {more:,} more lines"] if more else lines


def place(span: Span) -> str:
    """Return how a model is told where something stands: it gives it back to another tool so."""
    return f"{span.repo_name}: {display(span.path)}:{span.start_line}-{span.end_line}"


def where(span: Span) -> Row:
    """Return where something stands, as data."""
    return {
        "repo": span.repo_name,
        "path": display(span.path),
        "start_line": span.start_line,
        "end_line": span.end_line,
        "commit": span.commit,
        "verified": span.verified,
    }


def proof(span: Span, text: str, *, symbol: str = "", kind: str = "", why: str = "") -> Evidence | None:
    """Return the first lines of *span*, whose text is *text*, whole and as they stand; None where there are none."""
    lines: list[str] = []
    used = 0
    for line in text.split("\n"):
        used += len(line) + 1
        if lines and used > _MOST_EVIDENCE:
            break
        lines.append(line)
    if not text or used > 2 * _MOST_EVIDENCE:  # one endless line
        return None
    last = min(span.end_line, span.start_line + len(lines) - 1)
    return Evidence(
        repo=span.repo,
        repo_name=span.repo_name,
        path=span.path,
        start_line=span.start_line,
        end_line=last,
        blob=span.blob,
        commit=span.commit,
        text="\n".join(lines),
        symbol=symbol,
        kind=kind,
        why=why,
    )


def label_of(path: str) -> str:
    """Return the label of text that stands in the file at *path*."""
    return named(display(path))


def _rows(entries: Sequence[Entry]) -> list[Json]:
    """Return the rows of *entries*, as many as one call may give: paths can be endless."""
    rows: list[Json] = []
    left = _MOST_DATA
    for each in entries:
        left -= len(json.dumps(dict(each.row)))
        if left < 0:
            break
        rows.append(dict(each.row))
    return rows


def _none(what: str, rests: Rests) -> str:
    return f"No {what}." if not rests.warnings else f"No {what} found, but not everything could be looked at."


def _line(text: str) -> str:
    plain = shown(text).replace("\n", " ")
    return plain if len(plain) <= _LONGEST_LINE else f"{plain[:_LONGEST_LINE]}…"
