"""From a goal to its parts and to what each junior is to do."""

import pytest

from appliance.contracts.tools import Evidence
from appliance.orchestrator.missions.card import composed
from appliance.orchestrator.missions.case import Finding
from appliance.orchestrator.missions.plan import MOST_PARTS, again, parts_of, tasks_of

KNOWN = {"Store.verify": "shop.store.Store.verify", "digest_of": "digest_of", "main": "main"}


def looks(goal: str, *types: str) -> list[tuple[str, str, str, bool]]:
    """Return what is looked at for *goal*: by whom, what, of what, and whether it was asked."""
    parts, _ = parts_of(goal)
    tasks = tasks_of(parts, types=types or ["other"] * len(parts), known=KNOWN)
    return [(task.junior, look.intent, look.name, look.asked) for task in tasks for look in task.looks]


SPLIT = {
    "Where is Store.verify defined?": ["Where is Store.verify defined?"],
    "Where is Store.verify defined and who calls it?": ["Where is Store.verify defined", "who calls `Store.verify`?"],
    "Where is digest_of, who calls it, and when was it changed?": [
        "Where is digest_of",
        "who calls `digest_of`",
        "when was `digest_of` changed?",
    ],
    "How does it start? What does main call?": ["How does it start?", "What does main call?"],
    "Who calls Store.verify; what does digest_of call": ["Who calls Store.verify;", "what does digest_of call"],
    "In the shop, how is a digest compared?": ["In the shop, how is a digest compared?"],
    "How do reading and writing work?": ["How do reading and writing work?"],
    "Explain how Store.verify works and is this method safe to change": [
        "Explain how Store.verify works",
        "is `Store.verify` safe to change",
    ],
}


@pytest.mark.parametrize(("goal", "parts"), SPLIT.items(), ids=range(len(SPLIT)))
def test_a_goal_is_split_into_its_questions(goal: str, parts: list[str]) -> None:
    assert [part.text for part in parts_of(goal)[0]] == parts


def test_more_questions_than_a_mission_takes_on_are_counted() -> None:
    parts, more = parts_of(" ".join(f"Who calls name_{number}?" for number in range(MOST_PARTS + 3)))
    assert (len(parts), more) == (MOST_PARTS, 3)


def test_what_the_graph_can_answer_is_asked_of_it_and_a_little_more_is_told() -> None:
    assert looks("Who calls digest_of?") == [
        ("tracer", "callers", "digest_of", True),
        ("tracer", "where", "digest_of", False),
        ("historian", "history", "digest_of", False),
    ]


def test_the_type_of_task_says_what_is_looked_at_beside_the_prose() -> None:
    for goal, kind in (
        ("Is Store.verify dangerous to touch", "impact"),
        ("what does a change of Store.verify reach", "explain"),
    ):
        assert ("tracer", "impact", "shop.store.Store.verify", True) in looks(goal, kind)
    assert ("tracer", "members", "shop.store.Store.verify", False) in looks("Store.verify, please", "overview")
    assert not [look for look in looks("Store.verify, please", "explain") if look[1] == "callees"], "The researcher tells"


def test_of_several_definitions_all_are_told_unless_another_part_says_which_is_meant() -> None:
    told = ("tracer", "callers", "shop.store.Store.verify", True)
    assert told not in looks("Who calls Store.verify? What does Store.verify call?")
    assert told in looks("Who calls Store.verify? How is the digest compared?", "callers", "explain")


def test_a_way_needs_two_names() -> None:
    parts, _ = parts_of("Does main lead to Store.verify somehow")
    parts = [part for part in parts if part.names]
    tasks = tasks_of(parts, types=["path"], known=KNOWN | {"main": "main"})
    assert all(look.other for task in tasks for look in task.looks if look.intent == "path")


def test_each_junior_with_looks_is_commissioned_once_and_asked_nothing_twice() -> None:
    parts, _ = parts_of("Where is digest_of defined? Where is digest_of defined? Who calls digest_of?")
    tasks = tasks_of(parts, types=["locate", "locate", "callers"], known=KNOWN)
    assert [task.junior for task in tasks] == ["tracer", "historian"]
    assert [look.intent for look in tasks[0].looks] == ["where", "callers"]


def test_history_without_a_name_is_the_historian_s() -> None:
    parts, _ = parts_of("What changed lately in the shop?")
    assert [task.junior for task in tasks_of(parts, types=["history"], known={})] == ["historian", "researcher"]


def test_a_second_look_is_for_bare_words() -> None:
    assert again("How does the flux capacitor work?", ["Flux.run"]) == "Flux.run flux capacitor work"
    assert again("How?", []) == "How?"


def _lines(start: int, end: int, *, kind: str = "") -> Evidence:
    return Evidence("repo_1", "shop", "shop/store.py", start, end, "b" * 40, "c" * 40, "", "Store.verify", kind)


def test_pieces_of_a_definition_share_its_number_and_a_line_or_a_file_keeps_its_own() -> None:
    """The same function twice on a card is read twice, and a file in the place of a function is not where it stands."""
    found = [_lines(1, 90), _lines(10, 20), _lines(15, 15), _lines(21, 30), _lines(10, 30, kind="method")]
    card, _ = composed([Finding("researcher", 0, (), tuple(found))])
    assert [(each.start_line, each.end_line) for each in card.evidence] == [(1, 90), (10, 30), (15, 15)]
