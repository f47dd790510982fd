import asyncio

import pytest

from appliance.orchestrator.coordinators import (
    MISSION_TEAMS,
    CoordinationStatePassedCoordinator,
    Suggested,
    Suggestion,
    Suited,
    SuitedRegistry,
    Task,
    TaskAnalyzer,
    by_words,
)
from appliance.orchestrator.coordinators.task_model import TYPES
from appliance.orchestrator.state import CoordinatorResult, create_snapshot


class Registry:
    def __init__(self, suggestion: Suggestion) -> None:
        self.suggestion = suggestion
        self.asked: list[Task] = []

    def suggest(self, task: Task) -> Suggestion:
        self.asked.append(task)
        return self.suggestion


class Backwards:
    def advise(self, task: Task, suggestion: Suggestion) -> Suggestion:
        return Suggestion(suggestion.teams[::-1], suggestion.workflows) if task.mode == "build" else suggestion


def suggest(coordinator: CoordinationStatePassedCoordinator, host: object = None, **asked: str) -> CoordinatorResult:
    return asyncio.run(coordinator.suggest(create_snapshot(host), **{"task_type": "explain", **asked}))


def state(result: CoordinatorResult) -> dict[object, object]:
    return {each.data["key"]: each.data["value"] for each in result.transitions.transitions}


def host(**attributes: object) -> object:
    return type("Host", (), attributes)()


TWO = Suggestion((Suggested("a", 0.8, "it fits"), Suggested("b", 0.4)), (Suggested("w", 0.6),))


def test_the_suggestion_and_the_first_of_each_are_written() -> None:
    result = suggest(CoordinationStatePassedCoordinator(coordination_runtime=Registry(TWO)), complexity="complex")
    said = state(result)
    assert said["coordination_suggestion"] == {
        "task_type": "explain",
        "complexity": "complex",
        "mode": "build",
        "teams": [
            {"name": "a", "confidence": 0.8, "reason": "it fits"},
            {"name": "b", "confidence": 0.4, "reason": ""},
        ],
        "workflows": [{"name": "w", "confidence": 0.6, "reason": ""}],
    }
    assert (said["coordination_primary_team"], said["coordination_primary_workflow"]) == ("a", "w")


@pytest.mark.parametrize(
    ("suggestion", "confidence"),
    [
        (TWO, 0.8),
        (Suggestion((), (Suggested("w", 0.6),)), 0.6),
        (Suggestion((Suggested("a"),), (Suggested("w", 0.6),)), 0.6),
        (Suggestion((Suggested("a"),)), 0.5),
        (Suggestion(), 0.0),
    ],
)
def test_the_confidence_is_that_of_the_team_else_of_the_workflow(suggestion: Suggestion, confidence: float) -> None:
    result = suggest(CoordinationStatePassedCoordinator(coordination_runtime=Registry(suggestion)))
    assert result.confidence == confidence
    assert ("coordination_primary_team" in state(result)) is bool(suggestion.teams)
    assert ("coordination_primary_workflow" in state(result)) is bool(suggestion.workflows)


@pytest.mark.parametrize(
    ("attributes", "complexity"),
    [
        ({"conversation_state": {"task_complexity": "simple", "complexity": "complex"}}, "simple"),
        ({"conversation_state": {"complexity": "complex"}, "_capabilities": {"task_complexity": "simple"}}, "complex"),
        ({"session_state": {"task_complexity": "complex"}}, "complex"),
        ({"_capabilities": {"task_complexity": "simple"}}, "simple"),
        ({"conversation_state": {"task_complexity": None}}, "medium"),
        ({}, "medium"),
    ],
)
def test_the_complexity_comes_from_the_state_then_from_a_capability(attributes: dict[str, object], complexity: str) -> None:
    registry = Registry(TWO)
    suggest(CoordinationStatePassedCoordinator(coordination_runtime=registry), host(**attributes))
    assert [task.complexity for task in registry.asked] == [complexity]


def test_what_is_said_goes_before_the_state_and_the_context_is_handed_on() -> None:
    registry = Registry(TWO)
    coordinator = CoordinationStatePassedCoordinator(coordination_runtime=registry, vertical_context="ours")
    suggest(coordinator, host(conversation_state={"complexity": "complex"}), complexity="simple", mode="plan")
    assert registry.asked == [Task("explain", "simple", "plan", "ours")]


def test_an_advisor_has_the_last_word() -> None:
    coordinator = CoordinationStatePassedCoordinator(coordination_runtime=Registry(TWO), coordination_advisor=Backwards())
    assert state(suggest(coordinator))["coordination_primary_team"] == "b"
    assert state(suggest(coordinator, mode="plan"))["coordination_primary_team"] == "a"


def test_a_registry_suggests_what_is_for_the_task_the_most_special_first() -> None:
    registry = SuitedRegistry(
        teams=(
            Suited("wide", frozenset({"edit", "debug", "test"}), "anything"),
            Suited("narrow", frozenset({"edit"}), "edits"),
            Suited("large", frozenset({"edit"}), "large edits", least="complex"),
            Suited("other", frozenset({"locate"}), "search"),
        ),
        workflows=(Suited("change", frozenset({"edit"}), "edit, test, review", writes=True),),
    )
    medium = registry.suggest(Task("edit", "medium", "build"))
    assert [each.name for each in medium.teams] == ["narrow", "wide"]
    assert [each.name for each in registry.suggest(Task("edit", "complex", "build")).teams] == ["large", "narrow", "wide"]
    assert [each.name for each in medium.workflows] == ["change"]
    assert not registry.suggest(Task("edit", "medium", "plan")).workflows
    assert registry.suggest(Task("unknown", "simple", "build")) == Suggestion()
    assert all(0 < (each.confidence or 0) < 1 for each in medium.teams)


def test_what_a_workflow_is_for_is_told_from_its_description() -> None:
    words = {"check": "Review the changes for bugs", "trace": "Find out who calls a function", "greet": "Hello!"}
    workflows = [by_words(name, said, analyzer=TaskAnalyzer()) for name, said in words.items()]
    registry = SuitedRegistry(workflows=workflows)
    (found,) = registry.suggest(Task("review", "medium", "build")).workflows
    assert (found.name, found.reason) == ("check", words["check"])
    assert [each.name for each in registry.suggest(Task("callers", "simple", "plan")).workflows] == ["trace"]
    assert not registry.suggest(Task("other", "simple", "build")).workflows


def test_every_type_of_task_about_code_has_a_team_of_juniors() -> None:
    registry = SuitedRegistry(teams=MISSION_TEAMS)
    alone = {"other", "edit"}  # small talk needs nobody, and a small edit only whoever edits
    for kind in set(TYPES) - alone:
        assert registry.suggest(Task(kind, "medium", "build")).teams
