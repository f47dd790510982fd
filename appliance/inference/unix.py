"""HTTP over a unix socket: no name is looked up, no TCP socket exists, no proxy setting is read."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from appliance.errors import DeadlineExceeded, EngineUnavailable

_CONNECT_S = 5.0


@asynccontextmanager
async def connected(socket: Path, *, silence: float, remedy: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    """Give a client of *socket* for the length of the block; it belongs to the running event loop.

    Raise `EngineUnavailable` when nobody listens or the connection breaks, `DeadlineExceeded` when nothing is heard for
    *silence* seconds.
    """
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reads no certificate store: that would cost 20 ms a call
    transport = httpx2.AsyncHTTPTransport(uds=str(socket), verify=nobody, trust_env=False)
    limits = httpx2.Timeout(silence, connect=min(silence, _CONNECT_S))
    try:
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://engine", timeout=limits, trust_env=False
        ) as client:
            yield client
    except httpx2.ConnectError as exc:
        raise EngineUnavailable("The engine is not running.", remedy=remedy, socket=str(socket)) from exc
    except httpx2.TimeoutException as exc:
        raise DeadlineExceeded(f"The engine said nothing for {silence:g} s.", seconds=silence) from exc
    except httpx2.HTTPError as exc:
        raise EngineUnavailable("The engine broke off in the middle of its answer.", remedy="Ask again.") from exc


async def event_data(response: httpx2.Response) -> AsyncGenerator[str]:
    """Give the data of each server-sent event of *response*."""
    async for event in httpx2.EventSource(response):
        yield event.data
