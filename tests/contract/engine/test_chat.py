"""What every chat engine promises, asked of each through its socket, with one slot."""

import asyncio
import json
import time

import httpx2
import pytest

from appliance.contracts.chat import ChatDelta, ChatRequest, Message
from appliance.errors import EngineUnavailable, InvalidInput, PromptTooLong
from appliance.inference.client import EngineClient
from appliance.inference.unix import connected
from tests.contract.engine.conftest import CONTEXT, FOLDER


def asked(
    text: str = "Say something.", *, tokens: int = 4, top: int = 0, schema: dict[str, object] | None = None
) -> ChatRequest:
    return ChatRequest([Message("system", "Be brief."), Message("user", text)], max_tokens=tokens, top=top, schema=schema)


def all_of(client: EngineClient, request: ChatRequest) -> list[ChatDelta]:
    async def collect() -> list[ChatDelta]:
        return [delta async for delta in client.chat(request)]

    return asyncio.run(collect())


def test_last_delta_has_the_reason_and_the_counts(chat: EngineClient) -> None:
    deltas = all_of(chat, asked())
    assert [delta.finish for delta in deltas[:-1]] == [""] * (len(deltas) - 1)
    assert deltas[-1].finish == "length"
    assert deltas[-1].completion_tokens == 4
    assert deltas[-1].prompt_tokens > 4


def said(client: EngineClient, schema: dict[str, object]) -> str:
    return "".join(delta.text for delta in all_of(client, asked("Write indented JSON.", tokens=40, schema=schema)))


def test_text_comes_in_pieces(chat: EngineClient) -> None:
    assert sum(bool(delta.text) for delta in all_of(chat, asked(tokens=6))) > 1


def test_output_obeys_the_schema(chat: EngineClient) -> None:
    text = "".join(delta.text for delta in all_of(chat, asked(tokens=20, schema={"enum": ["naïve ☃"]})))
    assert json.loads(text) == "naïve ☃"


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"type": "array", "items": {"type": "nonsense"}}, {"$ref": "#/nowhere"}, {"enum": 5}]
)
def test_schema_that_is_none_is_refused(model: EngineClient, schema: dict[str, object]) -> None:
    """It would else constrain nothing."""
    with pytest.raises((InvalidInput, EngineUnavailable)):
        said(model, schema)


def test_schema_beyond_the_plain_ones_constrains_too(model: EngineClient) -> None:
    assert said(model, {"anyOf": [{"const": "left"}, {"const": "right"}]}) in {'"left"', '"right"'}


def test_schema_that_nothing_satisfies_constrains_all_the_same(model: EngineClient) -> None:
    schema = {"type": "object", "properties": {}, "required": ["x"], "additionalProperties": False}
    assert said(model, schema).startswith("{")


def test_json_comes_without_blanks_that_cost_time(model: EngineClient) -> None:
    members = {"a": {"enum": [1]}, "b": {"enum": [2]}}
    schema = {"type": "object", "properties": members, "required": ["a", "b"], "additionalProperties": False}
    assert said(model, schema) == '{"a":1,"b":2}'


def test_candidates_come_with_their_probabilities_best_first(chat: EngineClient) -> None:
    tops = [delta.top for delta in all_of(chat, asked(top=2)) if delta.top]
    assert tops
    for top in tops:
        assert len(top) == 2
        assert 0 >= top[0].logprob >= top[1].logprob


def test_candidates_are_those_before_the_constraint(chat: EngineClient) -> None:
    """The probability of a forced token says what the model thought; after the constraint it would be 1.

    An engine that knows only that one gives none, and says so.
    """
    able = raw(chat, "/health").json()["capabilities"]["candidates"]
    assert able or chat.model == FOLDER
    tops = [delta.top for delta in all_of(chat, asked(tokens=8, top=2, schema={"enum": ["yes"]})) if delta.top]
    assert all(candidate.logprob < 0 for top in tops for candidate in top[1:])
    assert any(len(top) > 1 for top in tops) == able


def test_no_candidates_come_unasked(chat: EngineClient) -> None:
    assert all(not delta.top for delta in all_of(chat, asked()))


def test_prompt_that_does_not_fit_is_refused_with_its_size(chat: EngineClient) -> None:
    with pytest.raises(PromptTooLong) as refused:
        all_of(chat, asked("word " * (CONTEXT + 100)))
    context = refused.value.context
    assert context["limit"] == CONTEXT
    assert context["model"] == chat.model
    tokens = context["prompt_tokens"]
    assert isinstance(tokens, int)
    assert tokens > CONTEXT


def test_closing_the_iterator_frees_the_only_slot(chat: EngineClient) -> None:
    """Else one closed browser tab would keep everybody waiting for a text that nobody reads."""

    async def give_up_then_ask() -> float:
        endless = chat.chat(asked("Write a long story.", tokens=900))
        await anext(endless)
        await endless.aclose()
        begun = time.monotonic()
        await anext(chat.chat(asked(tokens=1)))
        return time.monotonic() - begun

    everything = 900 / 2000  # seconds that the scripted engine needs; a real one needs ten
    assert asyncio.run(give_up_then_ask()) < max(8.0, everything)


def test_second_request_reuses_the_prefix(chat: EngineClient) -> None:
    pack = "def function(argument): return argument + 1\n" * 32
    all_of(chat, asked(pack + "What is it?", tokens=1))
    again = all_of(chat, asked(pack + "What does it do?", tokens=1))[-1]
    assert again.cached_tokens > again.prompt_tokens / 2


def test_requests_beyond_the_slots_wait_and_are_answered(chat: EngineClient) -> None:
    async def both() -> tuple[ChatDelta, ChatDelta]:
        async def last() -> ChatDelta:
            return [delta async for delta in chat.chat(asked(tokens=2))][-1]

        return await asyncio.gather(last(), last())

    assert [delta.completion_tokens for delta in asyncio.run(both())] == [2, 2]


def test_same_request_gives_the_same_text(chat: EngineClient) -> None:
    one, two = ("".join(d.text for d in all_of(chat, asked("Count.", tokens=8))) for _ in range(2))
    assert one == two


def test_tokens_are_counted(chat: EngineClient) -> None:
    async def counts() -> tuple[int, int, int]:
        return await chat.tokens(""), await chat.tokens("one"), await chat.tokens("one two three, four five six")

    none, one, more = asyncio.run(counts())
    assert none == 0
    assert 0 < one < more


def test_whole_completion_can_be_had_at_once(chat: EngineClient) -> None:
    body = {"messages": [{"role": "user", "content": "Say something."}], "max_tokens": 3, "temperature": 0}
    told = raw(chat, "/v1/chat/completions", body).json()
    assert told["object"] == "chat.completion"
    assert told["choices"][0]["finish_reason"] == "length"
    assert told["choices"][0]["message"]["content"]
    assert told["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": [{"role": "wizard", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0},
        {"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_schema"}},
    ],
)
def test_malformed_request_is_refused_by_code(chat: EngineClient, body: dict[str, object]) -> None:
    response = raw(chat, "/v1/chat/completions", body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_input"


def test_chat_engine_makes_no_vectors(chat: EngineClient) -> None:
    with pytest.raises(InvalidInput):
        asyncio.run(chat.embed(["text"]))


def test_health_says_ready_and_what_was_seen(chat: EngineClient) -> None:
    health = asyncio.run(chat.health())
    assert (health.state, health.model) == ("ready", chat.model)
    seen = raw(chat, "/health").json()["capabilities"]
    assert (seen["chat"], seen["schema"], seen["embed"]) == (True, True, False)
    assert chat.context == CONTEXT


def raw(client: EngineClient, path: str, body: dict[str, object] | None = None) -> httpx2.Response:
    async def call() -> httpx2.Response:
        async with connected(client.socket, silence=60) as wire:
            return await (wire.get(path) if body is None else wire.post(path, json=body))

    return asyncio.run(call())
