"""Calls of tools, handed on to the appliance that runs: each on a connection of its own, to whoever it is that runs then."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    CallToolResult,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCResponse,
    TextContent,
    jsonrpc_message_adapter,
)
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import ValidationError

from appliance import __version__
from appliance.base.paths import DataPaths
from appliance.cli.remote import (
    LIMITS,
    PATIENT,
    Challenge,
    address,
    key_for,
    no_certificates,
    raise_problem,
    running,
    where_of,
)
from appliance.errors import ApplianceError, Unavailable
from appliance.mcp import catalogue
from appliance.mcp.replies import ERROR, Progress, Reply, refused

_LARGEST_EVENT: Final = 1_000_000


class Relay:
    """Hands calls to the appliance that runs on *paths*. An editor may outlive many of those: none is remembered."""

    def __init__(self, paths: DataPaths) -> None:
        self._paths = paths

    async def __call__(self, name: str, arguments: Mapping[str, object], progress: Progress) -> Reply:
        """Return the appliance's reply; while none runs, one that says how to start it."""
        try:
            catalogue.known(name)
            with running():
                return await self._called(name, arguments, progress)
        except ApplianceError as exc:
            return refused(exc)

    async def _called(self, name: str, arguments: Mapping[str, object], progress: Progress) -> Reply:
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": LATEST_MODERN_VERSION,
            "mcp-method": "tools/call",
            "mcp-name": name,
        }
        async with (
            self._introduced() as client,
            client.stream("POST", "/mcp", content=_request(name, arguments), headers=headers, timeout=PATIENT) as response,
        ):
            if "text/event-stream" in response.headers.get("content-type", ""):
                async for event in httpx2.EventSource(response):
                    if (reply := await _read(event.data.encode(), progress)) is not None:
                        return reply
                raise _broken()
            body = await response.aread()
            if response.headers.get("content-type", "").startswith("application/problem+json"):
                raise_problem(body)
            reply = await _read(body, progress)
        if reply is None:
            raise _broken()
        return reply

    @asynccontextmanager
    async def _introduced(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Give a client of the appliance that has proved who it is, and will be sent the key."""
        web = where_of(self._paths)
        key = key_for(web, self._paths)
        uds = str(web.socket) if web.socket else None
        transport = httpx2.AsyncHTTPTransport(uds=uds, verify=no_certificates(), trust_env=False)
        async with httpx2.AsyncClient(base_url=address(web), transport=transport, trust_env=False) as client:
            challenge = Challenge(web, key)
            with challenge.answered():
                async with client.stream("GET", "/api/v1/identity", params=challenge.asked, timeout=LIMITS) as response:
                    body = await anext(response.aiter_bytes(Challenge.SHORT), b"")
            challenge.check(body, failed=response.is_server_error)
            client.headers["authorization"] = f"Bearer {key}"
            yield client


def _request(name: str, arguments: Mapping[str, object]) -> bytes:
    meta = {
        PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
        CLIENT_CAPABILITIES_META_KEY: {},
        CLIENT_INFO_META_KEY: {"name": "skellig mcp", "version": __version__},
        "progressToken": 1,
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


async def _read(data: bytes, progress: Progress) -> Reply | None:
    """Return the reply that *data* is, or None for a message on the way to it, of which *progress* is told."""
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
        if isinstance(message, JSONRPCNotification):
            params = message.params or {}
            await progress(int(params.get("progress", 0)), str(params.get("message", "")))
            return None
        if isinstance(message, JSONRPCResponse):
            return _reply(CallToolResult.model_validate(message.result, by_name=False))
    except ValidationError as exc:
        raise _broken() from exc
    said = message.error.message if isinstance(message, JSONRPCError) else "It asked instead of answering."
    raise Unavailable(f"The appliance refused the call: {said}", remedy="`skellig status` says how it is.")


def _reply(result: CallToolResult) -> Reply:
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    error = (result.meta or {}).get(ERROR, {"code": "internal"}) if result.is_error else None
    return Reply(text, structured=result.structured_content, error=error)


def _broken() -> Unavailable:
    return Unavailable("The appliance broke off in the middle of its answer.", remedy="Try again.")
