import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest, Message
from appliance.errors import ApplianceError, EngineUnavailable, InvalidInput, PromptTooLong
from appliance.inference import wire

REQUEST = ChatRequest(
    (Message("system", "Be brief."), Message("user", "naïve ☃")),
    max_tokens=7,
    temperature=0.5,
    schema={"type": "object"},
    top=3,
    seed=4,
    stop=("\n",),
)


def read(events: Sequence[str]) -> list[ChatDelta]:
    async def given_events() -> AsyncIterator[str]:
        for event in events:
            yield event

    async def collect() -> list[ChatDelta]:
        return [delta async for delta in wire.deltas(given_events())]

    return asyncio.run(collect())


def data(events: Sequence[str]) -> list[str]:
    return [event.removeprefix("data: ").removesuffix("\n\n") for event in events]


def test_request_survives_the_way() -> None:
    assert wire.read_request(wire.request_body(REQUEST, model="m")) == (REQUEST, True)


def test_deltas_survive_the_way() -> None:
    deltas = [
        ChatDelta("on", (Candidate("on", -0.1), Candidate("off", -2.5))),
        ChatDelta(" ☃"),
        ChatDelta("", (), "length", 10, 2, 5),
    ]
    assert read(data([event for delta in deltas for event in wire.chunks(delta, model="m")])) == deltas


@pytest.mark.parametrize(
    "events",
    [
        [],
        ['{"choices":[{"delta":{"content":"half"}}]}'],
        ["not json"],
        ['{"choices":3}'],
        ["[" * 50_000],
        ['{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}'],
    ],
    ids=["nothing", "half", "garbage", "other shape", "deep", "no end mark"],
)
def test_stream_that_ends_early_or_is_garbage_is_an_unavailable_engine(events: list[str]) -> None:
    """An answer that was cut must never be taken for a whole one."""
    with pytest.raises(EngineUnavailable):
        read(events)


def test_error_in_the_middle_of_a_stream_is_raised_as_what_it_is() -> None:
    error = PromptTooLong("Too long.", prompt_tokens=9, limit=5, model="m")
    with pytest.raises(PromptTooLong) as raised:
        read([wire.error_body(error).decode()])
    assert raised.value.context == {"prompt_tokens": 9, "limit": 5, "model": "m"}


def test_error_that_is_not_known_is_an_unavailable_engine() -> None:
    for body in (b"<html>", b"{}", b'{"error": 3}', b'{"error": {"code": "new_kind"}}'):
        assert type(wire.read_error(body)) is EngineUnavailable


def test_context_of_an_error_beyond_the_promised_does_not_travel() -> None:
    """What an engine keeps for itself, a path say, is not for its clients."""
    told = json.loads(wire.error_body(ApplianceError("x", path="/secret", limit=3)))
    assert told["error"] == {"code": "error", "message": "x", "remedy": "", "limit": 3}


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(body: bytes) -> None:
    with contextlib.suppress(InvalidInput):
        wire.read_request(body)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"messages":' + b"[" * 100_000], ids=["list", "field"])
def test_deep_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        wire.read_request(body)


def test_plain_openai_request_is_understood() -> None:
    body = {
        "messages": [{"role": "user", "content": "x"}],
        "stop": "END",
        "response_format": {"type": "json_object"},
        "n": 1,
    }
    request, streamed = wire.read_request(json.dumps(body).encode())
    assert (request.stop, request.schema, streamed) == (("END",), {"type": "object"}, False)
