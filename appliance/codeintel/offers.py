"""What code intelligence offers to who asks it: `Searcher` and `GraphReader`, and whatever stands in for them."""

from collections.abc import Sequence
from typing import Protocol

from appliance.codeintel.results import (
    CallsResponse,
    ContextResponse,
    DefinitionsResponse,
    Direction,
    HistoryResponse,
    ImpactResponse,
    OutlineResponse,
    PathResponse,
    ReferencesResponse,
    RepomapResponse,
    Scope,
    SearchResponse,
    Subject,
)
from appliance.ids import RepoId


class Searching(Protocol):
    """What finds code."""

    async def search(self, query: str, *, scope: Scope, limit: int = 20, offset: int = 0) -> SearchResponse:
        """Return the hits for *query* from *offset* on."""


class Graphing(Protocol):
    """What knows definitions, and what uses what. A subject is a name, or a place where one stands."""

    async def definition(self, subject: Subject, *, scope: Scope, limit: int = 50, offset: int = 0) -> DefinitionsResponse:
        """Return what *subject* means."""

    async def references(self, subject: Subject, *, scope: Scope, limit: int = 50, offset: int = 0) -> ReferencesResponse:
        """Return the uses of what *subject* means, of whatever kind."""

    async def calls(
        self, subject: Subject, direction: Direction, *, scope: Scope, limit: int = 50, offset: int = 0
    ) -> CallsResponse:
        """Return the calls of what *subject* means, or those in it."""

    async def impact(
        self, subject: Subject, *, scope: Scope, steps: int = 5, limit: int = 50, offset: int = 0
    ) -> ImpactResponse:
        """Return what a change of what *subject* means can reach."""

    async def outline(self, repo: RepoId, path: str, *, scope: Scope, limit: int = 1000, offset: int = 0) -> OutlineResponse:
        """Return what the file at *path* of *repo* defines."""

    async def path(self, start: Subject, end: Subject, *, scope: Scope) -> PathResponse:
        """Return the surest way from what *start* means to what *end* means."""

    async def history(self, subject: Subject, *, scope: Scope, limit: int = 50, offset: int = 0) -> HistoryResponse:
        """Return who changed what *subject* means, and when."""

    async def repomap(self, *, scope: Scope, tokens: int = 1000, focus: Sequence[str] = ()) -> RepomapResponse:
        """Return the files and definitions that most of the code leans on, or most of *focus*."""

    async def context(self, question: str, *, scope: Scope, tokens: int = 1600) -> ContextResponse:
        """Return the lines that bear on *question*."""
