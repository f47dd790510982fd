"""Finding code by words, names and patterns."""

from fnmatch import fnmatchcase
from typing import Final

from appliance.codeintel.query.querylang import LONGEST_QUERY, parse
from appliance.codeintel.results import Hit
from appliance.contracts.tools import Evidence, ToolContext, ToolOutput
from appliance.errors import NotGranted
from appliance.orchestrator.tools.arguments import REPO, Given, number, schema, text
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.reach import CodeIndex, Reach
from appliance.orchestrator.tools.told import Entry, place, proof, told, where

_LIMIT: Final = 10
_MOST: Final = 30
_PART_OF_A_LINE: Final = "only a part of the line is shown"


def search_tools(index: CodeIndex) -> tuple[BuiltIn, ...]:
    """Return the tools of this family over *index*."""

    async def search_code(given: Given, context: ToolContext) -> ToolOutput:
        reach = await Reach.of(index, context)
        query, limit = given.needed("query"), given.limit(_LIMIT, most=_MOST)
        _refuse_others(query, reach)
        response = await index.searcher.search(query, scope=reach.scope(given.text("repo")), limit=limit)
        return told("results", [_entry(hit) for hit in response.hits], response, total=response.total)

    return (
        tool(
            "search_code",
            'Find code by words, names, content:"exact text" or /regex/; filters lang: path:',
            schema(["query"], query=text(LONGEST_QUERY), repo=REPO, limit=number(1, _MOST)),
            search_code,
            category="search",
        ),
    )


def _refuse_others(query: str, reach: Reach) -> None:
    """Raise `NotGranted` for a filter that names what was not granted: it would choose the scope instead of the grants."""
    parsed = parse(query)
    if parsed.of("branch"):
        raise NotGranted("A run reads the branches that it was granted.", remedy="Leave the branch: filter out.")
    for each in parsed.of("repo"):
        if not any(
            repo.id == each.value or fnmatchcase(repo.name.casefold(), each.value.casefold()) for repo in reach.repos
        ):
            reach.one(each.value)


def _entry(hit: Hit) -> Entry:
    why = "; ".join(hit.why)
    return Entry(
        head=f"{place(hit.span)}  {hit.symbol}{f'  ({why})' if why else ''}",
        row={**where(hit.span), "symbol": hit.symbol, "kind": hit.kind, "why": list(hit.why)},
        text=hit.text,
        evidence=_evidence(hit, why),
    )


def _evidence(hit: Hit, why: str) -> Evidence | None:
    return None if _PART_OF_A_LINE in hit.why else proof(hit.span, hit.text, symbol=hit.symbol, kind=hit.kind, why=why)
