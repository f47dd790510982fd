import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.codeintel.results import Scope
from appliance.ids import ProjectId
from appliance.orchestrator.coordinators import (
    ExplorationStatePassedCoordinator,
    Findings,
    FoundFile,
)
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, create_snapshot
from tests.support.clock import FakeClock
from tests.support.explored import Explored

QUESTION = "How does ModelStore.verify compare the digest?"


def snapshot(**state: object) -> ContextSnapshot:
    return create_snapshot(type("Host", (), {"conversation_state": state})())


def explore(coordinator: ExplorationStatePassedCoordinator, message: str = QUESTION, **given: object) -> CoordinatorResult:
    context = given.pop("context", None) or snapshot()
    return asyncio.run(coordinator.explore(context, message, **given))  # type: ignore[arg-type] # as the tests give it


def state(result: CoordinatorResult) -> dict[object, object]:
    return {each.data["key"]: each.data["value"] for each in result.transitions.transitions}


def files(result: CoordinatorResult) -> tuple[object, ...]:
    found = state(result)["explored_files"]
    assert isinstance(found, tuple)
    return found


def test_the_index_is_asked_by_words_meaning_and_graph(explored: Explored) -> None:
    result = explore(ExplorationStatePassedCoordinator(index=explored.index()))
    assert files(result)[0] == "shop/store.py"
    assert "tests/test_store.py" in files(result)
    said = state(result)
    assert "shop/shop/store.py:" in str(said["exploration_summary"])
    assert "defines" in str(said["exploration_summary"])
    metrics = said["exploration_metrics"]
    assert isinstance(metrics, Mapping)
    assert set(metrics) == {"duration_seconds", "tool_calls", "files_found"}
    assert result.should_continue


def test_callers_come_behind_definitions(explored: Explored) -> None:
    result = explore(ExplorationStatePassedCoordinator(index=explored.index(), max_results=10), "who calls digest_of")
    assert files(result)[0] == "shop/store.py"
    assert "calls digest_of" in str(state(result)["exploration_summary"])


def test_the_same_question_gives_the_same_answer(explored: Explored) -> None:
    coordinator = ExplorationStatePassedCoordinator(index=explored.index(), clock=FakeClock())
    assert len({repr(explore(coordinator).transitions) for _ in range(3)}) == 1


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_is_found_than_was_asked_for(explored: Explored, most: int) -> None:
    coordinator = ExplorationStatePassedCoordinator(max_results=5, index=explored.index())
    result = explore(coordinator, max_results=most)
    assert len(files(result)) == most
    assert result.confidence == pytest.approx(most / 3)


def test_a_folder_bounds_what_is_found(explored: Explored) -> None:
    index = explored.index()
    assert set(files(explore(ExplorationStatePassedCoordinator("tests", index=index)))) == {"tests/test_store.py"}
    within = ExplorationStatePassedCoordinator("tests", index=index)
    assert "shop/store.py" in files(explore(within, project_root=Path("shop")))


def test_the_place_of_a_repository_is_a_root_too(explored: Explored) -> None:
    index = explored.index(explored.shop.scope)
    place = Path(str(explored.repo.source))
    assert "shop/store.py" in files(explore(ExplorationStatePassedCoordinator(place, index=index)))
    assert set(files(explore(ExplorationStatePassedCoordinator(place / "tests", index=index)))) == {"tests/test_store.py"}


def test_files_of_several_repositories_say_which_one_they_are_of(explored: Explored) -> None:
    result = explore(ExplorationStatePassedCoordinator(index=explored.index(explored.shop.scope), max_results=20))
    assert {"shop/shop/store.py", "notes/notes/digest.md"} <= set(files(result))


def test_names_that_the_state_knows_are_looked_up(explored: Explored) -> None:
    coordinator = ExplorationStatePassedCoordinator(index=explored.index(), max_results=1)
    assert files(explore(coordinator, "and how?", context=snapshot(task_keywords=["EnginePool"]))) == ("shop/pool.py",)


@pytest.mark.parametrize("root", ["../other", "/somewhere/else", 'a"b'])
def test_a_root_that_cannot_be_finds_nothing_and_says_why(explored: Explored, root: str) -> None:
    result = explore(ExplorationStatePassedCoordinator(root, index=explored.index()))
    assert files(result) == ()
    assert result.confidence == 0
    assert result.metadata["warnings"]
    assert "Note: " in str(state(result)["exploration_summary"])


@pytest.mark.parametrize("message", ["?!", " ", 'repo:x "path: case:', "😀" * 3, "a:b c/d " * 2_000])
def test_a_message_that_is_no_query_is_no_error(explored: Explored, message: str) -> None:
    assert 0 <= explore(ExplorationStatePassedCoordinator(index=explored.index()), message).confidence <= 1


def test_nothing_of_another_project_is_found(explored: Explored) -> None:
    result = explore(ExplorationStatePassedCoordinator(index=explored.index(Scope(ProjectId("other")))))
    assert files(result) == ()
    assert result.metadata["warnings"]


def test_without_an_index_nothing_is_found_and_that_is_said() -> None:
    result = explore(ExplorationStatePassedCoordinator())
    assert files(result) == ()
    assert result.confidence == 0
    assert "no index" in str(state(result)["exploration_summary"])


def test_fewer_than_one_result_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        explore(ExplorationStatePassedCoordinator(max_results=0))


class Talkative:
    async def find(self, question: str, *, names: tuple[str, ...], root: str, limit: int) -> Findings:
        del question, names, root
        found = tuple(FoundFile("r", f"{'p' * 300}{n}.py", 1, 2, "s", "w" * 500) for n in range(limit))
        return Findings(found, 1)


def test_a_summary_is_bounded_and_says_that_it_was_cut() -> None:
    result = explore(ExplorationStatePassedCoordinator(index=Talkative(), max_results=50))
    summary = str(state(result)["exploration_summary"])
    assert len(summary) < 2_100
    assert summary.endswith("… more was found than fits here.")
    assert result.confidence == 1
