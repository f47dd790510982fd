import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.base.clock import SystemClock
from appliance.contracts.safety import SafetyVerdict
from appliance.contracts.tools import Grants, Json, ToolOutput
from appliance.errors import Conflict, NotGranted
from appliance.orchestrator.approvals import Approval
from appliance.orchestrator.services.tool import ToolCall, ToolOutcome
from tests.support.calls import RUN, WANTED, Rule, ScriptedTool, call, context, grants, serving_tools


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


def test_a_call_that_is_let_through_gives_its_output_and_is_on_record(path: Path) -> None:
    tool = ScriptedTool(parameters=WANTED)
    with serving_tools(path, tool) as service:
        outcome = call(service, arguments='{"query": "callers", "repo": "shop"}')
        assert (outcome.ok, outcome.text) == (True, "found")
        (row,) = service.audit.list(run=RUN)
        assert service.get_remaining_budget(RUN) == 59
    assert tool.calls[0][0] == {"query": "callers", "repo": "shop"}
    assert (row.agent, row.tool, row.verdict, row.outcome, row.code) == ("junior", "search", "allow", "done", "")
    assert row.arguments == '{"query": "callers", "repo": "shop"}'
    assert len(row.digest) == 64


def test_a_model_is_offered_the_repositories_of_its_run_and_no_choice_where_there_is_one(path: Path) -> None:
    tool = ScriptedTool(parameters={**WANTED, "required": ["query", "repo"]})
    with serving_tools(path, tool, ScriptedTool("other")) as service:
        for repos, wanted in {
            ("repo_shop",): (["query"], None),
            (): (["query"], None),
            ("repo_shop", "repo_bank"): (["query", "repo"], ["bank", "shop"]),
        }.items():
            given = grants("search", "other", repos=repos)
            service.open_run(str(repos), grants=given)
            _, offered = service.get_tool_schemas(context(given, run=str(repos)))
            properties = offered.parameters["properties"]
            assert isinstance(properties, dict)
            assert (offered.parameters["required"], properties.get("repo", {}).get("enum")) == wanted
        assert service.get_tool_schema("search").parameters == tool.parameters


REFUSED = {
    "an unknown tool": ("rm", {}, grants("search", "rm"), "not_found"),
    "a name that is none": (["search"], {}, grants("search"), "not_found"),
    "a tool that was not granted": ("search", {"query": "a"}, grants("read"), "not_granted"),
    "an effect that was not granted": ("edit", {"query": "a"}, grants("edit"), "not_granted"),
    "arguments that do not fit": ("search", {"query": 7}, grants("search"), "invalid_input"),
    "arguments that are no object": ("search", "[]", grants("search"), "invalid_input"),
    "a repository that was not granted": ("search", {"query": "a", "repo": "bank"}, grants("search"), "not_granted"),
    "the id of a repository that was not granted": (
        "search",
        {"query": "a", "repo": "repo_x"},
        grants("search"),
        "not_granted",
    ),
    "another project": ("search", {"query": "a"}, Grants("prj_2", ("repo_shop",), frozenset({"search"})), "not_granted"),
}


@pytest.mark.parametrize("claim", REFUSED)
def test_a_call_is_refused_as_a_value_with_its_code_and_the_next_step(path: Path, claim: str) -> None:
    name, arguments, given, code = REFUSED[claim]
    tools = [ScriptedTool(parameters=WANTED), ScriptedTool("edit", parameters=WANTED, effect="write")]
    with serving_tools(path, *tools) as service:
        service.open_run(RUN, grants=grants("search", "edit", "rm", "read", effects=("read", "run", "write")))
        outcome = call(service, name, arguments, given=given)
        (row,) = service.audit.list(run=RUN)
    assert not any(tool.calls for tool in tools)
    assert (outcome.code, outcome.output) == (code, None)
    assert outcome.error is not None
    assert outcome.error.remedy
    assert outcome.text.startswith(f"error {code}: ")
    assert (row.outcome, row.code) == ("refused", code)
    with pytest.raises(type(outcome.error)):
        outcome.unwrap()


@pytest.mark.parametrize(
    "wider",
    [
        grants("search", "edit", effects=("read", "write")),
        grants("search", repos=("repo_shop", "repo_bank")),
        Grants("prj_2", ("repo_bank",), frozenset({"search", "edit"}), frozenset({"read", "write"})),
    ],
)
def test_a_context_that_says_more_than_its_run_was_opened_with_gets_no_more(path: Path, wider: Grants) -> None:
    search, edit = ScriptedTool(parameters=WANTED), ScriptedTool("edit", parameters=WANTED, effect="write")
    with serving_tools(path, search, edit) as service:
        service.open_run(RUN, grants=grants("search"))
        where = context(wider)
        assert call(service, "edit", {"query": "a"}, where=where).code == "not_granted"
        assert call(service, "search", {"query": "a", "repo": "bank"}, where=where).code == "not_granted"
        assert {spec.name for spec in service.get_tool_schemas(where)} <= {"search"}
        call(service, "search", {"query": "a"}, where=where)
    assert not edit.calls
    assert all(set(seen.grants.repos) <= {"repo_shop"} for _, seen in search.calls)


def test_a_run_that_is_not_open_gets_nothing(path: Path) -> None:
    tool = ScriptedTool()
    with serving_tools(path, tool) as service:
        outcome = asyncio.run(service.execute_tool("search", {}, context=context(grants("search"))))
        assert outcome.code == "not_granted"
        service.open_run(RUN, grants=grants("search"))
        with pytest.raises(Conflict):
            service.open_run(RUN, grants=grants("search", "edit"))
        service.close_run(RUN)
        with pytest.raises(NotGranted):
            service.validate_tool_call("search", {}, context=context(grants("search")))
    assert not tool.calls


def test_a_refused_call_counts_and_a_spent_budget_refuses_every_further_one(path: Path) -> None:
    tool = ScriptedTool(parameters=WANTED)
    with serving_tools(path, tool) as service:
        service.open_run(RUN, grants=grants("search"), calls=3)
        where = context(grants("search"))
        codes = [
            asyncio.run(service.execute_tool("search", arguments, context=where)).code
            for arguments in ({"query": "a"}, {}, {"query": "b"}, {"query": "c"})
        ]
        assert service.get_remaining_budget(RUN) == 0
        assert [row.code for row in service.audit.list()] == ["budget_exhausted", "", "invalid_input", ""]
    assert codes == ["", "invalid_input", "", "budget_exhausted"]
    assert len(tool.calls) == 2


def test_calls_side_by_side_keep_their_order_and_share_the_budget(path: Path) -> None:
    running, most = 0, 0

    async def slow(arguments: Mapping[str, Json]) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return ToolOutput(str(arguments["query"]))

    with serving_tools(path, ScriptedTool(act=slow, parameters=WANTED)) as service:
        service.open_run(RUN, grants=grants("search"), calls=8)
        calls = [ToolCall("search", {"query": str(number)}) for number in range(10)]
        outcomes = asyncio.run(service.execute_tools_parallel(calls, context=context(grants("search"))))
    assert [outcome.text for outcome in outcomes[:8]] == [str(number) for number in range(8)]
    assert [outcome.code for outcome in outcomes[8:]] == ["budget_exhausted"] * 2
    assert 1 < most <= 4


def test_more_calls_at_once_than_anybody_makes_are_refused_and_stand_on_record_as_one(path: Path) -> None:
    tool = ScriptedTool(parameters=WANTED)
    with serving_tools(path, tool) as service:
        service.open_run(RUN, grants=grants("search"), calls=40)
        calls = [ToolCall("search", {"query": "a"})] * 5_000
        outcomes = asyncio.run(service.execute_tools_parallel(calls, context=context(grants("search"))))
        assert len(service.audit.list(limit=100)) == 33
    assert [outcome.code for outcome in outcomes] == [""] * 32 + ["limit_exceeded"] * 4_968
    assert len(tool.calls) == 32


def test_an_unknown_tool_is_answered_with_those_that_the_run_may_call(path: Path) -> None:
    with serving_tools(path, ScriptedTool(), ScriptedTool("edit")) as service:
        refused = call(service, "serch", {}, given=grants("search")).error
    assert refused is not None
    assert refused.remedy == "Call one of: search."


@pytest.mark.parametrize("name", [None, 7, ["search"], {"a": 1}, "x" * 100_000, "search\x00", "\ud800"])
@pytest.mark.parametrize("arguments", [None, 7, "{", "\ud800", ["x"], {7: 1}, {"query": float("nan")}, {"query": object()}])
def test_whatever_a_model_sends_as_a_call_is_answered_with_a_code_and_recorded(
    path: Path, name: object, arguments: object
) -> None:
    tool = ScriptedTool(parameters=WANTED)
    with serving_tools(path, tool) as service:
        assert call(service, name, arguments).code == "not_found"
        assert call(service, "search", arguments).code == "invalid_input"
        assert [row.outcome for row in service.audit.list()] == ["refused", "refused"]
    assert not tool.calls


@pytest.mark.parametrize("action", ["allow", "warn", "confirm", "block"])
def test_safety_rules_hold_for_every_tool(path: Path, action: str) -> None:
    tool = ScriptedTool()
    with serving_tools(path, tool) as service:
        service.registry.add_rule(Rule("allow"))
        service.registry.add_rule(Rule(action, "it looks odd"))  # type: ignore[arg-type]
        outcome = call(service)
    assert outcome.code == {"confirm": "approval_required", "block": "blocked"}.get(action, "")
    assert bool(tool.calls) == (action in {"allow", "warn"})
    assert outcome.warnings == (("rule: it looks odd",) if action == "warn" else ())


def test_a_call_that_needs_a_person_is_made_once_they_said_yes_and_is_asked_about_each_time(path: Path) -> None:
    tool = ScriptedTool("edit", effect="write", approval=True)
    given = grants("edit", effects=("read", "write"))
    with serving_tools(path, tool) as service:
        service.open_run(RUN, grants=given)
        first = call(service, "edit", {"path": "a"}, given=given)
        assert first.code == "approval_required"
        assert not tool.calls
        (pending,) = service.approvals.list(state="pending", run=RUN)
        service.approvals.decide(pending.id, "approved", by="ann")
        assert call(service, "edit", {"path": "b"}, given=given).code == "approval_required", "that is another call"
        assert call(service, "edit", {"path": "a"}, given=given).ok
        assert call(service, "edit", {"path": "a"}, given=given).code == "approval_required", "a yes holds once"
        assert [seen for seen, _ in tool.calls] == [{"path": "a"}]
        assert {row.verdict for row in service.audit.list() if row.outcome == "done"} == {"approved"}
        service.close_run(RUN)
        assert not service.approvals.list(state="pending")


def test_a_call_that_a_person_rejected_stays_rejected_and_says_why(path: Path) -> None:
    tool = ScriptedTool(approval=True)
    with serving_tools(path, tool) as service:
        call(service)
        (pending,) = service.approvals.list(state="pending")
        service.approvals.decide(pending.id, "rejected", by="ann", note="not today")
        for _ in range(2):
            outcome = call(service)
            assert (outcome.code, "not today" in outcome.text) == ("approval_rejected", True)
        assert not service.approvals.list(state="pending")
    assert not tool.calls


def test_who_waits_for_a_person_goes_on_with_the_decision_or_is_rejected_in_time(path: Path) -> None:
    tool = ScriptedTool(approval=True)
    with serving_tools(path, tool, patience_s=10, clock=SystemClock()) as service:
        service.open_run(RUN, grants=grants("search"))
        where = context(grants("search"))

        async def decided() -> ToolOutcome:
            heard: asyncio.Future[Approval] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(service.execute_tool("search", {}, context=where, asked=heard.set_result))
            await asyncio.to_thread(service.approvals.decide, (await heard).id, "approved", by="ann")
            return await task

        assert asyncio.run(decided()).ok
        impatient = replace(service, patience_s=1e-9)
        impatient.open_run("other", grants=grants("search"))
        outcome = asyncio.run(impatient.execute_tool("search", {}, context=context(grants("search"), run="other")))
        assert (outcome.code, "in time" in outcome.text) == ("approval_rejected", True)
    assert len(tool.calls) == 1


def test_no_secret_stands_in_the_record(path: Path) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    with serving_tools(path, ScriptedTool(parameters=WANTED)) as service:
        call(service, arguments={"query": f"x\n{key}"})
        call(service, arguments=f"no json {key}")
        call(service, arguments={"query": 7, "token": key})
        assert len(service.audit.list()) == 3
    assert key.encode() not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_what_cannot_be_put_on_record_is_not_done(path: Path) -> None:
    tool = ScriptedTool(parameters=WANTED)
    with serving_tools(path, tool) as service:
        with service.audit._db.read() as conn:
            conn.execute("PRAGMA max_page_count = 1")  # no page more than there are
        codes = [call(service, arguments={"query": "x" * 2_000}).code for _ in range(20)]
    assert set(codes) == {"", "disk_full"}
    assert len(tool.calls) == codes.count("")


def test_a_run_that_is_closed_while_a_person_says_yes_makes_no_call(path: Path) -> None:
    """The yes and the end may come at one moment: the end holds."""
    tool = ScriptedTool(approval=True)
    with serving_tools(path, tool, patience_s=10.0, clock=SystemClock()) as service:
        use = service.approvals.use

        def end_first(approval: str, *, what: str, arguments: Mapping[str, Json]) -> None:
            use(approval, what=what, arguments=arguments)
            service.close_run(RUN)

        def decide(asked: Approval) -> None:
            service.approvals.decide(asked.id, "approved", by="ada")

        service.approvals.use = end_first  # type: ignore[method-assign]
        service.open_run(RUN, grants=grants("search"))
        where = context(grants("search"))
        outcome = asyncio.run(service.execute_tool("search", {}, context=where, asked=decide))
    assert (outcome.code, tool.calls) == ("not_granted", [])


def test_names_that_cannot_be_written_down_are_written_otherwise(path: Path) -> None:
    given = grants("search")
    with serving_tools(path, ScriptedTool()) as service:
        assert call(service, where=replace(context(given), agent="\ud800")).ok
        assert call(service, where=replace(context(given), run_id="\ud800")).code == "not_granted"
        assert {row.agent for row in service.audit.list()} == {"\\ud800", "junior"}


def test_a_rule_that_changes_the_arguments_changes_no_call(path: Path) -> None:
    """What was checked against grants and schema is what is done, whatever a plugin's rule makes of it."""

    class Widens(Rule):
        def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
            del tool
            assert isinstance(arguments, dict)
            arguments["repo"] = "secret"
            arguments["inner"].append("more")
            return SafetyVerdict("allow")

    tool = ScriptedTool()
    with serving_tools(path, tool) as service:
        service.registry.add_rule(Widens("allow"))
        assert call(service, arguments={"repo": "shop", "inner": []}).ok
    assert tool.calls[0][0] == {"repo": "shop", "inner": []}
