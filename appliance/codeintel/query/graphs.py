"""Questions to the graph and the symbol table, page by page, as the doors ask them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from appliance.base.clock import Clock
from appliance.codeintel.query.asking import Asked, Page, ask
from appliance.codeintel.query.called import calls, reached
from appliance.codeintel.query.definitions import definitions
from appliance.codeintel.query.evidence import context, refuse_odd
from appliance.codeintel.query.history import history
from appliance.codeintel.query.impact import MOST_STEPS
from appliance.codeintel.query.outline import MOST_ENTRIES, outline
from appliance.codeintel.query.querylang import plain
from appliance.codeintel.query.ranks import Ranker
from appliance.codeintel.query.references import references
from appliance.codeintel.query.repomap import repomap
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.query.ways import way
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
    Subject,
)
from appliance.codeintel.store.generations import Generations
from appliance.ids import RepoId

MAP_TOKENS: Final = 1000
CONTEXT_TOKENS: Final = 1600
_PAGE: Final = 50


class GraphReader:
    """Answers questions to the graph.

    What a question is about is a name, which may be qualified (``Client.stream``, ``client.py`` before it, a module), or a
    place where a name stands. Each method raises `NotFound` when nothing of *scope* is indexed or has that name, with names
    that are near, and `InvalidInput` for a page, or a place, that cannot be.
    """

    def __init__(self, generations: Generations, searcher: Searcher, clock: Clock) -> None:
        self._generations = generations
        self._searcher = searcher
        self._clock = clock
        self._ranker = Ranker()

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

    async def path(self, start: Subject, end: Subject, *, scope: Scope) -> PathResponse:
        """Return the surest way from what *start* means to what *end* means, by what uses what."""
        return await asyncio.to_thread(lambda: way(self._ask(scope), start, end))

    async def history(self, subject: Subject, *, scope: Scope, limit: int = _PAGE, offset: int = 0) -> HistoryResponse:
        """Return who changed what *subject* means, and when, newest first.

        Raise `InvalidInput` for a plain folder, `DeadlineExceeded` where git takes too long to tell.
        """
        page = Page(limit, offset)
        return await asyncio.to_thread(lambda: history(self._ask(scope), subject, page))

    async def repomap(self, *, scope: Scope, tokens: int = MAP_TOKENS, focus: Sequence[str] = ()) -> RepomapResponse:
        """Return the files and definitions that most of the code leans on, or most of *focus*, in about so many *tokens*."""
        refuse_odd(tokens)
        return await asyncio.to_thread(lambda: repomap(self._ask(scope), self._ranker, tokens=tokens, focus=focus))

    async def context(self, question: str, *, scope: Scope, tokens: int = CONTEXT_TOKENS) -> ContextResponse:
        """Return the lines that bear on *question*, best first, that fit into so many *tokens*."""
        refuse_odd(tokens)
        gathered = await self._searcher.gather(plain(question), scope=scope)
        return await asyncio.to_thread(lambda: context(self._ask(scope), question, gathered, tokens))

    def _ask(self, scope: Scope) -> Asked:
        return ask(self._generations, self._clock, scope)
