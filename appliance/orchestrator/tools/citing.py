"""From what tools found to citations: every place is held against its repository before anybody is shown it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from appliance.codeintel.citations import Place, Texts, cite
from appliance.codeintel.results import Citation
from appliance.codeintel.source.base import Source
from appliance.contracts.tools import Evidence, ToolContext
from appliance.errors import ApplianceError
from appliance.ids import BlobId, CommitId, RepoId
from appliance.orchestrator.tools.reach import CodeIndex

MOST_CITED: Final = 20


def place_of(evidence: Evidence) -> Place:
    """Return the lines of *evidence* as a place that may be cited."""
    return Place(
        repo=RepoId(evidence.repo),
        repo_name=evidence.repo_name,
        commit=CommitId(evidence.commit),
        path=evidence.path,
        blob=BlobId(evidence.blob),
        start_line=evidence.start_line,
        end_line=evidence.end_line,
        symbol=evidence.symbol,
        kind=evidence.kind,
        why=evidence.why,
    )


def citing(index: CodeIndex) -> Callable[[Sequence[Evidence], ToolContext], Awaitable[tuple[Citation, ...]]]:
    """Return what makes the first places of evidence, each once and of a granted repository, citations over *index*."""

    async def cites(evidence: Sequence[Evidence], context: ToolContext) -> tuple[Citation, ...]:
        granted = (place_of(each) for each in evidence if each.repo in context.grants.repos)
        places = list({place.span(): place for place in granted}.values())[:MOST_CITED]
        return await asyncio.to_thread(_cited, index, places)

    return cites


def _cited(index: CodeIndex, places: Sequence[Place]) -> tuple[Citation, ...]:
    sources: dict[RepoId, Source] = {}
    for repo in {place.repo for place in places}:
        with suppress(ApplianceError, OSError):  # its places are then cited as not verified
            sources[repo] = index.generations.source(repo)
    citations, _ = cite(places, texts=Texts(sources))
    return citations
