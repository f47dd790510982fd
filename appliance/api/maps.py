"""Outlines, maps, histories and packs of evidence, on the wire."""

from pydantic import Field

from appliance.api.found import InRepo, LinesOut, Numbered, PlaceOut, href, lines_of, place_of
from appliance.api.graphs import CitedOut, ListingOut, PageOut, page_rest_of, rest_of
from appliance.api.schemas import Output
from appliance.base.paths import display, shown
from appliance.codeintel.results import (
    Change,
    Citation,
    ContextResponse,
    HistoryResponse,
    MapFile,
    OutlineEntry,
    OutlineResponse,
    RepomapResponse,
)


class EntryOut(Output):
    """A definition of a file."""

    name: str
    symbol: str
    kind: str
    signature: str
    doc: str
    start_line: int
    end_line: int
    depth: int = Field(description="How many definitions are around it.")

    @classmethod
    def of(cls, entry: OutlineEntry) -> "EntryOut":
        """Return *entry* for the wire."""
        return cls(
            name=display(entry.name),
            symbol=display(entry.symbol),
            kind=entry.kind,
            signature=display(entry.signature),
            doc=shown(entry.doc),
            start_line=entry.start_line,
            end_line=entry.end_line,
            depth=entry.depth,
        )


class FilePlaceOut(PlaceOut, InRepo):
    """All of a file, and the address that gives it."""

    href: str


class OutlineOut(PageOut):
    """What one file defines, in the order of lines."""

    file: FilePlaceOut
    language: str
    entries: list[EntryOut]

    @classmethod
    def of(cls, response: OutlineResponse, *, offset: int) -> "OutlineOut":
        """Return *response*, which began at *offset*, for the wire."""
        span = response.file
        file = FilePlaceOut(**place_of(span), repo=span.repo, repo_name=span.repo_name, href=href(span))
        return cls(
            file=file,
            language=response.language,
            entries=[EntryOut.of(each) for each in response.entries],
            **page_rest_of(response, offset=offset, shown_=len(response.entries)),
        )


class MapFileOut(FilePlaceOut):
    """A file of a map, and what of it most of the code leans on."""

    rank: float = Field(description="How much of the code leans on it; of all files together 1.")
    entries: list[EntryOut]

    @classmethod
    def of(cls, file: MapFile) -> "MapFileOut":
        """Return *file* for the wire."""
        return cls(
            **place_of(file.file),
            repo=file.file.repo,
            repo_name=file.file.repo_name,
            href=href(file.file),
            rank=file.rank,
            entries=[EntryOut.of(each) for each in file.entries],
        )


class RepomapOut(ListingOut):
    """What matters most, within a budget of tokens."""

    files: list[MapFileOut]
    text: str
    tokens: int
    budget: int

    @classmethod
    def of(cls, response: RepomapResponse) -> "RepomapOut":
        """Return *response* for the wire."""
        return cls(
            files=[MapFileOut.of(each) for each in response.files],
            text=shown(response.text),
            tokens=response.tokens,
            budget=response.budget,
            **rest_of(response),
        )


class PieceOut(LinesOut, Numbered):
    """Lines of the evidence."""

    text: str

    @classmethod
    def of(cls, citation: Citation) -> "PieceOut":
        """Return *citation* for the wire."""
        return cls(n=citation.n, **lines_of(citation), text=shown(citation.text))


class ContextOut(ListingOut):
    """The lines that bear on a question, within a budget of tokens."""

    question: str
    evidence: list[PieceOut]
    text: str
    tokens: int
    budget: int

    @classmethod
    def of(cls, response: ContextResponse) -> "ContextOut":
        """Return *response* for the wire."""
        return cls(
            question=shown(response.question),
            evidence=[PieceOut.of(each) for each in response.evidence],
            text=shown(response.text),
            tokens=response.tokens,
            budget=response.budget,
            **rest_of(response),
        )


class ChangeOut(Output):
    """A commit that changed a definition."""

    commit: str
    author: str
    date: str
    summary: str

    @classmethod
    def of(cls, change: Change) -> "ChangeOut":
        """Return *change* for the wire."""
        return cls(commit=change.commit, author=display(change.author), date=change.date, summary=display(change.summary))


class HistoryOut(PageOut):
    """Who changed a definition and when, newest first."""

    name: str
    definitions: list[CitedOut]
    changes: list[ChangeOut]

    @classmethod
    def of(cls, response: HistoryResponse, *, offset: int) -> "HistoryOut":
        """Return *response*, which began at *offset*, for the wire."""
        return cls(
            name=shown(response.name),
            definitions=[CitedOut.of(each) for each in response.definitions],
            changes=[ChangeOut.of(each) for each in response.changes],
            **page_rest_of(response, offset=offset, shown_=len(response.changes)),
        )
