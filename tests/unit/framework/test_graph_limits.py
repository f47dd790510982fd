"""Claims about runs that fail, take too long, or are cancelled."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping

import pytest

from appliance.errors import DeadlineExceeded, InvalidInput, LimitExceeded, StepFailed
from appliance.framework import END, GraphResult, StateGraph
from tests.support.state_graphs import Counted, begun, failed, more, nothing


def test_what_a_node_raises_is_told_with_its_name_and_kept_as_the_cause() -> None:
    boom = ValueError("boom")

    def breaks(state: Counted) -> None:
        del state
        raise boom

    graph = StateGraph(Counted).add_node("one", lambda _: {"n": 1}).add_node("breaks", breaks).set_entry_point("one")
    result = asyncio.run(graph.add_edge("one", "breaks").set_finish_point("breaks").compile().invoke(begun()))
    failed(result, StepFailed, "'breaks'", "ValueError: boom")
    assert result.state["n"] == 1
    assert result.failure is not None
    assert result.failure.__cause__ is boom


def test_what_no_future_takes_fails_the_node_too() -> None:
    """In a thread StopIteration has no way back, and the run would wait for ever."""
    graph = StateGraph(Counted)
    for name in "ab":
        graph.add_node(name, lambda _: next(iter(()))).set_entry_point(name).set_finish_point(name)
    failed(asyncio.run(graph.compile(timeout=30.0).invoke(begun())), StepFailed, "'a' raised RuntimeError", "StopIteration")


class Odd(BaseException):
    """An error that is no `Exception`."""


@pytest.mark.parametrize("error", [Odd, asyncio.CancelledError, BaseExceptionGroup("g", [Odd()])])
@pytest.mark.parametrize("where", ["node", "merger", "condition"])
def test_an_author_s_step_may_end_in_any_way(where: str, error: BaseException) -> None:
    """What ended the run itself would leave a thread that says that it runs."""

    def ends(here: str) -> bool:
        if here == where:
            raise error
        return False

    def node(_: Counted) -> Mapping[str, object]:
        ends("node")
        return {"n": 1}

    def merge(_: int, new: int) -> int:
        ends("merger")
        return new

    graph = StateGraph(Counted).add_node("a", node).set_entry_point("a")
    graph.add_conditional_edge("a", lambda _: ends("condition") or END, [END])
    graph.add_state_merger("n", merge)
    for limit in (None, 30.0):
        failed(asyncio.run(graph.compile(node_timeout=limit).invoke(begun())), StepFailed)


def _doubled(times: int) -> object:
    value: object = "x"
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [(_doubled(60), 1), "x" * 16_000_001, [{"k" * 1_000: "x" * 1_000}] * 8_000],
    ids=["doubled", "text", "texts"],
)
def test_a_state_that_would_be_too_large_fails_the_step(value: object) -> None:
    """A list of lists that are one and the same is a few bytes, and endless once it is copied."""
    graph = StateGraph(dict).add_node("a", lambda _: {"k": value}).set_entry_point("a").set_finish_point("a").compile()
    result = asyncio.run(graph.invoke({}))
    failed(result, LimitExceeded, "'k'", "16,000,000")  # type: ignore[arg-type]


def test_an_input_that_is_too_large_is_refused() -> None:
    graph = StateGraph(dict).add_node("a", lambda _: None).set_entry_point("a").set_finish_point("a").compile()
    with pytest.raises(LimitExceeded, match="The input is too large at the key 'k'"):
        asyncio.run(graph.invoke({"k": "x" * 16_000_001}))


def test_a_merger_that_raises_fails_the_step() -> None:
    graph = StateGraph(Counted).add_state_merger("note", lambda old, new: old[new])
    graph.add_node("a", lambda _: {"note": "x"}).set_entry_point("a").set_finish_point("a")
    result = asyncio.run(graph.compile().invoke({"n": 0, "seen": [], "note": "y"}))
    failed(result, StepFailed, "The merger of the key 'note' raised TypeError")


def test_a_failing_branch_ends_the_others() -> None:
    ended: list[str] = []

    async def long(state: Counted) -> None:
        del state
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("long")

    async def breaks(state: Counted) -> None:
        del state
        await asyncio.sleep(0)
        raise OSError("gone")

    graph = StateGraph(Counted).add_node("long", long).add_node("breaks", breaks)
    for name in ("long", "breaks"):
        graph.set_entry_point(name).set_finish_point(name)
    failed(asyncio.run(graph.compile().invoke(begun())), StepFailed, "'breaks'", "gone")
    assert ended == ["long"]


def cycle() -> "StateGraph[Counted]":
    graph = StateGraph(Counted).add_node("a", more).add_node("b", nothing)
    graph.set_entry_point("a").add_edge("a", "b")
    return graph.add_conditional_edge("b", lambda _: "on", {"on": "a", "off": END})


def test_a_node_runs_in_no_more_steps_than_max_iterations() -> None:
    result = asyncio.run(cycle().compile(max_iterations=7).invoke(begun()))
    failed(result, LimitExceeded, "'a'", "7 steps", "max_iterations")
    assert result.state["n"] == 7


def test_a_run_takes_no_more_steps_than_the_recursion_limit() -> None:
    result = asyncio.run(cycle().compile(max_iterations=1000, recursion_limit=9).invoke(begun()))
    failed(result, LimitExceeded, "9 steps", "recursion_limit")
    assert result.steps == 9


def test_limits_that_are_none_are_refused() -> None:
    for limits in ({"timeout": 0}, {"node_timeout": -1}, {"max_iterations": 0}, {"recursion_limit": 1.5}, {"timeout": "1"}):
        with pytest.raises(InvalidInput, match=next(iter(limits))):
            cycle().compile(**limits)
    with pytest.raises(InvalidInput, match="max_iterations, recursion_limit"):
        cycle().compile(strict_edges=False)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match="timeout of the node 'x'"):
        cycle().add_node("x", nothing, timeout=0)


def hangs(state: Counted) -> None:
    """Ignore every wish that it may end."""
    del state
    threading.Event().wait(20)


async def waits(state: Counted) -> None:
    del state
    await asyncio.Event().wait()


Slow = Callable[[Counted], Awaitable[None] | None]


@pytest.mark.parametrize("work", [hangs, waits])
@pytest.mark.parametrize("own", [False, True])
def test_a_node_that_takes_too_long_is_given_up(work: Slow, own: bool) -> None:  # noqa: FBT001 - a case
    graph = StateGraph(Counted).add_node("one", lambda _: {"n": 1}).add_node("slow", work, timeout=0.3 if own else None)
    graph.set_entry_point("one").add_edge("one", "slow").set_finish_point("slow")
    result = asyncio.run(graph.compile(node_timeout=30.0 if own else 0.3).invoke(begun()))
    failed(result, DeadlineExceeded, "'slow'", "0.3 s")
    assert result.state["n"] == 1


def test_a_condition_that_takes_too_long_is_given_up() -> None:
    graph = StateGraph(Counted).add_node("one", lambda _: {"n": 1}).set_entry_point("one")
    graph.add_conditional_edge("one", waits, ["one", END])
    failed(asyncio.run(graph.compile(node_timeout=0.3).invoke(begun())), DeadlineExceeded, "condition behind 'one'")


def test_a_run_that_takes_too_long_ends_with_the_state_it_had() -> None:
    graph = StateGraph(Counted).add_node("one", lambda _: {"n": 1}).add_node("slow", waits).set_entry_point("one")
    result = asyncio.run(graph.add_edge("one", "slow").set_finish_point("slow").compile(timeout=0.3).invoke(begun()))
    failed(result, DeadlineExceeded, "The run took longer than 0.3 s")
    assert (result.state["n"], result.next_node) == (1, "slow")


def test_a_cycle_of_plain_functions_lets_others_run_and_its_time_run_out() -> None:
    async def run() -> tuple[GraphResult[Counted], int]:
        graph = cycle().compile(timeout=0.2, max_iterations=10**9, recursion_limit=10**9)
        task, others = asyncio.ensure_future(graph.invoke(begun())), 0
        while not task.done():
            others += 1
            await asyncio.sleep(0)
        return task.result(), others

    result, others = asyncio.run(run())
    failed(result, DeadlineExceeded, "The run took longer than 0.2 s")
    assert others > result.steps / 2 > 0


def test_a_cancelled_run_ends_its_nodes_and_says_that_it_is_cancelled() -> None:
    ended: list[bool] = []

    async def run() -> None:
        running = asyncio.Event()

        async def long(state: Counted) -> None:
            del state
            running.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        graph = StateGraph(Counted).add_node("long", long).set_entry_point("long").set_finish_point("long")
        task = asyncio.ensure_future(graph.compile().invoke(begun()))
        await running.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert ended == [True]


def test_a_node_that_cancels_itself_fails_and_does_not_cancel_its_caller() -> None:
    def cancels(state: Counted) -> None:
        del state
        raise asyncio.CancelledError

    graph = StateGraph(Counted).add_node("odd", cancels).set_entry_point("odd").set_finish_point("odd")
    failed(asyncio.run(graph.compile().invoke(begun())), StepFailed, "'odd' was cancelled from within")
