"""The official client of the Model Context Protocol, at our doors."""

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TextIO

import httpx2
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from appliance.cli import place
from appliance.cli.remote import no_certificates
from appliance.config import Web
from appliance.services import CLI_KEY, Services


def key_of(services: Services) -> str:
    """Return the command line's key."""
    return (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()


def told_where(services: Services, port: int) -> None:
    """Leave word, as `skellig up` does, that *services* are served at *port*."""
    place.write(place.of(Web(port=port), chat="none", embed="none"), paths=services.paths)


@asynccontextmanager
async def over_http(port: int, key: str, *, headers: Mapping[str, str] | None = None) -> AsyncIterator[ClientSession]:
    """Give a session over streamable HTTP, after its handshake."""
    sent = {"authorization": f"Bearer {key}", **(headers or {})}
    async with (
        httpx2.AsyncClient(headers=sent, trust_env=False, timeout=30, verify=no_certificates()) as http,
        streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def without_session(port: int, key: str) -> AsyncIterator[Client]:
    """Give a client that speaks the newest protocol, which knows no sessions."""
    sent = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=sent, trust_env=False, timeout=30, verify=no_certificates()) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http), mode="2026-07-28") as client,
    ):
        yield client


def command(data: Path) -> StdioServerParameters:
    """Return how an editor starts ``skellig mcp`` for the appliance on *data*."""
    return StdioServerParameters(command=sys.executable, args=["-m", "appliance", "--data", str(data), "mcp"])


@asynccontextmanager
async def over_stdio(parameters: StdioServerParameters, *, errors: TextIO) -> AsyncIterator[ClientSession]:
    """Give a session with ``skellig mcp``, after its handshake; what it says on standard error goes to *errors*."""
    async with stdio_client(parameters, errlog=errors) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


def text_of(result: CallToolResult) -> str:
    """Return the text of *result*."""
    assert len(result.content) == 1
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def found_in(result: CallToolResult) -> dict[str, object]:
    """Return what *result*, which is no error, holds for programs."""
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def error_of(result: CallToolResult) -> str:
    """Return the code of the error that *result* is; its text ends with it."""
    assert result.is_error
    assert result.structured_content is None
    error = (result.meta or {})["skellig/error"]
    assert text_of(result).endswith(f"[{error['code']}]")
    return str(error["code"])
