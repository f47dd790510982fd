"""Standard input and output as the protocol's wire: no line without a bound, and none that is dropped without a word."""

import asyncio
import io
import re
from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

LONGEST_LINE: Final = 1_000_000  # characters: about as much as the body of an HTTP request

_STDIN: Final = 0
_HEAD: Final = 200  # of a line that is too long, to know whose request it was
_ID: Final = re.compile(r'"id"\s*:\s*(?:(?P<number>\d{1,15})\b|"(?P<name>[^"\\]{1,100})")')
_SAID: Final = f"This is no message of the protocol, or one of more than {LONGEST_LINE:,} characters. Send a shorter one."


class Lines(io.TextIOWrapper):
    """Text whose lines have at most `LONGEST_LINE` characters: of a longer one the first of them stand for it."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as typeshed's own TextIOWrapper does
        """Return the next line that is not blank, or the beginning of one that is too long; "" at the end."""
        del size
        line = super().readline(LONGEST_LINE + 1)
        while line.isspace() and line.endswith("\n"):
            line = super().readline(LONGEST_LINE + 1)
        if len(line) <= LONGEST_LINE or line.endswith("\n"):
            return line
        while (rest := super().readline(LONGEST_LINE)) and not rest.endswith("\n"):
            pass
        return f"{line[:_HEAD]}\n"


async def serve(server: Server[dict[str, object]]) -> None:
    """Have *server* answer what comes, to the end of it; whatever is no message is answered with an error here."""
    lines = Lines(io.BufferedReader(io.FileIO(_STDIN, closefd=False)), encoding="utf-8", errors="replace")
    passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with stdio_server(stdin=anyio.wrap_file(lines)) as (read, write):
        sorting = asyncio.create_task(_sorted(read, passing, write.send))
        try:
            await server.run(passed, write, server.create_initialization_options())
        finally:
            sorting.cancel()


async def _sorted(
    read: AsyncIterable[SessionMessage | Exception],
    passing: MemoryObjectSendStream[SessionMessage | Exception],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    async with passing:
        async for item in read:
            if isinstance(item, Exception):
                error = ErrorData(code=PARSE_ERROR, message=_SAID)
                await answer(SessionMessage(JSONRPCError(jsonrpc="2.0", id=_id_of(item), error=error)))
            else:
                await passing.send(item)


def _id_of(fault: Exception) -> int | str | None:
    """Return the id of the request that *fault* is about, so that nobody waits for its reply; None where there is none."""
    text = fault.errors()[0]["input"] if isinstance(fault, ValidationError) else ""
    found = _ID.search(text[:_HEAD]) if isinstance(text, str) else None
    if found is None:
        return None
    return int(found["number"]) if found["number"] else found["name"]
