"""The application behind the real server, on a port of loopback."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server
from litestar import Litestar

from appliance.server import create_app
from appliance.services import Services


@contextmanager
def listening(services: Services, *, header_ms: int = 10_000) -> Iterator[int]:
    """Serve *services* for the length of the block, as ``skellig web`` does, and yield the port."""
    port = free_port()
    ready: asyncio.Queue[Server] = asyncio.Queue()
    loop = asyncio.new_event_loop()
    app = create_app(services)
    thread = threading.Thread(target=_serve, args=(loop, app, port, header_ms, ready))
    thread.start()
    server = asyncio.run_coroutine_threadsafe(ready.get(), loop).result(20)
    try:
        wait_for_port(port)
        yield port
    finally:
        loop.call_soon_threadsafe(app.state.leave)
        loop.call_soon_threadsafe(server.stop)
        thread.join(30)
        assert not thread.is_alive()


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int) -> None:
    """Return once somebody listens on *port*."""
    deadline = time.monotonic() + 20
    while True:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _serve(
    loop: asyncio.AbstractEventLoop, app: Litestar, port: int, header_ms: int, ready: "asyncio.Queue[Server]"
) -> None:
    asyncio.set_event_loop(loop)

    async def serve() -> None:
        server = Server(
            app,
            address="127.0.0.1",
            port=port,
            interface=Interfaces.ASGI,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=header_ms),
            websockets=False,
            log_enabled=False,
        )
        ready.put_nowait(server)
        await server.serve()

    try:
        loop.run_until_complete(serve())
    finally:
        loop.run_until_complete(_let_go(loop))
        loop.close()


async def _let_go(loop: asyncio.AbstractEventLoop) -> None:
    """End what the application's libraries left running, as `asyncio.run` does."""
    left = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
