"""What the graph says, on the wire: definitions, what uses them, and what each list rests on."""

from typing import TypedDict

from pydantic import Field

from appliance.api.found import InRepo, LinesOut, Numbered, PlaceOut, href, lines_of, place_of
from appliance.api.schemas import FreshnessOut, Output
from appliance.base.paths import display, shown
from appliance.codeintel.results import (
    CallHit,
    CallsResponse,
    Citation,
    DefinitionHit,
    DefinitionsResponse,
    Direction,
    Hop,
    ImpactHit,
    ImpactResponse,
    Listing,
    PathResponse,
    ReferenceHit,
    ReferencesResponse,
    Span,
)


class ListingOut(Output):
    """What a list rests on."""

    total: int
    truncated: bool
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float] = Field(description="Milliseconds by step.")


class PageOut(ListingOut):
    """A page of a list, and where the next one begins."""

    next_offset: int | None


class Rest(TypedDict):
    """The members of a `ListingOut`."""

    total: int
    truncated: bool
    freshness: list[FreshnessOut]
    warnings: list[str]
    timings: dict[str, float]


class PageRest(Rest):
    """The members of a `PageOut`."""

    next_offset: int | None


def rest_of(listing: Listing) -> Rest:
    """Return what *listing* rests on, for the wire."""
    return Rest(
        total=listing.total,
        truncated=listing.truncated,
        freshness=[FreshnessOut.of(fresh) for fresh in listing.freshness],
        warnings=[display(warning) for warning in listing.warnings],
        timings=listing.timings,
    )


def page_rest_of(listing: Listing, *, offset: int, shown_: int) -> PageRest:
    """Return what *listing*, of which *shown_* entries from *offset* on are given, rests on."""
    return PageRest(**rest_of(listing), next_offset=offset + shown_ if listing.truncated else None)


class CitedOut(LinesOut, Numbered):
    """A definition of the name that was asked for."""

    @classmethod
    def of(cls, citation: Citation) -> "CitedOut":
        """Return *citation* for the wire."""
        return cls(n=citation.n, **lines_of(citation))


class UseOut(PlaceOut, InRepo):
    """A line where something is used, the address that gives it, and how surely it is so."""

    href: str
    kind: str = Field(description="Of calls: call, decorator, raise, iter, with, get, implied; else inherits, implements, …")
    how: str = Field(description="name, self, type, value, protocol or candidate.")
    confidence: float
    text: str


class Used(TypedDict):
    """The members of a `UseOut` that every use has in the same way."""

    path: str
    start_line: int
    end_line: int
    blob: str
    commit: str
    verified: bool
    repo: str
    repo_name: str
    href: str
    kind: str
    how: str
    confidence: float
    text: str


def used(use: CallHit | ReferenceHit | Hop) -> Used:
    """Return where and how *use* is one, for the wire."""
    span: Span = use.span
    return Used(
        **place_of(span),
        repo=span.repo,
        repo_name=span.repo_name,
        href=href(span),
        kind=use.kind,
        how=use.how,
        confidence=use.confidence,
        text=shown(use.text),
    )


class CallOut(UseOut):
    """A call."""

    caller: str = Field(description="Qualified name; empty at the top level of a file.")
    callee: str
    inside: bool = Field(description="Whether what is called stands in the repository.")

    @classmethod
    def of(cls, call: CallHit) -> "CallOut":
        """Return *call* for the wire."""
        return cls(**used(call), caller=display(call.caller), callee=display(call.callee), inside=call.inside)


class CallsOut(PageOut):
    """Calls, and what they rest on."""

    name: str
    direction: Direction
    definitions: list[CitedOut]
    calls: list[CallOut]

    @classmethod
    def of(cls, response: CallsResponse, *, offset: int) -> "CallsOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            direction=response.direction,
            definitions=[CitedOut.of(each) for each in response.definitions],
            calls=[CallOut.of(call) for call in response.calls],
            **page_rest_of(response, offset=offset, shown_=len(response.calls)),
        )


class ReachedOut(LinesOut):
    """Something that a change reaches, by the use that stands there."""

    via: str = Field(description="What it uses on the way.")
    steps: int = Field(description="How many uses away it is.")
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


class TogetherOut(Output):
    """A file that git changed together with the one that the definition stands in."""

    path: str
    times: int
    commits: int = Field(description="Of how many commits of that file.")


class ImpactOut(PageOut):
    """What a change can reach, nearest first, and what that rests on."""

    name: str
    definitions: list[CitedOut]
    reached: list[ReachedOut]
    tests: int = Field(description="How many of all stand in tests.")
    cut: bool = Field(description="Whether there is more than was looked at.")
    together: list[TogetherOut] = Field(description="What git changed together with it.")
    unresolved: float = Field(description="Share of the calls of the scope that could not be told, 0 to 1.")

    @classmethod
    def of(cls, response: ImpactResponse, *, offset: int) -> "ImpactOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            definitions=[CitedOut.of(each) for each in response.definitions],
            reached=[ReachedOut.of(each) for each in response.reached],
            tests=response.tests,
            cut=response.cut,
            together=[TogetherOut(path=display(e.path), times=e.times, commits=e.commits) for e in response.together],
            unresolved=response.unresolved,
            **page_rest_of(response, offset=offset, shown_=len(response.reached)),
        )


class DefinitionOut(LinesOut):
    """A definition, and how surely it is what was meant."""

    name: str
    signature: str
    doc: str
    how: str
    confidence: float
    text: str

    @classmethod
    def of(cls, hit: DefinitionHit) -> "DefinitionOut":
        """Return *hit* for the wire."""
        return cls(
            **lines_of(hit),
            name=display(hit.name),
            signature=display(hit.signature),
            doc=shown(hit.doc),
            how=hit.how,
            confidence=hit.confidence,
            text=shown(hit.text),
        )


class DefinitionsOut(PageOut):
    """What a name, or a place where one stands, means."""

    name: str
    definitions: list[DefinitionOut]

    @classmethod
    def of(cls, response: DefinitionsResponse, *, offset: int) -> "DefinitionsOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            definitions=[DefinitionOut.of(each) for each in response.definitions],
            **page_rest_of(response, offset=offset, shown_=len(response.definitions)),
        )


class ReferenceOut(UseOut):
    """A use of a definition."""

    inside: str = Field(description="What it stands in; empty at the top level of a file.")
    symbol: str = Field(description="What is used.")
    test: bool

    @classmethod
    def of(cls, hit: ReferenceHit) -> "ReferenceOut":
        """Return *hit* for the wire."""
        return cls(**used(hit), inside=display(hit.inside), symbol=display(hit.symbol), test=hit.test)


class ReferencesOut(PageOut):
    """The uses of a definition, of every kind."""

    name: str
    definitions: list[CitedOut]
    references: list[ReferenceOut]
    kinds: dict[str, int] = Field(description="How many of all there are of each kind.")

    @classmethod
    def of(cls, response: ReferencesResponse, *, offset: int) -> "ReferencesOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            definitions=[CitedOut.of(each) for each in response.definitions],
            references=[ReferenceOut.of(each) for each in response.references],
            kinds=response.kinds,
            **page_rest_of(response, offset=offset, shown_=len(response.references)),
        )


class HopOut(UseOut):
    """A step of a way: at this line ``source`` uses ``target``."""

    source: str
    target: str

    @classmethod
    def of(cls, hop: Hop) -> "HopOut":
        """Return *hop* for the wire."""
        return cls(**used(hop), source=display(hop.source), target=display(hop.target))


class PathOut(ListingOut):
    """The surest way from one definition to another; without hops none could be followed."""

    start: str
    end: str
    hops: list[HopOut]
    confidence: float

    @classmethod
    def of(cls, response: PathResponse) -> "PathOut":
        """Return *response* for the wire."""
        return cls(
            start=shown(response.start),
            end=shown(response.end),
            hops=[HopOut.of(hop) for hop in response.hops],
            confidence=response.confidence,
            **rest_of(response),
        )
