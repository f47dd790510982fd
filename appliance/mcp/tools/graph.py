"""Definitions, and what uses what."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.results import CallHit, Citation, DefinitionHit, Direction, ImpactHit, ReferenceHit
from appliance.mcp import found, results
from appliance.mcp.arguments import Impact, Named
from appliance.mcp.pages import Page, Rest
from appliance.mcp.replies import Progress, Reply
from appliance.mcp.tools.asked import read, subject_of
from appliance.services import Services

_MOST_DEFINITIONS: Final = 5
_MOST_TOGETHER: Final = 5
_HINT: Final = "Go on with next_cursor, or narrow it: a more exact name (Class.method), fewer repos."


async def definition(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of what has a name."""
    del progress
    asked = read(Named, given)
    page = Page("definition", asked)
    subject, scope = await subject_of(services, asked)
    response = await services.graphs.definition(subject, scope=scope, limit=page.limit, offset=page.offset)

    def made(definitions: Sequence[DefinitionHit], rest: Rest) -> results.Definitions:
        return results.Definitions(
            definitions=[found.definition(each, most=page.text) for each in definitions],
            **rest,
            **found.base(response, used=[each.span.repo_name for each in definitions]),
        )

    return await page.fitted(response, response.definitions, made, hint=_HINT)


async def references(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of the uses of something."""
    del progress
    asked = read(Named, given)
    page = Page("references", asked)
    subject, scope = await subject_of(services, asked)
    response = await services.graphs.references(subject, scope=scope, limit=page.limit, offset=page.offset)

    def made(uses: Sequence[ReferenceHit], rest: Rest) -> results.References:
        return results.References(
            definitions=_some(response.definitions),
            kinds=response.kinds,
            references=[found.use(each) for each in uses],
            **rest,
            **found.base(response, used=[each.span.repo_name for each in uses], more=_rest_of(response.definitions)),
        )

    return await page.fitted(response, response.references, made, hint=_HINT)


async def callers(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of the calls of something."""
    del progress
    return await _calls(services, "callers", read(Named, given))


async def callees(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of the calls in something."""
    del progress
    return await _calls(services, "callees", read(Named, given))


async def impact(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return a page of what a change reaches."""
    del progress
    asked = read(Impact, given)
    page = Page("impact", asked)
    subject, scope = await subject_of(services, asked)
    response = await services.graphs.impact(subject, scope=scope, steps=asked.steps, limit=page.limit, offset=page.offset)
    more = [*_rest_of(response.definitions), *(["More is reached than was looked at."] if response.cut else [])]

    def made(reached: Sequence[ImpactHit], rest: Rest) -> results.Reach:
        return results.Reach(
            definitions=_some(response.definitions),
            tests=response.tests,
            unresolved=response.unresolved,
            together=[found.companion(each) for each in response.together[:_MOST_TOGETHER]],
            reached=[found.reached(each) for each in reached],
            **rest,
            **found.base(response, used=[each.span.repo_name for each in reached], more=more),
        )

    return await page.fitted(response, response.reached, made, hint=f"{_HINT[:-1]}, fewer steps.")


async def _calls(services: Services, direction: Direction, asked: Named) -> Reply:
    page = Page(direction, asked)
    subject, scope = await subject_of(services, asked)
    response = await services.graphs.calls(subject, direction, scope=scope, limit=page.limit, offset=page.offset)

    def made(calls: Sequence[CallHit], rest: Rest) -> results.Calls:
        return results.Calls(
            definitions=_some(response.definitions),
            calls=[found.call(each) for each in calls],
            **rest,
            **found.base(response, used=[each.span.repo_name for each in calls], more=_rest_of(response.definitions)),
        )

    return await page.fitted(response, response.calls, made, hint=_HINT)


def _some(definitions: Sequence[Citation]) -> list[results.Defined]:
    return [found.defined(each) for each in definitions[:_MOST_DEFINITIONS]]


def _rest_of(definitions: Sequence[Citation]) -> list[str]:
    more = len(definitions) - _MOST_DEFINITIONS
    return [f"{more} more definitions have this name; the list is of all of them together."] if more > 0 else []
