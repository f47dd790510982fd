"""Claims about agents: their turns, their streams, and that they get nothing that they were not granted."""

import asyncio
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from appliance.errors import EngineUnavailable, InvalidInput, NotGranted
from appliance.framework import EventType, Team, ToolSet
from appliance.framework.events import AgentEvent
from appliance.framework.results import TaskResult
from appliance.framework.tried import FILE
from appliance.orchestrator.runners.envelope import MOST_TOKENS, about_tokens, compact
from tests.support.agent_house import AgentHouse, agent, heard


def kinds(events: list[AgentEvent]) -> list[str]:
    """Return the kinds of *events*, of a run of the same one."""
    return [
        event.type for before, event in zip([None, *events], events, strict=False) if not before or before.type != event.type
    ]


def test_it_looks_things_up_and_answers(house: AgentHouse) -> None:
    script = house.follow(("search_code", {"query": "verify"}), answer="It is in shop/store.py.")

    async def work() -> None:
        async with agent(house) as made:
            result = await made.run("Where is verify?")
            assert (result.content, result.status, result.success) == ("It is in shop/store.py.", "done", True)
            assert [call.tool for call in result.tool_calls] == ["search_code"]
            assert "store.py" in result.tool_calls[0].result
            assert result.run_id.startswith("run_")
            assert TaskResult.from_dict(json.loads(json.dumps(result.to_dict()))).citations == result.citations
            read = result.citations
            assert [each.n for each in read] == list(range(1, len(read) + 1))
            assert all(each.verified and len(each.commit) == 40 for each in read)
            assert any(each.path == "shop/store.py" and "def verify" in each.text for each in read)

    asyncio.run(work())
    assert len(script.answers) == 1


def test_what_an_answer_was_not_made_from_is_not_cited(house: AgentHouse) -> None:
    """A citation says that the lines were read for this answer: a turn that read nothing has none."""

    async def work() -> None:
        async with agent(house) as made:
            house.follow(("search_code", {"query": "verify"}))
            assert (await made.run("Where is verify?")).citations
            house.follow()
            assert (await made.run("Thanks.")).citations == ()

    asyncio.run(work())


def test_a_stream_tells_each_step_and_then_one_answer_token_by_token(house: AgentHouse) -> None:
    house.follow(("search_code", {"query": "verify"}), ("read_lines", {"path": "no/such"}), answer="It is in the store.")

    async def work() -> list[AgentEvent]:
        async with agent(house) as made:
            return await heard(made, "Where is verify?")

    events = asyncio.run(work())
    assert kinds(events) == [
        "stream_start", "tool_call", "tool_result", "tool_call", "tool_error", "stage_change", "content", "stream_end"
    ]  # fmt: skip
    assert [event.sequence_id for event in events] == list(range(1, len(events) + 1))
    pieces = [event.content for event in events if event.type is EventType.CONTENT]
    assert ("".join(pieces), len(pieces) > 3) == ("It is in the store.", True)
    calls = [event for event in events if event.type is EventType.TOOL_CALL]
    ends = [event for event in events if event.type in {EventType.TOOL_RESULT, EventType.TOOL_ERROR}]
    assert [event.parent_event_id for event in ends] == [event.sequence_id for event in calls]
    assert [event.tool_id for event in ends] == [event.tool_id for event in calls]
    assert events[-1].metadata["status"] == "done"


def test_a_model_that_never_calls_a_tool_is_asked_for_its_answer_once(house: AgentHouse) -> None:
    script = house.follow()

    async def work() -> None:
        async with agent(house) as made:
            events = await heard(made, "Say hi")
            assert "".join(event.content for event in events if event.type is EventType.CONTENT) == "The answer."
            assert [event.content for event in events if event.type is EventType.RECOVERY] == [
                "No tool was called: the answer is the model's own, and rests on nothing that was looked up."
            ]

    asyncio.run(work())
    assert len(script.answers) == 1


def test_what_stands_before_a_task_is_at_most_1500_tokens(house: AgentHouse) -> None:
    script = house.follow(("search_code", {"query": "verify"}))

    async def work() -> None:
        async with agent(house) as made:
            await made.run("Hi")

    asyncio.run(work())
    for request in script.asked:
        overhead = "".join(message.content for message in request.messages[:-1]) + compact(request.schema or {})
        assert about_tokens(overhead) <= MOST_TOKENS


def test_a_model_that_calls_what_it_was_not_granted_gets_nothing(house: AgentHouse) -> None:
    """One that is held to no form can write any name: it is the tool service that refuses it."""
    (house.root / FILE).unlink(missing_ok=True)
    steps = [
        ("search_code", {"query": "verify"}),
        ("deploy", {}),
        ("nothing", {}),
        ("read_lines", {"path": "vault/keys.py"}),
    ]
    script = house.follow(*steps, native=True)

    async def work() -> None:
        async with agent(house, tools=["read_lines"], workspace="shop") as made:
            result = await made.run("Look around.")
            assert [call.success for call in result.tool_calls] == [False] * 4
            assert "not_granted" in result.tool_calls[0].error

    try:
        asyncio.run(work())
    finally:
        (house.root / FILE).unlink(missing_ok=True)
    told = "".join(message.content for request in script.asked for message in request.messages)
    assert "store.py" not in told
    assert "gold" not in told


def test_what_a_model_can_do_is_found_out_once(house: AgentHouse) -> None:
    """To find it out takes half a minute on a small machine: no agent may begin with that twice."""

    async def work() -> int:
        house.follow()
        async with agent(house) as made:
            await made.run("Hi")
        before = len(house.engine.requests)
        async with agent(house) as made:
            await made.run("Hi")
        return len(house.engine.requests) - before

    assert asyncio.run(work()) == 2  # a choice and an answer


def test_turns_of_one_agent_are_one_conversation_with_the_system_prompt_once(house: AgentHouse) -> None:
    script = house.follow()

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            await made.run("A")
            await made.run("B", context={"file": "x.py"})

    asyncio.run(work())
    last = script.answers[-1].messages
    assert [message.role for message in last] == ["system", "user", "assistant", "user"]
    assert last[-1].content == 'B\n\nContext:\n{"file": "x.py"}'


@pytest.mark.parametrize(
    ("prompt", "context"), [("", None), ("  ", None), ("A", 7), ("A", {"a": object()}), ("A", {"a": math.nan}), (7, None)]
)
def test_a_prompt_or_context_that_says_nothing_is_refused(house: AgentHouse, prompt: str, context: object) -> None:
    async def work() -> None:
        async with agent(house) as made:
            with pytest.raises(InvalidInput):
                await made.run(prompt, context=context)  # type: ignore[arg-type]

    asyncio.run(work())


def test_a_turn_that_fails_is_a_result_and_leaves_no_trace_in_the_conversation(house: AgentHouse) -> None:
    script = house.follow()

    async def work() -> None:
        async with agent(house, tools=[], session_config={"seconds": 5.0}) as made:
            house.engine.failure = EngineUnavailable("The engine broke off.")
            house.engine.fail_after = 1
            result = await made.run("A")
            assert (result.status, result.success, result.metadata["code"]) == ("failed", False, "engine_unavailable")
            assert result.error
            house.engine.failure = None
            assert (await made.run("A")).success

    try:
        asyncio.run(work())
    finally:
        house.engine.failure = None
    assert [message.role for message in script.answers[-1].messages] == ["system", "user"]


def test_a_stream_that_nobody_reads_on_lets_the_engine_go(house: AgentHouse) -> None:
    house.follow(answer="word " * 200)
    house.engine.pace = 50

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            stream = made.stream("A")
            async for event in stream:
                if event.type is EventType.CONTENT:
                    break
            before = house.engine.cancelled
            await stream.aclose()
            while house.engine.cancelled == before:  # noqa: ASYNC110 - of another thread, which tells nobody here
                await asyncio.sleep(0.01)
            house.engine.pace = None
            house.follow()
            assert (await made.run("B")).success

    try:
        asyncio.run(asyncio.wait_for(work(), 20))
    finally:
        house.engine.pace = None


def test_a_team_works_on_the_agent_s_model_and_within_its_grants(house: AgentHouse) -> None:
    script = house.follow(("search_code", {"query": "verify"}), answer="Found.")

    async def work() -> None:
        async with agent(house, tools=ToolSet.minimal()) as made:
            looks = made.member("looks", tools=["search_code"])
            team = Team([looks, made.member("reads", skill="You read.")], tools=made.tools)
            result = await team.run("Find verify.")
            assert (result.status, result.content) == ("done", "## looks\n\nFound.\n\n## reads\n\nFound.")
            assert int(str(result.usage["total_tokens"])) > 0
            with pytest.raises(NotGranted):
                made.member("more", tools=["callers"])

    asyncio.run(work())
    assert any(request.messages[0].content.startswith("You read.") for request in script.answers)


def test_nothing_is_written_outside_the_data_directory(
    house: AgentHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.follow(("search_code", {"query": "verify"}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    repositories = house.root.parent

    def state() -> dict[str, float]:
        inside = [
            path
            for path in repositories.rglob("*")
            if not path.is_relative_to(house.root) and "__pycache__" not in path.parts
        ]
        return {str(path): path.stat().st_mtime for path in inside}

    before = state()

    async def work() -> None:
        async with agent(house) as made:
            await made.run("Where is verify?")

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []
    assert state() == before


def test_the_names_of_the_framework_load_nothing_that_they_do_not_need() -> None:
    """Half the appliance is loaded with the first agent that is made, and not with its name."""
    heavy = {"numpy", "scipy", "lancedb", "pyarrow", "litestar", "httpx2", "tree_sitter", "jsonschema", "pydantic_settings"}
    script = (
        "import sys; from appliance.framework import Agent, EventType, ToolSet, Team\n"
        f"print(sorted({heavy!r} & set(sys.modules)), sorted(n for n in sys.modules if n.startswith('appliance.codeintel')))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "[] []\n"


def test_steps_that_lead_nowhere_pause_the_turn_and_the_next_message_goes_on(house: AgentHouse) -> None:
    house.follow(*[("read_lines", {"path": "no/such"})] * 9)

    async def work() -> None:
        async with agent(house) as made:
            paused = await made.run("Where is verify?")
            assert (paused.status, paused.success, len(paused.tool_calls)) == ("paused", False, 3)
            assert "how to go on" in paused.content
            script = house.follow(("read_lines", {"path": "shop/store.py"}), answer="In the store.")
            assert (await made.run("Read shop/store.py instead.")).content == "In the store."
            assert "Where is verify?" in str(script.answers[-1].messages)

    asyncio.run(work())


def test_calls_that_cannot_be_read_end_in_an_answer_and_a_stream_that_is_whole(house: AgentHouse) -> None:
    script = house.follow()

    def broken(request: ChatRequest) -> str:
        return '{"tool": "search_c' if request.schema is not None else script(request)

    async def work() -> list[AgentEvent]:
        async with agent(house) as made:
            await made.run("Hi")  # what the model can do is found out first
            house.engine.outputs = broken
            return await heard(made, "Where is verify?")

    events = asyncio.run(work())
    assert kinds(events) == ["stream_start", "recovery", "stage_change", "content", "stream_end"]
    assert events[-1].metadata["status"] == "done"


def test_a_rule_of_a_plugin_blocks_a_call(house: AgentHouse) -> None:
    house.follow(("edit_file", {"path": "uv.lock", "old": "", "new": "x"}))

    async def work() -> None:
        async with agent(house, tools=["edit_file"], workspace="shop") as made:
            result = await made.run("Make uv.lock.")
            assert "made by a program" in result.tool_calls[0].error

    asyncio.run(work())


def test_a_coordinator_on_the_agent_s_model_commissions_the_members(house: AgentHouse) -> None:
    house.follow(("commission", {"agent": "looks", "objective": "Find verify."}), answer="It was found.")

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            team = Team([made.member("looks")], "hierarchical", coordinator=await made.coordinator())
            result = await team.run("Where is verify?")
            assert (result.status, result.content) == ("done", "It was found.")
            assert [report.member for report in result.reports] == ["looks"]

    asyncio.run(work())


def test_two_turns_at_once_follow_each_other_and_number_their_own_events(house: AgentHouse) -> None:
    house.follow(answer=lambda request: f"re: {request.messages[-1].content}")

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            first, second = await asyncio.gather(heard(made, "A"), heard(made, "B"))
            for events in (first, second):
                assert [event.sequence_id for event in events] == list(range(1, len(events) + 1))
            said = [message.content for message in made.history if message.role != "system"]
            assert sorted([said[:2], said[2:]]) == [["A", "re: A"], ["B", "re: B"]]

    asyncio.run(work())


def test_a_run_that_is_cancelled_leaves_the_conversation_as_it_was(house: AgentHouse) -> None:
    house.follow(answer="word " * 200)
    house.engine.pace = 50

    async def work() -> None:
        async with agent(house, tools=[]) as made:
            before, asked = house.engine.cancelled, len(house.engine.requests)
            running = asyncio.create_task(made.run("A"))
            while len(house.engine.requests) == asked:  # noqa: ASYNC110 - of another thread, which tells nobody here
                await asyncio.sleep(0.01)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            while house.engine.cancelled == before:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
            assert made.history == ()
            assert not made.busy

    try:
        asyncio.run(asyncio.wait_for(work(), 30))
    finally:
        house.engine.pace = None


def test_a_stream_that_is_left_at_its_first_event_leaves_no_run_open(house: AgentHouse) -> None:
    house.follow()

    async def work() -> None:
        async with agent(house) as made:
            stream = made.stream("A")
            first = await anext(stream)
            tools = made._made.turns.services.tools
            assert tools.is_open(first.run_id)
            await stream.aclose()
            assert not tools.is_open(first.run_id)

    asyncio.run(work())
