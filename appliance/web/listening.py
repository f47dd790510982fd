"""Working only as long as somebody listens."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from litestar.types import Receive

from appliance.errors import Cancelled

T = TypeVar("T")


async def while_listening(receive: Receive, work: Coroutine[None, None, T]) -> T:
    """Return what *work* returns; cancel it and raise `Cancelled` when the client hangs up before. The body must be read."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_hung_up(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Cancelled("The client has gone.")
        return await working
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
