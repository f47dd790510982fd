"""Claims about clients: the same verbs do the same in this process and over HTTP."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import pytest

from appliance.errors import ApplianceError, Conflict, InvalidInput, NotFound, Unauthenticated, Unavailable
from appliance.framework import ApplianceClient, EventType
from appliance.framework.results import ApprovalRequest
from appliance.services import CLI_KEY
from tests.support.agent_house import AgentHouse
from tests.support.listening import free_port

Way = Callable[[], ApplianceClient]

WORKFLOW = """
name: release
entry: look
state:
  word: text
  meaning: text
  deployed: text
nodes:
  look: {kind: agent, agent: lexicographer, task: "Explain ${word}.", output: meaning, next: may}
  may: {kind: approval, ask: "Deploy?", next: deploy}
  deploy: {kind: tool, tool: deploy, arguments: {}, output: deployed}
"""


@pytest.fixture(params=["local", "http"])
def way(request: pytest.FixtureRequest, house: AgentHouse) -> Way:
    if request.param == "local":
        return lambda: ApplianceClient.local(house.loaded)
    port = request.getfixturevalue("port")
    key = (house.root / "run" / CLI_KEY).read_text().strip()
    return lambda: ApplianceClient.connect(f"http://127.0.0.1:{port}", key=key)


def run(way: Way, work: Callable[[ApplianceClient], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        async with way() as client:
            await work(client)

    asyncio.run(asyncio.wait_for(all_of_it(), 60))


def test_a_session_is_begun_talked_in_found_again_and_read(way: Way, house: AgentHouse) -> None:
    house.follow(("search_code", {"query": "verify"}), answer="In the store.")

    async def work(client: ApplianceClient) -> None:
        begun = await client.create_session(workspace="shop", config={"title": "Where things are"})
        first = await client.chat("Where is verify?", context={"since": "today"})
        assert (first.content, first.status) == ("In the store.", "done")
        assert [(call.tool, call.success) for call in first.tool_calls] == [("search_code", True)]
        house.follow(answer="As I said.")
        assert (await client.chat("Again?")).content == "As I said."
        assert (begun.title, begun.state, begun.id) == ("Where things are", "open", client.session_id)
        assert begun.id in [session.id for session in await client.list_recent_sessions(100)]
        async with other() as again:
            await again.resume_session(begun.id)
            assert (await again.chat("And again?")).content == "As I said."
        said = [(message.role, message.content) for message in await client.get_messages()]
        assert [role for role, _ in said] == ["system", *("user", "assistant") * 3]
        assert said[1][1].startswith("Where is verify?\n\nContext:\n")
        metrics, last = await client.get_session_metrics(), await client.get_last_turn_cost()
        assert (metrics.turns, metrics.failed, metrics.cost.tool_calls) == (3, 0, 1)
        assert 0 < last.total_tokens < metrics.cost.total_tokens

    other = asynccontextmanager(lambda: _opened(way))
    run(way, work)


async def _opened(way: Way) -> AsyncIterator[ApplianceClient]:
    async with way() as client:
        yield client


def test_a_stream_is_the_events_of_a_turn(way: Way, house: AgentHouse) -> None:
    house.follow(("search_code", {"query": "verify"}), answer="In the store.")

    async def work(client: ApplianceClient) -> None:
        events = [event async for event in client.stream("Where is verify?")]
        assert "".join(event.content for event in events if event.type is EventType.CONTENT) == "In the store."
        assert [event.sequence_id for event in events] == list(range(1, len(events) + 1))
        assert {event.type for event in events} >= {EventType.TOOL_CALL, EventType.TOOL_RESULT, EventType.STREAM_END}
        calls = [event for event in events if event.type is EventType.TOOL_CALL]
        assert calls[0].arguments == {"query": "verify"}

    run(way, work)


def test_a_stream_that_nobody_reads_on_stops_the_turn(way: Way, house: AgentHouse) -> None:
    house.follow(answer="word " * 200)
    house.engine.pace = 50

    async def work(client: ApplianceClient) -> None:
        await client.create_session(tools=[])
        before = house.engine.cancelled
        events = client.stream("Talk.")
        async for event in events:
            if event.type is EventType.CONTENT:
                break
        await events.aclose()
        while house.engine.cancelled == before:  # noqa: ASYNC110 - of another thread, which tells nobody here
            await asyncio.sleep(0.02)
        assert not await client.get_messages()

    try:
        run(way, work)
    finally:
        house.engine.pace = None


def test_a_call_that_needs_a_person_waits_for_resume(way: Way, house: AgentHouse) -> None:
    house.follow(("deploy", {}), answer="Done.")

    async def work(client: ApplianceClient) -> None:
        await client.create_session(tools=["deploy"])
        asked = await client.chat("Deploy it.")
        assert asked.approval_request is not None
        assert (asked.status, asked.approval_request.tool) == ("awaiting_approval", "deploy")
        done = await client.resume(asked.run_id, "approved", note="Go.")
        assert (done.content, done.tool_calls[0].result) == ("Done.", "deployed")
        with pytest.raises(NotFound):
            await client.resume(asked.run_id, "approved")

    run(way, work)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_handler_decides_on_what_needs_a_person(way: Way, house: AgentHouse, *, streamed: bool) -> None:
    house.follow(("deploy", {}), answer="Over.")
    asked: list[ApprovalRequest] = []

    async def decide(request: ApprovalRequest) -> bool:
        asked.append(request)
        return False

    async def work(client: ApplianceClient) -> None:
        client.set_approval_handler(decide)
        await client.create_session(tools=["deploy"])
        if streamed:
            events = [event async for event in client.stream("Deploy it.")]
            assert [event.tool_name for event in events if event.type is EventType.TOOL_ERROR] == ["deploy"]
        else:
            result = await client.chat("Deploy it.")
            assert ("deploy was not approved" in result.content, result.tool_calls[0].success) == (True, False)
        assert [request.tool for request in asked] == ["deploy"]
        assert asked[0].expires_at > time.time()

    run(way, work)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_handler_that_comes_too_late_does_not_cost_the_turn(way: Way, house: AgentHouse, *, streamed: bool) -> None:
    house.follow(("deploy", {}), answer="Over.")

    async def decide(request: ApprovalRequest) -> bool:
        with closing(sqlite3.connect(house.root / "global.db")) as conn:
            while conn.execute("SELECT state FROM approvals WHERE id = ?", (request.id,)).fetchone() == ("pending",):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return True

    async def work(client: ApplianceClient) -> None:
        client.set_approval_handler(decide)
        await client.create_session(tools=["deploy"], config={"approval_seconds": 0.2})
        if not streamed:
            result = await client.chat("Deploy it.")
            assert ("Nobody decided in time" in result.content, result.tool_calls[0].success) == (True, False)
            return
        events = [event async for event in client.stream("Deploy it.")]
        assert [event.tool_name for event in events if event.type is EventType.TOOL_ERROR] == ["deploy"]
        assert "Nobody decided in time" in "".join(event.content for event in events if event.type is EventType.CONTENT)

    run(way, work)


def test_a_workflow_runs_within_what_it_was_granted_and_asks_the_handler(way: Way, house: AgentHouse) -> None:
    async def work(client: ApplianceClient) -> None:
        house.follow(("glossary", {"word": "span"}), answer="Lines of a file.")
        client.set_approval_handler(lambda request: request.why == "Deploy?" or request.tool == "deploy")
        done = await client.run_workflow(WORKFLOW, {"word": "span"}, tools=["glossary", "deploy"])
        assert (done.success, done.error) == (True, "")
        assert done.state["meaning"] == "Lines of a file."
        assert done.state["deployed"] == "deployed"
        named = await client.run_workflow("explain-word", {"word": "span"}, tools=["glossary"])
        assert named.state["meaning"] == "Lines of a file."
        with pytest.raises(InvalidInput, match="needs the tool 'deploy'"):
            await client.run_workflow(WORKFLOW, {"word": "span"}, tools=["glossary"])
        with pytest.raises(NotFound, match="explain-word"):
            await client.run_workflow("explain-wort")

    run(way, work)


def test_code_is_found_and_asked_about(way: Way, house: AgentHouse) -> None:
    house.follow()

    async def work(client: ApplianceClient) -> None:
        found = await client.search("verify", workspace="shop", limit=5)
        assert "shop/store.py" in [lines.path for lines in found.lines]
        assert all((lines.repo_name, lines.verified) == ("shop", True) for lines in found.lines)
        answer = await client.ask("Where is open_vault defined?", workspace="vault", prose=False)
        assert answer.evidence[0].path == "vault/keys.py"
        assert set(answer.sentences[0].cites) <= {lines.n for lines in answer.evidence}

    run(way, work)


def test_a_mission_is_asked_for_seen_and_stopped(way: Way) -> None:
    async def work(client: ApplianceClient) -> None:
        asked = await client.start_mission("How does verify work?", workspace="shop")
        assert (asked.goal, asked.state, asked.answer) == ("How does verify work?", "queued", None)
        assert (await client.get_mission(asked.id)).id == asked.id
        assert (await client.cancel_mission(asked.id)).state == "cancelled"
        with pytest.raises(Conflict):
            await client.cancel_mission(asked.id)

    run(way, work)


REFUSED: dict[str, tuple[Callable[[ApplianceClient], Awaitable[object]], type[ApplianceError]]] = {
    "a session that is not there": (lambda client: client.resume_session("ses_none"), NotFound),
    "a run that waits for nobody": (lambda client: client.resume("run_none", "approved"), NotFound),
    "messages of nobody": (lambda client: client.get_messages("ses_none"), NotFound),
    "metrics of nobody": (lambda client: client.get_session_metrics("ses_none"), NotFound),
    "a talk with nobody": (lambda client: client.chat("Hi", session_id="ses_none"), NotFound),
    "a mission that is not there": (lambda client: client.get_mission("msn_none"), NotFound),
    "a goal that says nothing": (lambda client: client.start_mission(" "), InvalidInput),
    "tools that are not there": (lambda client: client.create_session(tools=["telnet"]), InvalidInput),
    "a workspace that is not there": (lambda client: client.create_session(workspace="nowhere"), NotFound),
    "an argument that is not there": (lambda client: client.create_session(colour="red"), InvalidInput),
    "a message that says nothing": (lambda client: client.chat("  "), InvalidInput),
    "YAML that is no workflow": (lambda client: client.run_workflow("name: x\nnodes: 7\n"), InvalidInput),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_refused_alike(way: Way, what: str) -> None:
    verb, error = REFUSED[what]

    async def work(client: ApplianceClient) -> None:
        with pytest.raises(error):
            await verb(client)

    run(way, work)


def test_a_session_that_is_closed_is_not_changed_to(way: Way, house: AgentHouse) -> None:
    async def work(client: ApplianceClient) -> None:
        session = await client.create_session()
        async with ApplianceClient.local(house.loaded) as local:
            place = await local._backend._desk.place()  # type: ignore[attr-defined]
            place.services.sessions.close_session(session.id)
        with pytest.raises(Conflict):
            await client.resume_session(session.id)

    run(way, work)


def test_a_client_over_http_says_what_is_wrong_with_the_other_side(port: int) -> None:
    with pytest.raises(InvalidInput):
        ApplianceClient.connect("127.0.0.1", key="k")
    for url, error in ((f"http://127.0.0.1:{port}", Unauthenticated), (f"http://127.0.0.1:{free_port()}", Unavailable)):

        async def work(client: ApplianceClient, error: type[ApplianceError] = error) -> None:
            with pytest.raises(error):
                await client.list_recent_sessions()

        run(lambda url=url: ApplianceClient.connect(url, key="skellig_none"), work)  # type: ignore[misc]
