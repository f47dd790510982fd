"""Claims about runners: whatever one is and returns is dealt with or named as the fault."""

import asyncio
import functools
import threading
from typing import Any

import pytest

from appliance.operator import (
    AgentRequest,
    AgentResult,
    AgentSpec,
    RunLimits,
    StateMachine,
    StreamEvent,
    StreamingCallback,
    callable_agent,
    emit_stream,
)
from tests.support.operating import go

REQUEST = AgentRequest(agent="a", objective="o", skill="s", messages=[])


class Plain:
    """A runner that is not async."""

    def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        assert streaming_callback is None
        return AgentResult(content=f"{request.objective} by {threading.current_thread().name}")


class Returns:
    """A runner that returns what it was given."""

    def __init__(self, value: object) -> None:
        self.value = value

    async def run(self, _request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> object:
        assert streaming_callback is None
        return self.value


class WithoutKeyword:
    async def run(self, request: AgentRequest) -> AgentResult:
        return AgentResult(content=request.objective)


class AnyKeyword:
    async def run(self, request: AgentRequest, **given: object) -> AgentResult:
        return AgentResult(content=f"{request.objective} {sorted(given)}")


class Unhashable(Returns):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


def with_runner(runner: Any, limits: RunLimits | None = None) -> StateMachine:  # noqa: ANN401 - also what is no runner
    return StateMachine(agents=[AgentSpec(name="j", description="d", skill="s", runner=runner)], limits=limits)


@pytest.mark.parametrize(
    ("runner", "summary"),
    [
        (Plain(), "o by MainThread"),
        (WithoutKeyword(), "o"),
        (AnyKeyword(), "o ['streaming_callback']"),
        (Returns("just text"), "just text"),
        (Returns(None), "(empty report)"),
        (Returns({"content": "c", "usage": {"total_tokens": 3}}), "c"),
        (Unhashable("u"), "u"),
    ],
)
def test_a_runner_of_any_kind_is_run(runner: object, summary: str) -> None:
    said = go(with_runner(runner).commission("j", "o"))
    assert (said["status"], said["summary"]) == ("staged", summary)


@pytest.mark.parametrize("value", [5, [], {"answer": "x"}, b"bytes", {"content": 5}])
def test_a_runner_that_returns_something_else_fails_with_what_it_should_be(value: object) -> None:
    said = go(with_runner(Returns(value)).commission("j", "o"))
    assert said["status"] == "failed"
    assert "AgentResult" in said["summary"]
    assert "\n" not in said["summary"]


@pytest.mark.parametrize(
    ("value", "content"), [(None, ""), (5, "5"), ({"a": 1}, "{'a': 1}"), ({"content": "c"}, "c"), ("", ""), ("x", "x")]
)
def test_a_function_s_answer_is_text_and_none_is_no_text(value: object, content: str) -> None:
    assert go(callable_agent(lambda _request: value).run(REQUEST)).content == content


def test_a_function_hears_of_the_callback_if_it_takes_one() -> None:
    async def streams(_request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> str:
        await emit_stream(streaming_callback, {"phase": "token"})
        return "x"

    seen: list[StreamEvent] = []
    go(callable_agent(streams).run(REQUEST, streaming_callback=seen.append))
    go(callable_agent(functools.partial(streams)).run(REQUEST, streaming_callback=seen.append))
    assert seen == [{"phase": "token"}, {"phase": "token"}]


def test_what_cannot_be_called_is_no_agent() -> None:
    with pytest.raises(TypeError, match="int"):
        callable_agent(5)  # type: ignore[arg-type]


def test_a_runner_whose_object_is_false_is_still_a_runner() -> None:
    class Empty(Plain):
        def __len__(self) -> int:
            return 0

    assert go(with_runner(Empty()).commission("j", "o"))["status"] == "staged"


class Odd(BaseException):
    """An error that is no `Exception`."""


ERRORS = [ValueError("v"), StopIteration("s"), RecursionError("r"), asyncio.CancelledError(), Odd("o"), GeneratorExit()]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("limits", [None, RunLimits(commission_timeout_s=60)])
@pytest.mark.parametrize("is_async", [True, False])
def test_whatever_a_runner_raises_is_a_failed_result(
    error: BaseException, limits: RunLimits | None, *, is_async: bool
) -> None:
    def plainly(_request: AgentRequest) -> str:
        raise error

    async def in_time(request: AgentRequest) -> str:
        return plainly(request)

    sm = with_runner(callable_agent(in_time if is_async else plainly), limits)
    said = go(asyncio.wait_for(sm.commission("j", "o"), 10))
    assert (said["status"], sm.agent("j")[1].status, sm.active_agent) == ("failed", "failed", None)


def test_a_function_that_never_returns_is_bounded_where_there_is_a_limit_of_time() -> None:
    """Nothing can end a thread; it is left behind, and what it says later is dropped."""
    let_go = threading.Event()

    def blocks(_request: AgentRequest) -> str:
        let_go.wait(60)
        return "too late"

    sm = with_runner(callable_agent(blocks), RunLimits(commission_timeout_s=0.05))
    try:
        said = go(sm.commission("j", "o"))
    finally:
        let_go.set()
    assert (said["status"], said["summary"]) == ("failed", "TimeoutError: timeout after 0.05 s")
    assert sm.agent("j")[1].agent_message == said["summary"]


def test_a_function_in_a_thread_sees_the_turn_that_it_works_in() -> None:
    def commissions_on(request: AgentRequest) -> str:
        if request.objective == "inner":
            return "done"
        return str(go(sm.commission("j", "inner"))["summary"])

    sm = with_runner(callable_agent(commissions_on), RunLimits(commission_timeout_s=60, max_commissions=2))
    assert go(sm.commission("j", "outer"))["summary"] == "done"


def test_a_runner_that_will_not_be_cancelled_is_left_behind() -> None:
    """It holds the turn up for a second, not for ever; what it says later reaches nobody."""

    async def stubborn(_request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> str:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                await emit_stream(streaming_callback, {"phase": "token", "detail": "still here"})
        await emit_stream(streaming_callback, {"phase": "token", "detail": "too late"})
        return "too late"

    async def scenario() -> None:
        said = await sm.commission("j", "o", streaming_callback=seen.append)
        assert said["status"] == "failed"
        let_go.set()
        for _ in range(5):
            await asyncio.sleep(0)
        assert sm.agent("j")[1].agent_message == "TimeoutError: timeout after 0.02 s"
        assert [event["phase"] for event in seen][-1] == "fail"

    let_go = asyncio.Event()
    seen: list[StreamEvent] = []
    sm = with_runner(callable_agent(stubborn), RunLimits(commission_timeout_s=0.02))
    go(scenario())
