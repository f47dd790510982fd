import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Grants
from appliance.errors import NotGranted
from appliance.orchestrator.policy import NOTHING, covers, handed_down, judged, meet, narrow
from tests.support.calls import Rule, context, grants

_FEW = settings(max_examples=60, deadline=None)
_ANY = st.builds(
    Grants,
    st.sampled_from(["p", "q"]),
    st.lists(st.sampled_from("abc"), unique=True).map(tuple),
    st.frozensets(st.sampled_from(["search", "edit"])),
    st.frozensets(st.sampled_from(["read", "run", "write"])),
)


@_FEW
@given(one=_ANY, other=_ANY)
def test_what_two_grants_share_is_never_more_than_either(one: Grants, other: Grants) -> None:
    both = meet(one, other)
    assert covers(one, both)
    assert covers(other, both)
    assert meet(one, one) == one
    if one.project != other.project:
        assert both == NOTHING


@_FEW
@given(parent=_ANY, wanted=_ANY)
def test_a_child_gets_what_its_parent_has_or_nothing_at_all(parent: Grants, wanted: Grants) -> None:
    try:
        child = narrow(parent, tools=wanted.tools, repos=wanted.repos, effects=wanted.effects)
    except NotGranted:
        assert not covers(parent, Grants(parent.project, wanted.repos, wanted.tools, wanted.effects))
    else:
        assert covers(parent, child)


def test_what_a_child_does_not_name_is_passed_on_and_what_it_may_not_have_is_named() -> None:
    parent = grants("search", "read", effects=("read", "run"))
    child = narrow(parent, tools=["search"])
    assert (child.tools, child.repos, child.effects) == (frozenset({"search"}), parent.repos, parent.effects)
    with pytest.raises(NotGranted, match="edit, repo_bank, write"):
        narrow(parent, tools=["edit"], repos=["repo_bank"], effects={"write"})


def test_a_context_handed_down_says_whose_it_is() -> None:
    parent = context(grants("search", "read"))
    child = handed_down(parent, agent="tracer", tools=["read"])
    assert (child.agent, child.grants.tools, child.run_id) == ("tracer", frozenset({"read"}), parent.run_id)


@pytest.mark.parametrize(
    ("actions", "strictest"),
    [
        ([], "allow"),
        (["allow", "warn"], "warn"),
        (["confirm", "warn", "allow"], "confirm"),
        (["warn", "block", "confirm"], "block"),
    ],
)
def test_of_several_verdicts_the_strictest_holds(actions: list[str], strictest: str) -> None:
    rules = [Rule(action, f"because {action}", name=action) for action in actions]  # type: ignore[arg-type]
    verdict = judged(rules, "edit", {})
    assert verdict.action == strictest
    assert verdict.reason == ("" if strictest == "allow" else f"{strictest}: because {strictest}")


class _Raises:
    name = "broken"

    def judge(self, tool: str, arguments: object) -> SafetyVerdict:
        del tool, arguments
        raise RuntimeError("secret inside")


class _Shrugs:
    name = "shrugs"

    def judge(self, tool: str, arguments: object) -> SafetyVerdict:
        del tool, arguments
        return None  # type: ignore[return-value]


@pytest.mark.parametrize("rule", [_Raises(), _Shrugs(), Rule("perhaps")])  # type: ignore[arg-type]
def test_a_rule_that_breaks_blocks(rule: Rule) -> None:
    verdict = judged([Rule("allow"), rule], "edit", {})
    assert verdict.action == "block"
    assert "secret" not in verdict.reason
