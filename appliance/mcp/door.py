"""The door at ``/mcp``. What speaks the protocol is loaded by the first who knocks: most appliances' web stays small."""

import asyncio
import importlib
from typing import Final, Protocol

from litestar.datastructures import Headers
from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from appliance.access.principal import Principal
from appliance.errors import Forbidden, Unavailable
from appliance.mcp.toolbox import Toolbox
from appliance.services import Services
from appliance.web.origins import check_origin

PATH: Final = "/mcp"

_SESSIONS: Final = "appliance.mcp.sessions"


class Serving(Protocol):
    """An application that runs, and can be told that the server is about to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    async def run(self, ready: asyncio.Event) -> None:
        """Serve until this is cancelled."""

    def leave(self) -> None:
        """End what does not end by itself."""


class Door:
    """Answers requests of clients that have a key. Close it in the event loop that it was used in."""

    def __init__(self, services: Services) -> None:
        self._toolbox = Toolbox(services)
        self._lock = asyncio.Lock()
        self._sessions: Serving | None = None
        self._running: asyncio.Task[None] | None = None

    def route(self) -> ASGIRouteHandler:
        """Return the route to this door."""

        async def knock(scope: Scope, receive: Receive, send: Send) -> None:
            await self(scope, receive, send)

        return ASGIRouteHandler(PATH, opt={"permission": "read"}, copy_scope=True)(knock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; raise `Forbidden` for one of a page elsewhere, or with a browser's login instead of a key.

        Of a page elsewhere it is refused whatever key it brings: the protocol asks for that.
        """
        check_origin(Headers.from_scope(scope), with_session=False)
        principal = scope["user"]
        if not isinstance(principal, Principal) or principal.kind != "key":
            raise Forbidden("Editors and agents need a key of their own.", remedy="Send it as `Authorization: Bearer`.")
        await (await self._opened())(scope, receive, send)

    def leave(self) -> None:
        """End the streams on which clients only listen; calls are still answered."""
        if self._sessions is not None:
            self._sessions.leave()

    async def close(self) -> None:
        """End every session."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _opened(self) -> Serving:
        async with self._lock:
            if self._sessions is None:
                loaded = await asyncio.to_thread(importlib.import_module, _SESSIONS)
                self._sessions = loaded.Sessions(self._toolbox)
                ready = asyncio.Event()
                self._running = asyncio.create_task(self._sessions.run(ready))
                self._running.add_done_callback(lambda _: ready.set())
                await ready.wait()
            if self._running is None or self._running.done():
                raise Unavailable("The tools are being shut down.", remedy="Try again in a moment.")
            return self._sessions
