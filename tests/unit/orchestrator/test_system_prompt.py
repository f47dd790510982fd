import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from appliance.contracts.chat import Message
from appliance.orchestrator.coordinators import SystemPromptStatePassedCoordinator, TaskAnalysis, TaskAnalyzer, task_model
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, create_snapshot
from tests.support.task_training import EXAMPLES, Example, read, trained

HERE = Path(__file__).parent
TAUGHT = read(EXAMPLES)
LOOKED_AT = read(HERE / "prompts_looked_at.tsv")
HELD_OUT = read(HERE / "prompts_held_out.tsv")
STRANGERS = read(HERE / "prompts_of_strangers.tsv")
PLAIN = read(HERE / "prompts_in_plain_words.tsv")
ANALYZER = TaskAnalyzer()


def snapshot(*messages: object) -> ContextSnapshot:
    return create_snapshot(type("Host", (), {"messages": list(messages)})())


def classify(message: str, *before: object) -> CoordinatorResult:
    return asyncio.run(SystemPromptStatePassedCoordinator(ANALYZER).classify(snapshot(*before), message))


def state(result: CoordinatorResult) -> dict[object, object]:
    return {each.data["key"]: each.data["value"] for each in result.transitions.transitions}


def share(of: Sequence[Example], right: Callable[[TaskAnalysis, Example], bool]) -> float:
    return sum(right(ANALYZER.analyze(each.message), each) for each in of) / len(of)


def test_labelled_prompts_are_told_apart_as_often_as_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing here taught the analyzer. Floors are what was measured, less what a few prompts make of it.

    - looked at: the last list of the hand that made the first analyzer.
    - held out: list C of a hand that had read that analyzer's rules.
    - strangers: list D, 200 prompts of a third hand, by a written guide alone.
    - plain: list G, 122 prompts of a fourth hand, which say in plain words what they want.

    How often each was looked at stands in docs/explanation/decisions.md. One that something is tuned on joins the examples.
    """
    lists = {
        "looked at": (LOOKED_AT, 0.88, 0.8),
        "held out": (HELD_OUT, 0.75, 0.75),
        "strangers": (STRANGERS, 0.83, 0.77),
        "plain": (PLAIN, 0.9, 0.72),
    }
    for name, (prompts, least_types, least_sizes) in lists.items():
        types = share(prompts, lambda said, example: said.task_type == example.task_type)
        sizes = share(prompts, lambda said, example: said.complexity == example.complexity)
        with capsys.disabled():
            sys.stdout.write(f"\n{name}: {len(prompts)} prompts, type {types:.1%}, complexity {sizes:.1%}")
        assert types >= least_types, name
        assert sizes >= least_sizes, name


def test_no_prompt_is_in_two_lists_and_those_that_taught_nothing_are_many() -> None:
    messages = [each.message.lower() for each in (*TAUGHT, *LOOKED_AT, *HELD_OUT, *STRANGERS, *PLAIN)]
    assert len(messages) == len(set(messages))
    assert len(HELD_OUT) + len(STRANGERS) >= 240


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("wheres the csv writer", "locate"),
        ("Hello everybody, please rename Foo to Bar in models.py", "edit"),
        ("can u rename Foo to Bar in models.py plz", "edit"),
    ],
)
def test_what_is_typed_in_haste_or_after_a_greeting_is_read_as_it_is_meant(typed: str, meant: str) -> None:
    assert ANALYZER.analyze(typed).task_type == meant


def test_the_weights_are_what_the_examples_make() -> None:
    """Weights that nobody can make again are nobody's to judge. A machine may differ in the last bit of an exponential."""
    shipped = np.frombuffer(Path(task_model.__file__).with_name(task_model.FILE).read_bytes(), dtype=np.int8)
    made = np.frombuffer(trained(TAUGHT), dtype=np.int8)
    assert int(np.abs(shipped.astype(int) - made).max()) <= 1


def test_the_examples_speak_of_every_type_and_size() -> None:
    assert {each.task_type for each in TAUGHT} == set(task_model.TYPES)
    assert {each.complexity for each in TAUGHT} == set(task_model.COMPLEXITIES)


def test_type_complexity_and_keywords_are_written() -> None:
    result = classify("who calls Session.request?")
    assert state(result) == {"task_type": "callers", "task_complexity": "simple", "task_keywords": ["Session.request"]}
    assert 0.5 < result.confidence <= 1
    assert result.should_continue
    assert "callers" in (result.reasoning or "")


def test_a_message_without_names_has_no_keywords() -> None:
    assert "task_keywords" not in state(classify("hello"))


def test_a_blank_message_changes_nothing() -> None:
    result = classify(" \n")
    assert result.transitions.is_empty()
    assert result.should_continue


@pytest.mark.parametrize(
    "before",
    [
        {"role": "user", "content": "explain how `parse_jwt` works"},
        Message("user", "explain how `parse_jwt` works"),
        "explain how `parse_jwt` works",
        {"role": "user", "content": [{"type": "text", "text": "explain how `parse_jwt` works"}]},
    ],
)
def test_a_short_message_leans_on_the_one_before_it_in_whatever_form_that_is(before: object) -> None:
    """Hosts keep threads as mappings, as objects and as text; a history that is passed over makes every follow-up blind."""
    said = state(classify("and who calls it?", before, {"role": "assistant", "content": "It parses `other_name`."}))
    assert said["task_type"] == "callers"
    assert isinstance(said["task_keywords"], tuple)
    assert "parse_jwt" in said["task_keywords"]
    assert "other_name" not in said["task_keywords"]


class Listening:
    def __init__(self) -> None:
        self.history: Sequence[str] = ()

    def analyze(self, message: str, *, history: Sequence[str] = ()) -> TaskAnalysis:
        self.history = history
        return TaskAnalysis("locate", "simple", (message,), 0.25)


def test_the_last_ten_messages_count_and_the_analyzer_says_how_sure_it_is() -> None:
    listening = Listening()
    messages = [{"role": "user", "content": f"m{n}"} for n in range(14)]
    coordinator = SystemPromptStatePassedCoordinator(listening)
    result = asyncio.run(coordinator.classify(snapshot(*messages), "x"))
    assert list(listening.history) == [f"m{n}" for n in range(4, 14)]
    assert result.confidence == 0.25


def test_the_same_words_give_the_same_answer() -> None:
    assert {TaskAnalyzer().analyze("why does the build fail on arm64?") for _ in range(3)} == {
        ANALYZER.analyze("why does the build fail on arm64?")
    }


@pytest.mark.parametrize("text", ["x" * 1_000_000, "where is " * 50_000, "`" * 100_000, "a_b." * 100_000, "\0\ud800 ?"])
def test_hostile_text_is_answered(text: str) -> None:
    assert len(ANALYZER.analyze(text, history=(text,)).keywords) <= 8
