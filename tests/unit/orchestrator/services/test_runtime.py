"""The real runtime, on a real database, under the real state-passed core."""

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.codeintel.needs import ChatModel
from appliance.contracts.tools import Evidence, Json, ToolOutput
from appliance.errors import Conflict, InvalidInput, NotFound, NotGranted, StaleSnapshotError, ToolFailed
from appliance.orchestrator.facade import OrchestrationFacade
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runtime import Orchestrator, Parts, Runtime, orchestrator
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.session import LocalSessionService
from appliance.orchestrator.state import (
    CommitsStaged,
    Host,
    StateTransition,
    TransitionApplier,
    TransitionBatch,
    TransitionType,
    create_snapshot,
)
from appliance.orchestrator.state.host import Changes, Staged
from appliance.tables import MIGRATIONS
from tests.support.calls import Names, OneModel, ScriptedModel, ScriptedTool, context, grants, never
from tests.support.clock import FakeClock

HELLO = {"role": "user", "content": "hi"}
FOUND = ToolOutput("main", evidence=(Evidence("repo_shop", "shop", "a.py", 1, 2, "b" * 40, "c" * 40, "x"),))


@contextmanager
def begun(
    path: Path, *tools: ScriptedTool, models: tuple[ScriptedModel, ...] = (ScriptedModel(),)
) -> Iterator[Orchestrator]:
    async def probe(chat: ChatModel) -> Abilities:
        del chat
        return Abilities(schema=True, envelope=True)

    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)
    made = orchestrator(
        Parts(
            connect=lambda: sqlite.connect(path, migrations=MIGRATIONS),
            clock=FakeClock(),
            models=OneModel(*models),
            probe=probe,
            tools=registry,
            repositories=Names(),
            patience_s=0,
        )
    )
    made.facade.session_service.create_session(session_id="s", project="prj_1")
    yield made
    made.close()


def runtime(made: Orchestrator) -> Runtime:
    return made.runtime("s", context=context(grants("search", "explode", "slow")), settings={"api_key": "x", "k": 1})


def apply(host: Runtime, batch: TransitionBatch, **expected: object) -> list[object]:
    return asyncio.run(TransitionApplier(host).apply_batch(batch, **expected))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


def test_the_runtime_is_what_the_core_needs_and_a_snapshot_of_it_is_whole(path: Path) -> None:
    with begun(path, ScriptedTool()) as made:
        host = runtime(made)
        assert isinstance(host, Host)
        assert isinstance(host, CommitsStaged)
        host.commit(Staged((HELLO,), Changes({"a": {"b": [1]}}), Changes({"s": 2}), {"planning": True}, "working"))
        snapshot = create_snapshot(host)
        assert snapshot == create_snapshot(host)
    assert (snapshot.session_id, snapshot.model, snapshot.provider) == ("s", "scripted", "local")
    assert (snapshot.message_count, snapshot.conversation_stage, snapshot.version) == (1, "working", 1)
    assert (snapshot.get_state("s"), snapshot.has_capability("planning")) == (2, True)
    assert (snapshot.max_tokens, snapshot.temperature) == (512, 0.0)
    assert "[redacted]" in repr(snapshot.settings)


def test_every_type_of_transition_is_applied_and_outlives_the_process(path: Path) -> None:
    every = (
        TransitionBatch()
        .add_message(HELLO)
        .add_messages([{"role": "assistant", "content": "yes?"}])
        .update_state("k", [1])
        .update_state("gone", 1)
        .delete_state("gone")
        .update_state("k", 2, scope="session")
        .execute_tool("search", {})
        .update_capability("planning", True)
        .update_stage("complete")
        .create_session("other")
        .close_session("other")
        .extend(
            TransitionBatch(
                [
                    StateTransition(TransitionType.TOOL_RESULT, {"tool_name": "search", "result": {"n": 1}}),
                    StateTransition(
                        TransitionType.BATCH,
                        {"transitions": [StateTransition(TransitionType.UPDATE_STATE, {"key": "in", "value": 1})]},
                    ),
                ]
            )
        )
    )
    assert {each.transition_type for each in every.transitions} == set(TransitionType)
    with begun(path, ScriptedTool(output=FOUND)) as made:
        host = runtime(made)
        assert apply(host, every) == [FOUND]
        assert made.facade.session_service.get_session("other").state == "closed"
        before = create_snapshot(host)
    sessions = LocalSessionService(sqlite.connect(path), clock=FakeClock())
    content, _ = sessions.content("s")
    sessions.close()
    assert before.messages[-1]["role"] == "tool"  # type: ignore[index]
    assert before.observed_files == ("a.py",)
    assert before.is_complete
    assert [message.role for message in content.messages] == ["user", "assistant", "tool"]
    assert (content.conversation_state, content.session_state) == ('{"k": [1], "in": 1}', '{"k": 2}')


async def _explodes(arguments: Mapping[str, Json]) -> object:
    raise RuntimeError(str(arguments))


BAD = {
    "a tool that fails": (TransitionBatch().update_state("k", 1).add_message(HELLO).execute_tool("explode", {}), ToolFailed),
    "a tool that was not granted": (TransitionBatch().update_state("k", 1).execute_tool("edit", {}), NotGranted),
    "a tool that is not there": (TransitionBatch().update_state("k", 1).execute_tool("none", {}), NotFound),
    "what is no message": (TransitionBatch().update_state("k", 1).add_message("text"), InvalidInput),
    "a session that is not there": (TransitionBatch().update_state("k", 1).close_session("none"), NotFound),
}


@pytest.mark.parametrize("claim", BAD)
def test_a_batch_that_fails_changes_no_state(path: Path, claim: str) -> None:
    batch, error = BAD[claim]
    with begun(path, ScriptedTool("explode", act=_explodes), ScriptedTool("edit", effect="write")) as made:
        host = runtime(made)
        host.commit(Staged((HELLO,), Changes({"a": 1})))
        before = create_snapshot(host)
        with pytest.raises(error):
            apply(host, batch)
        assert create_snapshot(host) == before
        assert create_snapshot(runtime(made)) == before, "nor in the database"


def test_a_batch_that_is_cancelled_changes_no_state(path: Path) -> None:
    tool = ScriptedTool("slow", act=never)
    with begun(path, tool) as made:
        host = runtime(made)
        before = create_snapshot(host)

        async def main() -> None:
            batch = TransitionBatch().update_state("k", 1).execute_tool("slow", {}).update_state("z", 1)
            task = asyncio.create_task(TransitionApplier(host).apply_batch(batch))
            await tool.called.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert create_snapshot(runtime(made)) == before


def test_a_decision_on_an_old_snapshot_is_refused(path: Path) -> None:
    with begun(path, ScriptedTool()) as made:
        host = runtime(made)
        old = create_snapshot(host)
        apply(host, TransitionBatch().update_state("k", 1), expected=old)
        with pytest.raises(StaleSnapshotError):
            apply(host, TransitionBatch().update_state("k", 2), expected=old)
        apply(host, TransitionBatch().update_state("k", 3), expected=create_snapshot(host))
        assert host.conversation_state == {"k": 3}


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(path: Path) -> None:
    with begun(path, ScriptedTool()) as made:
        one, other = runtime(made), runtime(made)
        apply(other, TransitionBatch().update_state("k", "theirs"))
        with pytest.raises(Conflict, match="somebody else"):
            apply(one, TransitionBatch().update_state("k", "ours"))
        one.refresh()
        assert one.conversation_state == {"k": "theirs"}
        apply(one, TransitionBatch().update_state("k", "ours"))


def test_a_turn_of_chat_is_part_of_what_the_next_snapshot_shows(path: Path) -> None:
    with begun(path) as made:
        host = made.runtime("s", context=context(grants()))
        assert asyncio.run(host.chat("Hello")).content == "ok"
        assert create_snapshot(host).message_count == 3


def test_a_runtime_without_a_model_has_a_state_all_the_same(path: Path) -> None:
    with begun(path, models=()) as made:
        assert create_snapshot(made.runtime("s", context=context(grants()))).model == ""
    with begun(path.with_name("other.db")) as made, pytest.raises(NotFound):
        made.runtime("none", context=context(grants()))


def test_a_session_is_opened_with_what_sessions_have(path: Path) -> None:
    with begun(path) as made:
        host = made.runtime("s", context=context(grants()))
        assert host.create_session(session_id="n", title="T").title == "T"
        with pytest.raises(InvalidInput, match="sudo"):
            host.create_session(session_id="m", sudo=True)
        assert host.close_session().id == "s"


def test_the_facade_has_ten_parts_by_keyword_and_the_services_are_required(path: Path) -> None:
    names = [field.name for field in dataclasses.fields(OrchestrationFacade)]
    services = [f"{name}_service" for name in ("chat", "tool", "session", "context", "provider", "recovery")]
    decisions = [f"{name}_state_passed" for name in ("exploration", "system_prompt", "safety", "coordination")]
    assert names == services + decisions
    with begun(path) as made:
        given = {name: getattr(made.facade, name) for name in services}
        assert OrchestrationFacade(**given) == made.facade
        for name in services:
            with pytest.raises(TypeError, match=name):
                OrchestrationFacade(**{key: value for key, value in given.items() if key != name})
        with pytest.raises(TypeError):
            OrchestrationFacade(*given.values())  # type: ignore[call-arg]
        with pytest.raises(dataclasses.FrozenInstanceError):
            made.facade.chat_service = None  # type: ignore[misc, assignment]
