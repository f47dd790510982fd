"""What was found, on the wire: lines, where they stand, and what a page of them rests on."""

import os
from typing import TypedDict
from urllib.parse import quote, urlencode

from pydantic import Field

from appliance.api.schemas import FreshnessOut, Output
from appliance.base.paths import display, shown
from appliance.codeintel.results import (
    CallHit,
    CallsResponse,
    Citation,
    Direction,
    Hit,
    ImpactHit,
    ImpactResponse,
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


def lines_of(found: Hit | Citation | ImpactHit) -> Lines:
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

    @classmethod
    def of(cls, hit: Hit) -> "HitOut":
        """Return *hit* for the wire."""
        return cls(
            **lines_of(hit),
            language=hit.language,
            score=hit.score,
            why=[display(reason) for reason in hit.why],
            text=shown(hit.text),
        )


class SearchOut(Output):
    """Results, best first, and what they rest on."""

    query: str
    hits: list[HitOut]
    total: int = Field(description="Candidates that were ranked.")
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


class CallOut(PlaceOut, InRepo):
    """A call, the address that gives its line, and how surely it is one."""

    href: str
    caller: str = Field(description="Qualified name; empty at the top level of a file.")
    callee: str
    inside: bool = Field(description="Whether what is called stands in the repository.")
    kind: str = Field(description="call, decorator, raise, iter, with or get.")
    how: str = Field(description="name, self, type, value, protocol or candidate.")
    confidence: float
    text: str

    @classmethod
    def of(cls, call: CallHit) -> "CallOut":
        """Return *call* for the wire."""
        return cls(
            **place_of(call.span),
            repo=call.span.repo,
            repo_name=call.span.repo_name,
            href=href(call.span),
            caller=display(call.caller),
            callee=display(call.callee),
            inside=call.inside,
            kind=call.kind,
            how=call.how,
            confidence=call.confidence,
            text=shown(call.text),
        )


class DefinitionOut(LinesOut, Numbered):
    """A definition of the name that was asked for."""

    @classmethod
    def of(cls, citation: Citation) -> "DefinitionOut":
        """Return *citation* for the wire."""
        return cls(n=citation.n, **lines_of(citation))


class CallsOut(Output):
    """Calls, and what they rest on."""

    name: str
    direction: Direction
    definitions: list[DefinitionOut]
    calls: list[CallOut]
    total: int
    truncated: bool
    next_offset: int | None
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float] = Field(description="Milliseconds by step.")

    @classmethod
    def of(cls, response: CallsResponse, *, offset: int) -> "CallsOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            direction=response.direction,
            definitions=[DefinitionOut.of(each) for each in response.definitions],
            calls=[CallOut.of(call) for call in response.calls],
            total=response.total,
            truncated=response.truncated,
            next_offset=offset + len(response.calls) if response.truncated else None,
            freshness=[FreshnessOut.of(fresh) for fresh in response.freshness],
            warnings=[display(warning) for warning in response.warnings],
            timings=response.timings,
        )


class ReachedOut(LinesOut):
    """Something that a change reaches, by the call that stands there."""

    via: str = Field(description="What it calls on the way.")
    steps: int = Field(description="How many calls away it is.")
    confidence: float
    test: bool
    text: str

    @classmethod
    def of(cls, hit: ImpactHit) -> "ReachedOut":
        """Return *hit* for the wire."""
        return cls(
            **lines_of(hit),
            via=display(hit.via),
            steps=hit.steps,
            confidence=hit.confidence,
            test=hit.test,
            text=shown(hit.text),
        )


class ImpactOut(Output):
    """What a change can reach, nearest first, and what that rests on."""

    name: str
    definitions: list[DefinitionOut]
    reached: list[ReachedOut]
    total: int
    tests: int = Field(description="How many of all stand in tests.")
    truncated: bool
    next_offset: int | None
    cut: bool = Field(description="Whether there is more than was looked at.")
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float] = Field(description="Milliseconds by step.")

    @classmethod
    def of(cls, response: ImpactResponse, *, offset: int) -> "ImpactOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            definitions=[DefinitionOut.of(each) for each in response.definitions],
            reached=[ReachedOut.of(each) for each in response.reached],
            total=response.total,
            tests=response.tests,
            truncated=response.truncated,
            next_offset=offset + len(response.reached) if response.truncated else None,
            cut=response.cut,
            freshness=[FreshnessOut.of(fresh) for fresh in response.freshness],
            warnings=[display(warning) for warning in response.warnings],
            timings=response.timings,
        )


def href(span: Span) -> str:
    """Return the address that gives the lines of *span*: also for a path that is not UTF-8."""
    query = urlencode({"commit": span.commit, "start": span.start_line, "end": span.end_line})
    return f"/api/v1/repos/{quote(span.repo, safe='')}/file?path={quote(os.fsencode(span.path), safe='/')}&{query}"
