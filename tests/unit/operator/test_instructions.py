"""Claims about what happens to an objective once it was worked on: peeking, accepting, and instructing again."""

import asyncio

import pytest

from appliance.operator import AgentRequest, AgentResult
from tests.support.operating import Emit, Forever, breaks, echo, go, junior, machine, one_by_one, roles


def test_an_instruction_continues_the_same_thread() -> None:
    sm = machine(None, junior(behaviour=lambda request, _emit: AgentResult(content=str(len(request.messages)))))
    go(sm.commission("scout", "dig"))
    sm.accept("scout", 1)
    said = go(sm.instruct_agent("scout", "1", " deeper "))
    slot = sm.agent("scout")[1]
    assert (said["index"], said["status"], slot.status, said["summary"]) == (1, "staged", "staged", "4")
    assert roles(slot.messages) == ["system", "user", "assistant", "user", "assistant"]
    assert slot.messages[3]["content"] == "deeper"
    assert len(sm.agent("scout")) == 1


def test_an_objective_that_failed_can_be_continued_and_its_instruction_stands_in_the_thread_once() -> None:
    sm = machine(None, junior(behaviour=one_by_one(breaks, breaks, echo)))
    go(sm.commission("scout", "dig"))
    assert go(sm.instruct("scout", 1, "again"))["status"] == "failed"
    assert go(sm.instruct("scout", 1, "again"))["status"] == "staged"
    assert roles(sm.agent("scout")[1].messages) == ["system", "user", "user", "assistant"]


def test_two_instructions_at_once_never_mix() -> None:
    async def scenario() -> None:
        forever = Forever()
        sm = machine(None, junior(behaviour=one_by_one(echo, forever)))
        await sm.commission("scout", "o")
        first = asyncio.create_task(sm.instruct("scout", 1, "first"))
        await forever.begun.wait()
        assert (await sm.instruct("scout", 1, "second"))["error"] == "busy"
        assert sm.accept("scout", 1)["error"] == "not_staged"
        assert sm.get_agent_message("scout", 1)["status"] == "running"
        first.cancel()
        await asyncio.wait([first])
        assert roles(sm.agent("scout")[1].messages) == ["system", "user", "assistant"]

    go(scenario())


def test_a_junior_that_instructs_itself_is_told_that_it_is_busy() -> None:
    """To wait for its own end would be to wait for ever."""

    async def turns_back(_request: AgentRequest, _emit: Emit) -> AgentResult:
        return AgentResult(content=(await sm.instruct("scout", 1, "more"))["error"])

    sm = machine(None, junior(behaviour=turns_back))
    assert go(asyncio.wait_for(sm.commission("scout", "o"), 10))["summary"] == "busy"


def test_a_peek_changes_nothing() -> None:
    sm = machine()
    go(sm.commission("scout", "dig"))
    said = sm.get_agent_message("scout", 1)
    assert said == {
        "agent": "scout",
        "index": 1,
        "status": "staged",
        "agent_message": "did: dig",
        "objective": "dig",
    }
    assert sm.agent("scout")[1].status == "staged"


def test_what_is_accepted_is_returned_and_the_thread_is_the_runner_s() -> None:
    sm = machine()
    go(sm.commission("scout", "dig"))
    before = sm.coordinator_messages.to_list()
    said = sm.accept("scout", 1)
    assert (said["status"], said["summary"], said["agent"], said["index"]) == ("accepted", "did: dig", "scout", 1)
    assert (said["result"]["report"], said["result"]["status"]) == ("did: dig", "accepted")
    assert sm.coordinator_messages.to_list() == before
    assert sm.accept_agent_result("scout", 1) == said


def test_nothing_staged_is_nothing_to_accept() -> None:
    sm = machine()
    sm.agent("scout").create_objective("later")
    sm.agent("scout").create_objective("emptied").status = "staged"
    assert [sm.accept("scout", index)["error"] for index in (1, 2)] == ["nothing_staged"] * 2
    assert sm.get_agent_message("scout", 1)["agent_message"] is None


def test_what_a_host_staged_by_hand_is_accepted_and_its_result_made_whole() -> None:
    sm = machine()
    sm.agent("scout").create_objective("told").agent_message = "by hand"
    sm.agent("scout").create_objective("given").result = {"summary": "short", "rows": 2}
    told, given = (sm.accept("scout", index) for index in (1, 2))
    assert (told["status"], told["summary"]) == ("accepted", "by hand")
    assert told["result"] == {
        "status": "accepted",
        "agent": "scout",
        "index": 1,
        "report": "by hand",
        "summary": "by hand",
        "duration_ms": None,
        "model": None,
        "objective": "told",
    }
    assert given["result"] == {"summary": "short", "rows": 2, "report": "", "status": "accepted"}
    assert [slot.status for slot in sm.agent("scout").objectives()] == ["accepted", "accepted"]


def test_a_failed_report_cannot_be_accepted() -> None:
    sm = machine(None, junior(behaviour=breaks))
    go(sm.commission("scout", "o"))
    assert sm.accept("scout", 1)["error"] == "not_staged"
    assert sm.agent("scout")[1].status == "failed"


@pytest.mark.parametrize("message", ["", "  ", None])
def test_an_instruction_without_text_is_answered(message: str) -> None:
    sm = machine()
    go(sm.commission("scout", "o"))
    assert go(sm.instruct("scout", 1, message))["error"] == "empty_message"
    assert roles(sm.agent("scout")[1].messages) == ["system", "user", "assistant"]


def test_an_agent_that_is_not_there_is_answered_with_those_that_are() -> None:
    sm = machine()
    answers = [
        go(sm.commission("nobody", "o")),
        go(sm.instruct("nobody", 1, "m")),
        sm.accept("nobody", 1),
        sm.get_agent_message("nobody", 1),
        sm.list_objectives("nobody"),
    ]
    for said in answers:
        assert isinstance(said, dict)
        assert (said["error"], said["agent"]) == ("unknown_agent", "nobody")
        assert "scout" in said["detail"]
