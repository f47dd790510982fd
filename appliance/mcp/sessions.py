"""The tools over streamable HTTP: one application for every connection, bounded in all that a client can make it hold."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from appliance.access.principal import Principal
from appliance.mcp.callers import Caller, Turns
from appliance.mcp.replies import Call
from appliance.mcp.server import CALLER, server

MOST_OF_ONE: Final = 64  # sessions of one key: a further one ends the one that was used longest ago
MOST_IN_ALL: Final = 1_000
IDLE_S: Final = 1_800.0
LARGEST_BODY: Final = 1_000_000

_SESSION: Final = b"mcp-session-id"
_LAST_EVENT: Final = b"last-event-id"  # no event is kept: who listens again hears what comes from now on


@dataclass(slots=True)
class _Session:
    owner: str
    busy: int = 0  # requests that are being answered


class Sessions:
    """An ASGI application for requests whose ``user`` is a `Principal`. Sessions belong to the key that opened them.

    It serves from when `run` says that it is ready until `run` is cancelled.
    """

    def __init__(self, call: Call, *, most_of_one: int = MOST_OF_ONE, most: int = MOST_IN_ALL, idle: float = IDLE_S) -> None:
        self._manager = StreamableHTTPSessionManager(
            server(call), session_idle_timeout=idle, max_request_body_size=LARGEST_BODY, max_sessions=most
        )
        self._most_of_one = most_of_one
        self._turns: dict[str, Turns] = {}  # by key
        self._leaving = asyncio.Event()
        self._known: OrderedDict[str, _Session] = OrderedDict()  # used longest ago first

    async def run(self, ready: asyncio.Event) -> None:
        """Serve until this is cancelled; every session ends then."""
        async with self._manager.run():
            ready.set()
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        owner = scope["user"].name if isinstance(scope["user"], Principal) else ""
        sent = _session_of(scope["headers"])
        opened = ""

        async def send_on(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start" and not sent and message["status"] < 400:
                opened = _session_of(message["headers"])
            if opened:
                self._known.setdefault(opened, _Session(owner))
            await send(message)

        caller = Caller(self._turns.setdefault(owner, Turns()))

        async def receive_on() -> Message:
            message = await (self._until_leaving(receive) if scope["method"] == "GET" else receive())
            if message["type"] == "http.disconnect":
                caller.gone.set()
            return message

        headers = [pair for pair in scope["headers"] if pair[0] != _LAST_EVENT]
        theirs = {**scope, "headers": headers, "user": _user(owner), CALLER: caller}
        with self._busy(sent, owner):
            await self._manager.handle_request(theirs, receive_on, send_on)
        if opened:
            await self._make_room(owner)
        if scope["method"] == "DELETE":
            self._forget(sent, owner)

    def leave(self) -> None:
        """End the streams on which clients only listen, so that nobody has to wait for them; calls are still answered."""
        self._leaving.set()

    async def _until_leaving(self, receive: Receive) -> Message:
        receiving = asyncio.ensure_future(receive())
        leaving = asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({receiving, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return await receiving if receiving.done() else {"type": "http.disconnect"}
        finally:
            receiving.cancel()
            leaving.cancel()

    @contextmanager
    def _busy(self, session: str, owner: str) -> Iterator[None]:
        known = self._known.get(session)
        if known is None or known.owner != owner:
            yield
            return
        self._known.move_to_end(session)
        known.busy += 1
        try:
            yield
        finally:
            known.busy -= 1

    def _forget(self, session: str, owner: str) -> None:
        known = self._known.get(session)
        if known is not None and known.owner == owner:
            del self._known[session]

    async def _make_room(self, owner: str) -> None:
        """End sessions of *owner* while there are too many: idle ones before busy ones, used longest ago first."""
        while len(own := [name for name, each in self._known.items() if each.owner == owner]) > self._most_of_one:
            oldest = min(own, key=lambda name: self._known[name].busy > 0)
            del self._known[oldest]
            await self._end(oldest, owner)

    async def _end(self, session: str, owner: str) -> None:
        """End a session as its client would; one that has ended by itself is no matter."""
        headers = [(_SESSION, session.encode("ascii"))]
        scope = {
            "type": "http",
            "method": "DELETE",
            "path": "/",
            "query_string": b"",
            "headers": headers,
            "user": _user(owner),
        }
        await self._manager.handle_request(scope, _nothing, _nowhere)


def _session_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == _SESSION), "")


def _user(owner: str) -> AuthenticatedUser:
    """Return *owner* as the protocol's own modules know users: they hold a session to the one who opened it."""
    return AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(message: Message) -> None:
    del message
