import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import cast

import pytest
from litestar import Response
from litestar.types import ASGIApp, HTTPReceiveMessage, HTTPScope, Message, Receive, Scope, Send

from appliance.api.envelope import Envelope
from appliance.api.problems import response_to
from appliance.base.metrics import Metrics
from appliance.web.requests import request_id_of
from appliance.web.wiring import Asked


def scope(*headers: tuple[bytes, bytes]) -> HTTPScope:
    return cast(
        "HTTPScope",
        {"type": "http", "method": "POST", "path": "/x", "query_string": b"", "headers": list(headers), "state": {}},
    )


async def read_all(receive: Receive) -> bytes:
    body = b""
    while True:
        message = cast("HTTPReceiveMessage", await receive())
        assert message["type"] == "http.request"
        body += message["body"]
        if not message["more_body"]:
            return body


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    del scope
    body = await read_all(receive)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def refused(request: Asked, error: Exception) -> Response[bytes]:
    return response_to(error, request_id=request_id_of(request.scope))


def answered(app: ASGIApp, pieces: Sequence[bytes], *, ends: bool, hangs_up: bool = False) -> list[Message]:
    """Return what *app* in an envelope sends to a client that sends *pieces* and then waits, or hangs up."""

    async def messages() -> AsyncIterator[HTTPReceiveMessage]:
        for number, piece in enumerate(pieces, start=1):
            yield {"type": "http.request", "body": piece, "more_body": not (ends and number == len(pieces))}
        if hangs_up:
            yield {"type": "http.disconnect"}
        await asyncio.Event().wait()

    async def scenario() -> list[Message]:
        sent: list[Message] = []
        coming = messages()

        async def receive() -> HTTPReceiveMessage:
            return await anext(coming)

        async def send(message: Message) -> None:
            sent.append(message)

        envelope = Envelope(app, refused=refused, metrics=Metrics(), body_seconds=0.05)
        await envelope(scope((b"content-length", b"9")), receive, send)
        return sent

    return asyncio.run(scenario())


def status(sent: Sequence[Message]) -> int:
    assert sent[0]["type"] == "http.response.start"
    return sent[0]["status"]


def test_a_whole_body_goes_through() -> None:
    sent = answered(echo, [b"abc", b"def"], ends=True)
    assert status(sent) == 200
    assert sent[1].get("body") == b"abcdef"


def test_a_body_that_comes_too_slowly_is_refused() -> None:
    """Else a thousand such clients would hold a thousand requests for nothing."""
    assert status(answered(echo, [b"abc"], ends=False)) == 408


def test_a_body_that_breaks_off_is_the_clients_error() -> None:
    assert status(answered(echo, [b"abc"], ends=False, hangs_up=True)) == 400


def test_once_the_body_is_there_the_answer_may_take_its_time() -> None:
    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await read_all(receive)
        await asyncio.sleep(0.1)  # longer than the body may take
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.1)  # as one does who listens for the client's going
        await echo(scope, answered_already, send)

    async def answered_already() -> HTTPReceiveMessage:
        return {"type": "http.request", "body": b"", "more_body": False}

    assert status(answered(slow, [b"abc"], ends=True)) == 200


def test_what_breaks_after_the_answer_began_adds_nothing_to_it() -> None:
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError

    assert [message["type"] for message in answered(breaks, [b""], ends=True)] == ["http.response.start"]
