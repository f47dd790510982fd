"""The protocol: a server that lists the tools and has *call* call them, whatever it is spoken over."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from appliance import __version__
from appliance.base import log
from appliance.errors import Cancelled, Throttled
from appliance.mcp import catalogue
from appliance.mcp.callers import Caller
from appliance.mcp.replies import ERROR, Call, Reply, refused

_log = log.get("mcp")

Context = ServerRequestContext[dict[str, object]]

CALLER: Final = "skellig.caller"
"""The name under which the scope of an HTTP request holds its `Caller`."""

_TOLD_S: Final = 1.0  # who does not take what is told of progress within that time is told no more of it
_READS: Final = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def server(call: Call) -> Server[dict[str, object]]:
    """Return a server of the tools of `catalogue`, each of which *call* calls. It serves any number of connections."""
    known = tools()  # once: to make a schema takes longer than most calls
    schemas = {tool.name: tool.input_schema for tool in known}

    async def listed(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=known)

    async def called(context: Context, params: CallToolRequestParams) -> CallToolResult:
        told = _Told(context)
        return result_of(await _while_listening(context, call, params, told))

    made: Server[dict[str, object]] = Server(
        "skellig",
        version=__version__,
        title="Skellig",
        instructions=catalogue.INSTRUCTIONS,
        get_tool_input_schema=schemas.get,
        on_list_tools=listed,
        on_call_tool=called,
    )
    made.middleware.clear()  # it would make spans for telemetry, which nobody is to collect
    _keep_to_itself()
    return made


def tools() -> list[Tool]:
    """Return the tools as clients are told of them."""
    return [
        Tool(
            name=name,
            title=tool.title,
            description=tool.description,
            input_schema=catalogue.input_schema(tool),
            output_schema=catalogue.output_schema(tool),
            annotations=_READS,
        )
        for name, tool in catalogue.TOOLS.items()
    ]


def result_of(reply: Reply) -> CallToolResult:
    """Return *reply* as the protocol has it."""
    return CallToolResult(
        content=[TextContent(type="text", text=reply.text)],
        structured_content=None if reply.structured is None else dict(reply.structured),
        is_error=reply.error is not None,
        _meta=None if reply.error is None else {ERROR: dict(reply.error)},
    )


class _Told:
    """Tells a client how far its call is, for as long as it takes that."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._taken = True

    async def __call__(self, number: int, words: str) -> None:
        if not self._taken:
            return
        try:
            async with asyncio.timeout(_TOLD_S):
                await self._context.session.report_progress(number, message=words)
        except TimeoutError:
            self._taken = False


async def _while_listening(context: Context, call: Call, params: CallToolRequestParams, told: _Told) -> Reply:
    """Return the reply to a call, which waits for its turn, and stop it once it is known that nobody waits for the reply."""
    caller = _caller(context)
    if caller is None:
        return await call(params.name, params.arguments or {}, told)
    working = asyncio.ensure_future(_in_turn(caller, call, params, told))
    leaving = asyncio.ensure_future(caller.gone.wait())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else refused(Cancelled("The client has gone."))
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _in_turn(caller: Caller, call: Call, params: CallToolRequestParams, told: _Told) -> Reply:
    try:
        async with caller.turns.turn():
            return await call(params.name, params.arguments or {}, told)
    except Throttled as exc:
        return refused(exc)


def _caller(context: Context) -> Caller | None:
    scope = getattr(context.request, "scope", None)
    found = scope.get(CALLER) if isinstance(scope, Mapping) else None
    return found if isinstance(found, Caller) else None


class _Faults(logging.Handler):
    """Says that something failed inside the protocol, and where; never with what, which is a stranger's."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        _log.warning("protocol.failed", at=f"{record.name}:{record.lineno}", error=error)


def _keep_to_itself() -> None:
    """Keep what the protocol's own modules log, ids of sessions and parts of messages among it, out of our log."""
    for name in ("mcp", "sse_starlette"):
        theirs = logging.getLogger(name)
        theirs.handlers = [_Faults(level=logging.ERROR)]
        theirs.propagate = False
