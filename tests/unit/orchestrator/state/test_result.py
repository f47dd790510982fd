import json

import pytest

from appliance.orchestrator.state import CoordinatorResult, StateTransition, TransitionBatch, TransitionType, merge_results


def result(batch: TransitionBatch | None = None, **over: object) -> CoordinatorResult:
    return CoordinatorResult(batch or TransitionBatch(), **over)  # type: ignore[arg-type] # as the tests want it


def test_defaults_and_factories() -> None:
    made = result()
    assert (made.reasoning, made.confidence, made.metadata, made.should_continue, made.handoff_to) == (
        None,
        1.0,
        {},
        True,
        None,
    )
    nothing = CoordinatorResult.no_op("nothing to do")
    assert nothing.transitions.is_empty()
    assert (nothing.reasoning, nothing.should_continue) == ("nothing to do", True)
    one = StateTransition(TransitionType.UPDATE_STAGE, {"stage": "x"})
    other = StateTransition(TransitionType.DELETE_STATE, {"key": "k"})
    only = CoordinatorResult.transitions_only(one, other, reasoning="why")
    assert only.transitions.transitions == [one, other]
    assert only.reasoning == "why"
    assert nothing.add_message("m").update_state("k", 1, scope="session") is nothing
    assert len(nothing.transitions) == 2


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), float("inf"), "1", None, True])
def test_confidence_is_a_probability_from_first_to_last(value: object) -> None:
    with pytest.raises(ValueError, match="confidence"):
        result(confidence=value)
    made = result(confidence=0)
    with pytest.raises(ValueError, match="confidence"):
        made.confidence = value  # type: ignore[assignment] # on purpose
    assert made.confidence == 0


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(ValueError, match="transitions"):
        CoordinatorResult([])  # type: ignore[arg-type] # on purpose
    with pytest.raises(ValueError, match="metadata"):
        result(metadata=None)


def test_a_result_survives_json() -> None:
    made = result(
        TransitionBatch().update_state("k", [1]), reasoning="r", confidence=0.5, metadata={"m": 1}, should_continue=False,
        handoff_to="x",
    )  # fmt: skip
    assert CoordinatorResult.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    with pytest.raises(ValueError, match="result"):
        CoordinatorResult.from_dict({"transitions": []})


def test_merged_results_follow_each_other_and_are_as_sure_as_the_least_sure() -> None:
    one = result(TransitionBatch().update_state("a", 1), reasoning="first", confidence=0.9, metadata={"x": 1, "y": 1})
    other = result(TransitionBatch().update_state("b", 2), reasoning="second", confidence=0.4, metadata={"y": 2})
    merged = merge_results(one, other)
    assert [each.data["key"] for each in merged.transitions.transitions] == ["a", "b"]
    assert (merged.reasoning, merged.confidence, merged.should_continue) == ("first; second", 0.4, True)
    assert merged.metadata == {"x": 1, "y": 2}
    assert merged.conflicts == ()
    assert merge_results([one, other]) == merged
    assert (len(one.transitions), one.metadata) == (1, {"x": 1, "y": 1})


def test_a_merged_result_stops_if_one_stops_and_hands_over_to_whom_the_last_one_says() -> None:
    merged = merge_results(result(should_continue=False, handoff_to="a"), result(handoff_to="b"), result())
    assert (merged.should_continue, merged.handoff_to) == (False, "b")
    assert merged.conflicts == ({"what": "handoff_to", "results": [0, 1]},)


def test_what_results_do_not_agree_on_is_told_and_the_later_wins() -> None:
    one = TransitionBatch().update_state("k", 1).update_state("same", [1]).update_stage("a").update_capability("c")
    inner = TransitionBatch().update_state("k", 2, scope="session").delete_state("gone")
    other = TransitionBatch().update_state("k", 2).update_state("same", [1]).update_stage("b").add_batch(inner)
    third = TransitionBatch().update_state("gone", 1).update_capability("c", value=False).add_message("m")
    merged = merge_results(result(one), result(other), result(third))
    assert list(merged.conflicts) == [
        {"what": "state", "key": "k", "scope": "conversation", "results": [0, 1]},
        {"what": "stage", "results": [0, 1]},
        {"what": "capability", "key": "c", "results": [0, 2]},
        {"what": "state", "key": "gone", "scope": "conversation", "results": [1, 2]},
    ]
    assert merged.metadata["conflicts"] == list(merged.conflicts)


def test_one_result_that_changes_its_mind_contradicts_nobody() -> None:
    batch = TransitionBatch().update_state("k", 1).update_state("k", 2)
    assert merge_results(result(batch), result(TransitionBatch().update_state("k", 2))).conflicts == ()


def test_nothing_merged_changes_nothing() -> None:
    merged = merge_results()
    assert merged.transitions.is_empty()
    assert (merged.confidence, merged.should_continue) == (1.0, True)
    with pytest.raises(ValueError, match="merged"):
        merge_results(["x"])  # type: ignore[list-item] # on purpose


@pytest.mark.parametrize("given", [None, {}, 5, "text", [None]])
def test_only_results_are_merged(given: object) -> None:
    with pytest.raises(ValueError, match="Results are merged"):
        merge_results(given)  # type: ignore[arg-type]
