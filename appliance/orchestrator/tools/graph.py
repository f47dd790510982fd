"""Definitions, and what uses what: exact from the graph, each with how it is known and how sure that is."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.results import (
    CallHit,
    Citation,
    DefinitionHit,
    Direction,
    Hop,
    ImpactHit,
    ReferenceHit,
    Scope,
)
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.orchestrator.tools.arguments import LONGEST_NAME, NAME, REPO, Given, number, schema, text
from appliance.orchestrator.tools.built_in import BuiltIn, tool
from appliance.orchestrator.tools.reach import CodeIndex, Reach
from appliance.orchestrator.tools.told import Entry, Row, place, proof, told, where

_LIMIT: Final = 20
_MOST: Final = 50
_TOP: Final = "(top level)"

Ask = Callable[[CodeIndex, Given, Scope, int], Awaitable[ToolOutput]]


def graph_tools(index: CodeIndex) -> tuple[BuiltIn, ...]:
    """Return the tools of this family over *index*."""

    async def ask(asked: Ask, given: Given, context: ToolContext) -> ToolOutput:
        reach = await Reach.of(index, context)
        return await asked(index, given, reach.scope(given.text("repo")), given.limit(_LIMIT, most=_MOST))

    def named(name: str, description: str, asked: Ask) -> BuiltIn:
        parameters = schema(["name"], name=NAME, repo=REPO, limit=number(1, _MOST))
        return tool(name, description, parameters, partial(ask, asked), category="graph")

    end = text(LONGEST_NAME)
    return (
        named("definition", "Find where a name is defined.", _definition),
        named("references", "List every use of a definition.", _references),
        named("callers", "List what calls a function or class.", partial(_calls, "callers")),
        named("callees", "List what a function or class calls.", partial(_calls, "callees")),
        named("impact", "List what a change of it may break.", _impact),
        tool(
            "path_between",
            "Find how one name comes to use another.",
            schema(["start", "end"], start=end, end=end, repo=REPO),
            partial(ask, _path),
            category="graph",
        ),
    )


async def _definition(index: CodeIndex, given: Given, scope: Scope, limit: int) -> ToolOutput:
    found = await index.graphs.definition(given.needed("name"), scope=scope, limit=limit)
    return told("definitions", [_defined(each) for each in found.definitions], found, total=found.total)


async def _references(index: CodeIndex, given: Given, scope: Scope, limit: int) -> ToolOutput:
    found = await index.graphs.references(given.needed("name"), scope=scope, limit=limit)
    facts: Row = {**_of(found.definitions), "kinds": found.kinds}
    return told("uses", [_use(each) for each in found.references], found, total=found.total, facts=facts)


async def _calls(direction: Direction, index: CodeIndex, given: Given, scope: Scope, limit: int) -> ToolOutput:
    found = await index.graphs.calls(given.needed("name"), direction, scope=scope, limit=limit)
    return told("calls", [_call(each) for each in found.calls], found, total=found.total, facts=_of(found.definitions))


async def _impact(index: CodeIndex, given: Given, scope: Scope, limit: int) -> ToolOutput:
    found = await index.graphs.impact(given.needed("name"), scope=scope, limit=limit)
    facts: Row = {**_of(found.definitions), "tests": found.tests, "unresolved": found.unresolved, "more": found.cut}
    entries = [_reached(each) for each in found.reached]
    return told("places that a change reaches", entries, found, total=found.total, facts=facts)


async def _path(index: CodeIndex, given: Given, scope: Scope, limit: int) -> ToolOutput:
    del limit
    found = await index.graphs.path(given.needed("start"), given.needed("end"), scope=scope)
    facts: Row = {"confidence": found.confidence, "start": display(found.start), "end": display(found.end)}
    return told("steps", [_hop(each) for each in found.hops], found, total=len(found.hops), facts=facts)


def _of(definitions: Sequence[Citation]) -> Row:
    """Return what has the name that was asked for, as data."""
    return {"definitions": [{**where(each.span), "symbol": each.symbol, "kind": each.kind} for each in definitions[:_LIMIT]]}


def _defined(each: DefinitionHit) -> Entry:
    row = {**where(each.span), "symbol": each.symbol, "kind": each.kind, "signature": each.signature}
    return Entry(
        f"{place(each.span)}  {each.kind} {each.symbol}",
        {**row, "doc": each.doc, "how": each.how, "confidence": each.confidence},
        each.text,
        proof(each.span, each.text, symbol=each.symbol, kind=each.kind, why=f"defines {each.symbol}"),
    )


def _use(each: ReferenceHit) -> Entry:
    row = {**where(each.span), "inside": each.inside, "symbol": each.symbol, "kind": each.kind, "test": each.test}
    return Entry(
        f"{place(each.span)}  {each.kind} in {each.inside or _TOP}  {each.how} {each.confidence:.2f}",
        {**row, "how": each.how, "confidence": each.confidence},
        each.text,
        proof(each.span, each.text, symbol=each.inside, why=f"{each.kind} of {each.symbol}"),
    )


def _call(each: CallHit) -> Entry:
    way = f"{each.caller or _TOP} -> {each.callee}{'' if each.inside else ' (outside)'}"
    row = {**where(each.span), "caller": each.caller, "callee": each.callee, "inside": each.inside, "kind": each.kind}
    return Entry(
        f"{place(each.span)}  {way}  {each.how} {each.confidence:.2f}",
        {**row, "how": each.how, "confidence": each.confidence},
        each.text,
        proof(each.span, each.text, symbol=each.caller, why=way),
    )


def _reached(each: ImpactHit) -> Entry:
    test = ", test" if each.test else ""
    row = {**where(each.span), "symbol": each.symbol, "via": each.via, "steps": each.steps, "test": each.test}
    return Entry(
        f"{place(each.span)}  {each.symbol or _TOP} calls {each.via}  step {each.steps}, {each.confidence:.2f}{test}",
        {**row, "confidence": each.confidence},
        each.text,
        proof(each.span, each.text, symbol=each.symbol, kind=each.kind, why=f"calls {each.via}"),
    )


def _hop(each: Hop) -> Entry:
    way = f"{each.source or _TOP} -> {each.target}"
    row = {**where(each.span), "source": each.source, "target": each.target, "kind": each.kind, "how": each.how}
    return Entry(
        f"{place(each.span)}  {way}  {each.how} {each.confidence:.2f}",
        {**row, "confidence": each.confidence},
        each.text,
        proof(each.span, each.text, symbol=each.source, why=way),
    )
