"""Claims about a turn: what is asked, what is kept, and whose turn it is."""

import asyncio
import inspect

import pytest

from appliance.operator import AgentRequest, AgentResult, Coordinator, StateMachine, StreamEvent
from tests.support.operating import (
    TOOLS,
    Emit,
    Scripted,
    asked,
    breaks,
    commissions,
    echo,
    go,
    junior,
    machine,
    roles,
    says,
    steps,
    tools_of,
)


@pytest.mark.parametrize("text", ["", "   ", "\n\t", None])
@pytest.mark.parametrize("behaviour", [None, echo])
def test_blank_text_is_answered_with_nothing(text: str | None, behaviour: None) -> None:
    sm = machine(behaviour)
    assert go(sm.run(text)) == ""
    assert len(sm.coordinator_messages) == 1


def test_what_is_no_text_is_refused_with_its_type() -> None:
    with pytest.raises(TypeError, match="int") as refused:
        go(machine(echo).run(5))  # type: ignore[arg-type]
    assert isinstance(refused.value, AttributeError), "hosts of the public package await that"


def test_a_coordinator_without_a_runner_is_refused_and_leaves_no_trace() -> None:
    sm = machine()
    with pytest.raises(RuntimeError, match="runner"):
        go(sm.run("x"))
    assert roles(sm.coordinator_messages.to_list()) == ["system"]


def test_the_coordinator_is_asked_with_all_that_it_needs() -> None:
    sm = machine(says("hi"), model="m-1", metadata={"tenant": "t"})
    assert go(sm.run("  find it  ")) == "hi"
    (request,) = asked(sm.coordinator)
    assert (request.agent, request.objective, request.model) == ("coordinator", "find it", "m-1")
    assert request.skill == sm.coordinator.skill
    assert request.messages == [{"role": "system", "content": request.skill}, {"role": "user", "content": "find it"}]
    assert request.metadata["tenant"] == "t"
    assert list(tools_of(request)) == TOOLS
    assert [schema["function"]["name"] for schema in request.metadata["tool_schemas"]] == TOOLS
    assert all(inspect.iscoroutinefunction(tool) for tool in request.metadata["tools"])


def test_tools_can_be_withheld() -> None:
    sm = machine(says("hi"))
    go(sm.run("q", orchestration_tools=False))
    metadata = asked(sm.coordinator)[0].metadata
    assert (metadata["tools"], metadata["tool_schemas"]) == ([], [])


def test_a_persona_s_metadata_cannot_take_the_place_of_the_tools() -> None:
    sm = machine(says("x"), metadata={"tools": "mine", "tool_schemas": "mine", "ok": 1})
    go(sm.run("q"))
    request = asked(sm.coordinator)[0]
    assert list(tools_of(request)) == TOOLS
    assert (len(request.metadata["tool_schemas"]), request.metadata["ok"]) == (6, 1)


def test_a_reply_is_kept_and_the_next_turn_sees_it() -> None:
    sm = machine(lambda request, _emit: AgentResult(content=f"re {request.objective}"))
    assert [go(sm.run(text)) for text in ("one", "two")] == ["re one", "re two"]
    said = [(message["role"], message["content"]) for message in sm.coordinator_messages][1:]
    assert said == [("user", "one"), ("assistant", "re one"), ("user", "two"), ("assistant", "re two")]
    assert len(asked(sm.coordinator)[1].messages) == 4


def test_a_transcript_of_the_runner_s_own_takes_the_place_of_the_thread() -> None:
    own = [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    sm = machine(says("reply", messages=own))
    assert go(sm.run("q")) == "reply"
    own[1]["tool_calls"][0]["id"] = "changed"  # type: ignore[index]
    assert sm.coordinator_messages.to_list()[1]["tool_calls"] == [{"id": "1"}]


def test_an_empty_transcript_does_not_wipe_the_thread() -> None:
    sm = machine(says("z", messages=[]))
    go(sm.run("q"))
    assert roles(sm.coordinator_messages.to_list()) == ["system", "user", "assistant"]


@pytest.mark.parametrize(("content", "kept"), [("", ["system", "user"]), ("  ", ["system", "user", "assistant"])])
def test_a_reply_without_text_has_a_placeholder(content: str, kept: list[str]) -> None:
    sm = machine(says(content))
    assert go(sm.run("q")) == "(no response)"
    assert roles(sm.coordinator_messages.to_list()) == kept


def test_a_coordinator_that_raises_is_announced_and_its_error_is_the_caller_s() -> None:
    seen: list[StreamEvent] = []
    sm = machine(breaks)
    with pytest.raises(ZeroDivisionError):
        go(sm.run("q", streaming_callback=seen.append))
    assert steps(seen) == [("coordinator", "start"), ("coordinator", "fail")]
    said = "ZeroDivisionError: division by nothing"
    assert (seen[-1]["status"], seen[-1]["detail"]) == ("failed", f"Coordinator error: {said}")
    assert sm.active_agent is None
    assert sm.last_turn is not None
    assert (sm.last_turn.status, sm.last_turn.error) == ("failed", said)


@pytest.mark.parametrize("error", [GeneratorExit(), BaseExceptionGroup("g", [KeyboardInterrupt()])])
def test_a_coordinator_that_ends_in_any_way_is_announced_too(error: BaseException) -> None:
    def ends(_request: AgentRequest, _emit: Emit) -> AgentResult:
        raise error

    seen: list[StreamEvent] = []
    sm = machine(ends)
    with pytest.raises(type(error)):
        go(sm.run("q", streaming_callback=seen.append))
    assert [event["phase"] for event in seen] == ["start", "fail"]
    assert (sm.active_agent, len(sm.coordinator_messages)) == (None, 1)


def test_a_runner_that_changes_its_request_changes_nothing_else() -> None:
    def vandal(request: AgentRequest, _emit: Emit) -> AgentResult:
        request.messages[0]["content"] = "changed"
        request.messages.clear()
        request.metadata["nested"]["list"].append("changed")
        request.metadata["tools"].clear()
        return AgentResult(content="ok")

    given = {"nested": {"list": [1]}}
    sm = machine(vandal, metadata=given)
    go(sm.run("q"))
    assert sm.coordinator_messages[0]["content"] == sm.coordinator.skill
    assert sm.coordinator.metadata == given == {"nested": {"list": [1]}}


def test_a_skill_that_changes_stands_in_the_system_message() -> None:
    sm = machine(says("x"))
    sm.coordinator.skill = "Another."
    assert sm.coordinator_messages[0] == {"role": "system", "content": "Another."}
    go(sm.run("q"))
    sm.coordinator = Coordinator(runner=Scripted(says("y")), skill="A third.")
    go(sm.run("q"))
    assert [message["content"] for message in sm.coordinator_messages] == ["A third.", "q", "x", "q", "y"]


def test_a_whole_turn_commissions_accepts_and_replies() -> None:
    sm = machine(commissions)
    assert go(sm.run("map the config")) == "did: map the config"
    assert sm.agent("scout")[1].status == "accepted"
    assert sm.active_agent is None


def test_the_coordinator_acts_again_once_a_junior_has_ended() -> None:
    async def watches(request: AgentRequest, _emit: Emit) -> AgentResult:
        seen.append(sm.active_agent)
        await tools_of(request)["commission"]("scout", "o")
        seen.append(sm.active_agent)
        return AgentResult(content="x")

    def acts(_request: AgentRequest, _emit: Emit) -> AgentResult:
        seen.append(sm.active_agent)
        return AgentResult(content="r")

    seen: list[str | None] = []
    sm = machine(watches, junior(behaviour=acts))
    go(sm.run("q"))
    assert [*seen, sm.active_agent] == ["coordinator", "scout", "coordinator", None]


def test_turns_of_one_machine_wait_for_each_other_and_hear_their_own_events() -> None:
    async def turn(request: AgentRequest, _emit: Emit) -> AgentResult:
        for _ in range(3 if request.objective == "A" else 1):
            await asyncio.sleep(0)
        await tools_of(request)["commission"]("scout", request.objective)
        return AgentResult(
            content=f"re {request.objective}", messages=[*request.messages, {"role": "assistant", "content": "r"}]
        )

    async def both() -> list[str]:
        a = sm.run("A", streaming_callback=heard["A"].append)
        return list(await asyncio.gather(a, sm.run("B", streaming_callback=heard["B"].append)))

    heard: dict[str, list[StreamEvent]] = {"A": [], "B": []}
    sm = machine(turn)
    assert go(both()) == ["re A", "re B"]
    assert [message["content"] for message in sm.coordinator_messages][1:] == ["A", "r", "B", "r"]
    for name, events in heard.items():
        assert {event["objective"] for event in events if "objective" in event} == {name}
        assert len({event["turn_id"] for event in events}) == 1


def test_turns_asked_from_several_threads_wait_for_each_other() -> None:
    async def counts(_request: AgentRequest, _emit: Emit) -> AgentResult:
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0)
        inside.pop()
        return AgentResult(content="x")

    async def all_of_them() -> None:
        await asyncio.gather(*(asyncio.to_thread(go, sm.run(f"q{number}")) for number in range(4)))

    inside: list[int] = []
    most: list[int] = []
    sm = machine(counts)
    go(all_of_them())
    assert most == [1, 1, 1, 1]
    assert roles(sm.coordinator_messages.to_list()) == ["system", *["user", "assistant"] * 4]


@pytest.mark.parametrize("within", ["coordinator", "junior", "task"])
def test_a_turn_within_a_turn_of_the_same_machine_is_refused_and_does_not_hang(within: str) -> None:
    async def asks_again(request: AgentRequest, _emit: Emit) -> AgentResult:
        if within == "junior" and request.agent == "coordinator":
            return AgentResult(content=(await tools_of(request)["commission"]("scout", "o"))["summary"])
        inner = sm.run("inner")
        try:
            return AgentResult(content=await (asyncio.create_task(inner) if within == "task" else inner))
        except RuntimeError as exc:
            return AgentResult(content=str(exc))

    sm = machine(asks_again, junior(behaviour=asks_again))
    assert "commission a junior" in go(asyncio.wait_for(sm.run("outer"), 10))
    assert "inner" not in [message["content"] for message in sm.coordinator_messages]


def test_machines_that_ask_each_other_in_a_circle_are_refused_and_do_not_hang() -> None:
    async def asks_other(request: AgentRequest, _emit: Emit) -> AgentResult:
        return AgentResult(content=await others[request.objective].run("back"))

    a, b = machine(asks_other), machine(asks_other)
    others: dict[str, StateMachine] = {"there": b, "back": a}
    with pytest.raises(RuntimeError, match="within a turn"):
        go(asyncio.wait_for(a.run("there"), 10))


def test_the_cost_of_a_turn_is_that_of_all_who_worked_in_it() -> None:
    async def turn(request: AgentRequest, _emit: Emit) -> AgentResult:
        await asyncio.gather(*(tools_of(request)["commission"]("scout", "o") for _ in range(2)))
        await tools_of(request)["instruct_agent"]("scout", 1, "more")
        return AgentResult(content="x", usage={"prompt_tokens": 100, "total_tokens": 120})

    sm = machine(turn, junior(behaviour=says("r", usage={"total_tokens": 7, "details": {"cached": 2}})))
    go(sm.run("q"))
    assert sm.last_turn is not None
    assert sm.last_turn.usage == {"total_tokens": 141, "details": {"cached": 6}, "prompt_tokens": 100}
    assert (sm.last_turn.commissions, sm.last_turn.instructs, sm.last_turn.status) == (2, 1, "done")
    assert sm.agent("scout")[1].usage == {"total_tokens": 14, "details": {"cached": 4}}
    assert [row["tokens"] for row in sm.list_objectives()] == [14, 7]  # type: ignore[index]
    go(sm.run("again", orchestration_tools=True))
    assert sm.last_turn.usage["total_tokens"] == 141
