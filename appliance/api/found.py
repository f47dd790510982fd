"""What was found, on the wire: lines, where they stand, and what a page of them rests on."""

import os
from typing import TypedDict
from urllib.parse import quote, urlencode

from pydantic import Field

from appliance.api.schemas import FreshnessOut, Output
from appliance.base.paths import display, shown
from appliance.codeintel.results import (
    Citation,
    DefinitionHit,
    Hit,
    ImpactHit,
    SearchResponse,
    Signal,
    Span,
)


class Numbered(Output):
    """Something that sentences cite by its number."""

    n: int


class InRepo(Output):
    """Something of a repository."""

    repo: str
    repo_name: str


class PlaceOut(Output):
    """Lines of one blob at one commit. ``verified`` speaks of the location, never of prose about it."""

    path: str
    start_line: int
    end_line: int
    blob: str
    commit: str
    verified: bool


class LinesOut(PlaceOut, InRepo):
    """Lines, the address that gives them, and the definition that they are of."""

    href: str
    symbol: str
    kind: str


class Place(TypedDict):
    """The members of a `PlaceOut`."""

    path: str
    start_line: int
    end_line: int
    blob: str
    commit: str
    verified: bool


class Lines(Place):
    """The members of a `LinesOut`."""

    repo: str
    repo_name: str
    href: str
    symbol: str
    kind: str


def place_of(span: Span) -> Place:
    """Return *span* for the wire."""
    return Place(
        path=display(span.path),
        start_line=span.start_line,
        end_line=span.end_line,
        blob=span.blob,
        commit=span.commit,
        verified=span.verified,
    )


def lines_of(found: Hit | Citation | ImpactHit | DefinitionHit) -> Lines:
    """Return where *found* stands, for the wire."""
    span = found.span
    return Lines(
        **place_of(span),
        repo=span.repo,
        repo_name=span.repo_name,
        href=href(span),
        symbol=display(found.symbol),
        kind=found.kind,
    )


class HitOut(LinesOut):
    """One search result."""

    language: str
    score: float
    why: list[str]
    text: str
    columns: list[tuple[int, int]] = Field(
        description="Of one line: where what was looked for begins, from 1, and the column after its end."
    )
    also: list[str] = Field(description="The first 20 other places where the same code stands, or nearly the same.")

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        """Return *hit* for the wire."""
        return cls(
            **lines_of(hit),
            language=hit.language,
            score=hit.score,
            why=[display(reason) for reason in hit.why],
            text=shown(hit.text),
            columns=list(hit.columns),
            also=list(hit.also),
        )


class SearchOut(Output):
    """Results, best first, and what they rest on."""

    query: str
    hits: list[HitOut]
    total: int = Field(description="Candidates that were ranked; of patterns alone, all lines that fit.")
    truncated: bool
    next_offset: int | None
    signals: list[Signal]
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float] = Field(description="Milliseconds by step.")

    @classmethod
    def of(cls, response: SearchResponse, *, offset: int) -> "SearchOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            query=shown(response.query),
            hits=[HitOut.of(hit) for hit in response.hits],
            total=response.total,
            truncated=response.truncated,
            next_offset=offset + len(response.hits) if response.truncated and response.hits else None,
            signals=list(response.signals),
            freshness=[FreshnessOut.of(fresh) for fresh in response.freshness],
            warnings=[display(warning) for warning in response.warnings],
            timings=response.timings,
        )


def href(span: Span) -> str:
    """Return the address that gives the lines of *span*: also for a path that is not UTF-8."""
    query = urlencode({"commit": span.commit, "start": span.start_line, "end": span.end_line})
    return f"/api/v1/repos/{quote(span.repo, safe='')}/file?path={quote(os.fsencode(span.path), safe='/')}&{query}"
