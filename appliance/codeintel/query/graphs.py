"""Questions to the graph and the symbol table, page by page, as the doors ask them."""

import asyncio
from dataclasses import replace
from typing import Final

from appliance.base.clock import Clock
from appliance.codeintel.query.asking import Asked, Page, ask
from appliance.codeintel.query.called import calls, reached
from appliance.codeintel.query.definitions import definitions
from appliance.codeintel.query.impact import MOST_STEPS
from appliance.codeintel.query.outline import MOST_ENTRIES, outline
from appliance.codeintel.query.references import references
from appliance.codeintel.results import (
    CallsResponse,
    DefinitionsResponse,
    Direction,
    ImpactResponse,
    OutlineResponse,
    ReferencesResponse,
    Scope,
    Subject,
)
from appliance.codeintel.store.generations import Generations
from appliance.ids import RepoId

_PAGE: Final = 50


class GraphReader:
    """Answers questions to the graph.

    What a question is about is a name, which may be qualified (``Client.stream``, ``client.py`` before it, a module), or a
    place where a name stands. Each method raises `NotFound` when nothing of *scope* is indexed or has that name, with names
    that are near, and `InvalidInput` for a page, or a place, that cannot be.
    """

    def __init__(self, generations: Generations, clock: Clock) -> None:
        self._generations = generations
        self._clock = clock

    async def definition(
        self, subject: Subject, *, scope: Scope, limit: int = _PAGE, offset: int = 0
    ) -> DefinitionsResponse:
        """Return what *subject* means."""
        page = Page(limit, offset)
        return await asyncio.to_thread(lambda: definitions(self._ask(scope), subject, page))

    async def references(self, subject: Subject, *, scope: Scope, limit: int = _PAGE, offset: int = 0) -> ReferencesResponse:
        """Return the uses of what *subject* means, of whatever kind."""
        page = Page(limit, offset)
        return await asyncio.to_thread(lambda: references(self._ask(scope), subject, page))

    async def calls(
        self, subject: Subject, direction: Direction, *, scope: Scope, limit: int = _PAGE, offset: int = 0
    ) -> CallsResponse:
        """Return the calls of what *subject* means, or those in it."""
        page = Page(limit, offset)
        return await asyncio.to_thread(lambda: calls(self._ask(scope), subject, direction, page))

    async def impact(
        self, subject: Subject, *, scope: Scope, steps: int = MOST_STEPS, limit: int = _PAGE, offset: int = 0
    ) -> ImpactResponse:
        """Return what a change of what *subject* means can reach within *steps* calls."""
        page = Page(limit, offset)
        return await asyncio.to_thread(lambda: reached(self._ask(scope), subject, steps, page))

    async def outline(
        self, repo: RepoId, path: str, *, scope: Scope, limit: int = MOST_ENTRIES, offset: int = 0
    ) -> OutlineResponse:
        """Return what the file at *path* of *repo* defines."""
        page, of = Page(limit, offset, most=MOST_ENTRIES), replace(scope, repos=(repo,))
        return await asyncio.to_thread(lambda: outline(self._ask(of), path, page))

    def _ask(self, scope: Scope) -> Asked:
        return ask(self._generations, self._clock, scope)
