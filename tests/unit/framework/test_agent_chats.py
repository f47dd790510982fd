"""Claims about conversations of agents, and about calls in them that wait for a person."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from appliance.errors import Conflict, EngineUnavailable, InvalidInput, NotFound
from appliance.framework import EventType
from appliance.framework.conversation import Decision
from tests.support.agent_house import AgentHouse, agent, heard


def test_a_call_that_needs_a_person_waits_for_one(house: AgentHouse) -> None:
    house.follow(("deploy", {}), answer="Done.")

    async def work() -> None:
        async with agent(house, tools=["deploy"]) as made:
            asked = await made.run("Deploy it.")
            assert (asked.status, asked.success) == ("awaiting_approval", False)
            assert asked.approval_request is not None
            assert asked.approval_request.tool == "deploy"
            with pytest.raises(InvalidInput):
                await made.resume(asked.run_id, "perhaps")  # type: ignore[arg-type]
            with pytest.raises(Conflict, match=asked.run_id):  # it would wait as long, and nobody would know for what
                await made.run("Are you there?")
            with pytest.raises(Conflict, match=asked.run_id):
                await heard(made, "Are you there?")
            done = await made.resume(asked.run_id, "approved", by="ada")
            assert (done.content, done.tool_calls[0].result, done.run_id) == ("Done.", "deployed", asked.run_id)
            with pytest.raises(NotFound):
                await made.resume(asked.run_id, "approved")

    asyncio.run(work())


def test_a_call_that_a_person_rejects_is_not_made(house: AgentHouse) -> None:
    house.follow(("deploy", {}), answer="I may not.")

    async def work() -> None:
        async with agent(house, tools=["deploy"]) as made:
            asked = await made.run("Deploy it.")
            done = await made.resume(asked.run_id, "rejected", note="Not on a Friday.")
            assert "Not on a Friday." in done.tool_calls[0].error
            assert done.status == "done"
            assert done.content.startswith("No call of a tool gave a result, so there is no answer.\n- deploy: ")
            assert "Not on a Friday." in done.content

    asyncio.run(work())


@pytest.mark.parametrize(("decided", "other", "said"), [("approved", "rejected", "deployed"), ("rejected", "approved", "")])
def test_what_came_of_a_decision_that_was_made_elsewhere_is_not_lost(
    house: AgentHouse, decided: Decision, other: Decision, said: str
) -> None:
    house.follow(("deploy", {}), answer="Over.")

    async def work() -> None:
        async with agent(house, tools=["deploy"]) as made:
            asked = await made.run("Deploy it.")
            assert asked.approval_request is not None
            made._made.turns.services.tools.approvals.decide(asked.approval_request.id, decided, by="console")
            with pytest.raises(Conflict):
                await made.resume(asked.run_id, other)
            done = await made.resume(asked.run_id, decided)
            assert (done.content == "Over.", done.tool_calls[0].result, made.busy) == (bool(said), said, False)

    asyncio.run(work())


def test_a_yes_is_never_for_a_call_that_nobody_was_shown(house: AgentHouse) -> None:
    house.follow(("deploy", {}), ("deploy", {"where": "everywhere"}), answer="Over.")

    async def work() -> None:
        async with agent(house, tools=["deploy"]) as made:
            first = await made.run("Deploy it.")
            assert first.approval_request is not None
            approvals = made._made.turns.services.tools.approvals
            approvals.decide(first.approval_request.id, "approved", by="console")
            while len(approvals.list(run=first.run_id)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            second = await made.resume(first.run_id, "approved")
            assert second.approval_request is not None
            assert second.approval_request.arguments == {"where": "everywhere"}
            assert (await made.resume(first.run_id, "rejected")).content == "Over."

    asyncio.run(work())


def test_a_call_that_nobody_decides_on_is_rejected(house: AgentHouse) -> None:
    house.follow(("deploy", {}), answer="I may not.")

    async def work() -> None:
        async with agent(house, tools=["deploy"], session_config={"approval_seconds": 0.2}) as made:
            events = await heard(made, "Deploy it.")
            asks = next(event for event in events if event.type is EventType.AWAITING_APPROVAL)
            assert asks.parent_event_id == asks.sequence_id - 1
            assert any(event.type is EventType.TOOL_ERROR for event in events)

    asyncio.run(work())


def test_an_agent_that_is_closed_cancels_what_waits_and_takes_no_more(house: AgentHouse) -> None:
    house.follow(("deploy", {}))

    async def work() -> None:
        async with agent(house, tools=["deploy"]) as made:
            assert (await made.run("Deploy it.")).status == "awaiting_approval"
        with pytest.raises(Conflict):
            await made.run("More")
        with suppress(NotFound):
            await made.resume("run_x", "approved")

    asyncio.run(asyncio.wait_for(work(), 20))


def test_a_message_of_a_chat_is_never_dropped(house: AgentHouse) -> None:
    script = house.follow(answer=lambda request: f"re: {request.messages[-1].content}")

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            session = made.chat("A")
            assert (await session.send("B")).content == "re: B"
            assert [event.content async for event in session.stream("C") if event.type is EventType.CONTENT]
            assert session.turn_count == 3
            said = [(message.role, message.content) for message in session.history[1:]]
            assert said == [(who, f"{'re: ' * (who != 'user')}{what}") for what in "ABC" for who in ("user", "assistant")]
            assert (await made.chat().send("D")).content == "re: D"
            assert made.session_id is None

    asyncio.run(work())
    assert [request.messages[-1].content for request in script.answers] == ["A", "B", "C", "D"]
    assert all([message.role for message in request.messages].count("system") == 1 for request in script.answers)


def test_an_opening_that_cannot_be_sent_is_sent_with_the_next_message(house: AgentHouse) -> None:
    script = house.follow()

    async def work() -> None:
        async with agent(house, tools=[], session_config={"seconds": 5.0}) as made:
            session = made.chat("A")
            house.engine.failure, house.engine.fail_after = EngineUnavailable("Away."), 1
            assert (await session.send("B")).status == "failed"
            assert [event.type async for event in session.stream("B")][-1] is EventType.STREAM_END
            house.engine.failure = None
            assert (await session.send("B")).success
            assert session.turn_count == 2

    try:
        asyncio.run(work())
    finally:
        house.engine.failure = None
    assert [message.content for message in script.answers[-1].messages if message.role == "user"] == ["A", "B"]


@pytest.mark.parametrize("text", ["", " ", None, 7])
def test_a_message_that_says_nothing_is_refused_wherever_it_is_sent(house: AgentHouse, text: Any) -> None:  # noqa: ANN401
    house.follow()

    async def work() -> None:
        async with agent(house) as made:
            with pytest.raises(InvalidInput):
                await made.chat().send(text)
            with pytest.raises(InvalidInput):
                _ = [event async for event in made.chat().stream(text)]
            if text is not None:
                with pytest.raises(InvalidInput):
                    await made.chat(text).send("Hi")

    asyncio.run(work())
