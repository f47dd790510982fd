"""Claims about workflows that run: each kind of node, every way, and what they reach."""

import asyncio
import operator
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from appliance.contracts.tools import Json, ToolOutput
from appliance.errors import ApprovalRejected, DeadlineExceeded, InvalidInput, LimitExceeded, StepFailed, Unreachable
from appliance.framework import (
    Checkpointer,
    Doors,
    GraphEventType,
    GraphResult,
    SqliteCheckpointer,
    WorkflowEngine,
    load_workflow,
    render_workflow,
    validate_workflow,
)
from appliance.framework.workflow_values import template
from tests.support.workflows import Scripted

DOCS = Path(__file__).resolve().parents[3] / "docs"
SOURCE = "def go():  # TODO: go faster\n    pass  # todo"


def ran(
    text: str, state: Mapping[str, object] | None = None, script: Scripted | None = None
) -> GraphResult[dict[str, object]]:
    return asyncio.run(WorkflowEngine((script or Scripted()).doors).execute(validate_workflow(text), state))


def documented(**over: object) -> Scripted:
    tools = {"read": lambda arguments: ToolOutput(SOURCE if arguments["path"] == "src/go.py" else "done")}
    agents = {"writer": lambda task: f"Written: {task}"}
    functions = {"count_words": lambda arguments: str(arguments["text"]).split().count(f"{arguments['word']}")}
    return Scripted(tools=tools, agents=agents, functions={**functions, **over}, yes=bool(over.get("yes", True)))  # type: ignore[dict-item]


def count(arguments: Mapping[str, Json]) -> Json:
    return len(re.findall(str(arguments["word"]), str(arguments["text"])))


@pytest.mark.parametrize(
    ("path", "yes", "summary", "last"),
    [
        (
            "src/go.py",
            True,
            "Written: Say in one sentence what is left to do in src/go.py, for whoever owns the package.",
            "write",
        ),
        ("src/go.py", False, "Nobody was told.", "keep"),
        ("tests/x.py", True, "Nothing is left to do in tests/x.py.", "clean"),
    ],
)
def test_the_documented_workflow_runs_each_of_its_ways(path: str, yes: bool, summary: str, last: str) -> None:  # noqa: FBT001 - a case
    script = documented(count_words=count)
    script.yes = yes
    engine = WorkflowEngine(script.doors)
    result = asyncio.run(engine.execute_yaml(DOCS / "howto" / "review.yaml", {"path": path}, run_id="r"))
    state = result.require()
    assert (state["summary"], result.node_history[-1]) == (summary, last)
    assert (state["owner"], state["notes"]) == ("the tests" if "tests" in path else "the package", [f"looked at {path}"])
    assert script.called[0] == ("r", "read", {"path": path})
    if path == "src/go.py":
        ((run, question),) = script.asked
        assert (run, question.node, question.expires_s) == ("r", "ask", 3600.0)
        assert question.ask == "Shall the package be told of 2 things in src/go.py?"
        assert question.show == {"path": path, "left": 2}


def test_the_documented_file_says_what_the_page_shows() -> None:
    page = (DOCS / "howto" / "write-a-workflow.md").read_text()
    chart = render_workflow(load_workflow(DOCS / "howto" / "review.yaml"))
    assert "```{literalinclude} review.yaml" in page
    assert all(line in page for line in chart.splitlines()[:2])


BRANCHES = """
name: demo
entry: test
state: {n: integer, seen: {type: list, default: [], merge: extend}}
nodes:
  test:
    kind: condition
    branches:
      - when: n > 0
        next: good
      - when: n < 0
    otherwise: bad
  good: {kind: transform, set: {seen: [good]}}
  bad: {kind: transform, set: {seen: [bad]}}
"""
SILENT = """
name: demo
entry: test
state: {n: integer, seen: {type: list, default: []}}
nodes:
  test:
    kind: condition
    branches:
      - when: n > 0
"""


@pytest.mark.parametrize(("n", "seen"), [(1, ["good"]), (-1, []), (0, ["bad"])])
def test_a_way_without_next_ends_and_nothing_follows_by_its_place(n: int, seen: list[str]) -> None:
    """Elsewhere a node without a next runs into the one below it: both branches of a condition run."""
    assert ran(BRANCHES, {"n": n}).require()["seen"] == seen


def test_a_condition_of_which_nothing_holds_fails_unless_it_says_what_then() -> None:
    result = ran(SILENT, {"n": 0})
    assert isinstance(result.failure, InvalidInput)
    assert "No branch of the condition 'test' holds" in str(result.error)
    assert ran(SILENT + "    otherwise: end\n", {"n": 0}).success


PARALLEL = """
name: demo
entry: all
state: {{total: {{type: integer, default: 0{merge}}}, n: integer}}
limits: {{visits: 50, steps: 200}}
nodes:
  all: {{kind: parallel, branches: [one, two]}}
  one: {{kind: transform, set: {{total: 1}}, next: more}}
  more: {{kind: transform, set: {{total: 10}}, next: met}}
  two: {{kind: transform, set: {{total: 100}}, next: met}}
  met:
    kind: condition
    branches:
      - when: total < 300
        next: all
    otherwise: end
"""


def test_parallel_ways_are_waited_for_where_they_meet_and_go_round_together() -> None:
    result = ran(PARALLEL.format(merge=", merge: add"))
    assert result.require()["total"] == 333
    assert result.node_history.count("met") == 3


def test_two_at_once_that_write_one_key_need_a_merge() -> None:
    assert "'one' and the node 'two' both wrote the key 'total'" in str(ran(PARALLEL.format(merge="")).error)


MERGES = [
    ("integer", "add", "1", "2", 4),
    ("number", "add", "1.5", "2", 4.5),
    ("list", "extend", "[a, b]", "[b]", ["b", "a", "b", "b"]),
    ("list", "union", "[a, b, a]", "[b, c]", ["b", "a", "c"]),
    ("map", "update", "{a: 1}", "{a: 2, b: 3}", {"x": 0, "a": 2, "b": 3}),
]


@pytest.mark.parametrize(("kind", "merge", "one", "two", "value"), MERGES)
def test_writes_at_once_are_merged_as_the_key_says(kind: str, merge: str, one: str, two: str, value: object) -> None:
    begin = {"integer": "1", "number": "1", "list": "[b]", "map": "{x: 0}"}[kind]
    text = f"""
name: demo
entry: all
state: {{k: {{type: {kind}, merge: {merge}, default: {begin}}}}}
nodes:
  all: {{kind: parallel, branches: [one, two]}}
  one: {{kind: transform, set: {{k: {one}}}}}
  two: {{kind: transform, set: {{k: {two}}}}}
"""
    assert ran(text).require()["k"] == value


TOOL = """
name: demo
entry: look
state: {q: text, found: text, rows: map, n: integer, any: any}
nodes:
  look: {kind: tool, tool: search, arguments: {query: "${q}!", limit: 3}, output: found, data: rows, next: calc}
  calc: {kind: compute, function: size, arguments: {of: "${rows.items}"}, output: n, next: tell}
  tell: {kind: agent, agent: a, task: "${n} of ${q}", output: any}
"""


async def size(arguments: Mapping[str, Json]) -> Json:
    await asyncio.sleep(0)
    return operator.length_hint(arguments["of"])


def test_tools_functions_and_agents_get_values_and_give_them_to_the_keys_that_are_named() -> None:
    script = Scripted(
        tools={"search": lambda _: ToolOutput("text", {"items": [1, 2, 3]})},
        agents={"a": str.upper},
        functions={"size": size},
    )
    state = ran(TOOL, {"q": "why"}, script).require()
    assert (state["found"], state["rows"], state["n"], state["any"]) == ("text", {"items": [1, 2, 3]}, 3, "3 OF WHY")
    assert [each[1:] for each in script.called] == [("search", {"query": "why!", "limit": 3}), ("a", "3 of why")]


def test_what_a_workflow_needs_and_is_not_there_is_told_before_anything_runs() -> None:
    with pytest.raises(InvalidInput) as caught:
        ran(TOOL, {"q": "x"}, Scripted(tools={"other": lambda _: pytest.fail("it ran")}))
    for said in ("'look' needs the tool 'search'", "'calc' needs the function 'size'", "'tell' needs the agent 'a'"):
        assert said in str(caught.value)
    with pytest.raises(InvalidInput, match="'ask' needs people who decide"):
        asyncio.run(WorkflowEngine(Doors()).execute(validate_workflow(ASK)))


@pytest.mark.parametrize(
    ("state", "said"),
    [({"q": 7}, "'q' a int"), ({"other": 1}, "no key 'other'"), ({"q": None}, "'q' None"), (7, "state is a int")],
)
def test_an_input_that_does_not_fit_the_state_is_refused(state: Any, said: str) -> None:  # noqa: ANN401
    script = Scripted(tools={"search": lambda _: pytest.fail("it ran")}, agents={"a": str}, functions={"size": size})
    with pytest.raises(InvalidInput) as caught:
        ran(TOOL, state, script)
    assert said in str(caught.value)


def test_what_fails_in_a_node_is_told_with_its_name_and_keeps_its_kind() -> None:
    def gone(arguments: Mapping[str, Json]) -> ToolOutput:
        raise Unreachable(f"no {arguments['query']}", remedy="Wait.")

    script = Scripted(tools={"search": gone}, agents={"a": str}, functions={"size": size})
    result = ran(TOOL, {"q": "host"}, script)
    assert isinstance(result.failure, Unreachable)
    assert str(result.error) == "The node 'look' failed: no host! Wait."
    wrong = Scripted(
        tools={"search": lambda _: ToolOutput("t", {"items": []})}, agents={"a": str}, functions={"size": lambda _: "x"}
    )
    assert "'calc' returned has for the key 'n' a str" in str(ran(TOOL, {"q": "x"}, wrong).error)
    bare = Scripted(tools={"search": lambda _: ToolOutput("t")}, agents={"a": str}, functions={"size": size})
    assert "`rows.items` has no value: the map has no 'items'" in str(ran(TOOL, {"q": "x"}, bare).error)
    odd = Scripted(tools={"search": lambda _: 1 / 0}, agents={"a": str}, functions={"size": size})  # type: ignore[dict-item, return-value]
    assert isinstance(ran(TOOL, {"q": "x"}, odd).failure, StepFailed)


def test_limits_of_the_file_hold() -> None:
    loop = """
name: demo
entry: a
state: {{n: {{type: integer, default: 0}}}}
limits: {{{}}}
nodes:
  a: {{kind: transform, set: {{n: "${{n + 1}}"}}, next: b}}
  b: {{kind: condition, branches: [{{when: n < 0}}], otherwise: a}}
"""
    for limits, kind in (("visits: 3", LimitExceeded), ("steps: 5", LimitExceeded)):
        assert type(ran(loop.format(limits)).failure) is kind
    slow = Scripted(functions={"wait": lambda _: asyncio.sleep(30)})
    for where in ("limits: {timeout_s: 0.05}\n", "limits: {node_timeout_s: 0.05}\n", ""):
        own = "" if where else ", timeout_s: 0.05"
        text = f"name: d\nentry: a\n{where}nodes:\n  a: {{kind: compute, function: wait{own}}}\n"
        assert type(ran(text, {}, slow).failure) is DeadlineExceeded


def test_a_function_that_blocks_is_given_up_after_its_time_and_holds_nobody_up() -> None:
    text = "name: d\nentry: a\nnodes:\n  a: {kind: compute, function: block, timeout_s: 0.05}\n"
    blocking = Scripted(functions={"block": lambda _: threading.Event().wait(20)})
    assert type(ran(text, {}, blocking).failure) is DeadlineExceeded
    gate = threading.Barrier(2)
    text = "name: d\nentry: p\nnodes:\n  p: {kind: parallel, branches: [a, b]}\n"
    text += "".join(f"  {name}: {{kind: compute, function: meet}}\n" for name in "ab")
    assert ran(text, {}, Scripted(functions={"meet": lambda _: gate.wait(timeout=30)})).success


ASK = """
name: demo
entry: ask
state: {{done: {{type: text, default: none}}}}
nodes:
  ask: {{kind: approval, ask: Go?, expires_s: 60, next: go{rejected}}}
  go: {{kind: transform, set: {{done: went}}}}
""".format(rejected="")
NO = ASK.replace("next: go", "next: go, rejected: stay") + "  stay: {kind: transform, set: {done: stayed}}\n"


def test_a_no_goes_where_the_file_says_or_fails_the_run() -> None:
    assert [ran(NO, {}, Scripted(yes=yes)).require()["done"] for yes in (True, False)] == ["went", "stayed"]
    result = ran(ASK, {}, Scripted(yes=False))
    assert isinstance(result.failure, ApprovalRejected)
    assert "'ask' failed: It was not approved: Go?" in str(result.error)
    assert result.state["done"] == "none"


def test_a_run_is_kept_and_goes_on_after_what_failed(kept: Checkpointer) -> None:
    script = Scripted(tools={"search": lambda _: ToolOutput("t", {"items": [1]})}, agents={"a": str}, functions={})
    workflow, broken = validate_workflow(TOOL), True

    def sized(arguments: Mapping[str, Json]) -> Json:
        if broken:
            raise OSError("no disk")
        return operator.length_hint(arguments["of"])

    script.functions = {"size": sized}
    engine = WorkflowEngine(script.doors, checkpointer=kept)
    assert "no disk" in str(asyncio.run(engine.execute(workflow, {"q": "x"}, run_id="r")).error)
    broken = False
    assert asyncio.run(engine.resume(workflow, "r", update={"q": "y"})).require()["any"] == "1 of y"
    assert [each[1] for each in script.called] == ["search", "a"]


def test_a_workflow_streams_what_happens(tmp_path: Path) -> None:
    async def run() -> list[tuple[str, str]]:
        async with SqliteCheckpointer(tmp_path / "t.db") as kept:
            engine = WorkflowEngine(Scripted().doors, checkpointer=kept)
            found = [each async for each in engine.stream(validate_workflow(ASK), {}, run_id="r")]
            again = [each async for each in engine.stream_resume(validate_workflow(ASK), "r")]
            assert again[-1].type is GraphEventType.FINISHED
            return [(each.type.value, each.node) for each in found if each.node]

    kinds = ("node_started", "node_finished")
    assert asyncio.run(run()) == [(kind, node) for node in ("ask", "go") for kind in kinds]


HOSTILE = """
name: demo
entry: a
state: {x: text}
nodes:
  a: {kind: tool, tool: "x\\"]; click n0 href \\"javascript:alert(1)\\"; %%{init: {}}%% <script>", next: b}
  b:
    kind: condition
    branches:
      - when: x == "|]-->n9; </script>#quot;"
    otherwise: end
"""


def test_no_label_of_a_chart_is_anything_but_text() -> None:
    chart = render_workflow(validate_workflow(HOSTILE))
    shape = r'    n\d+ (?:-->|-->\|"[^"\[\]{}<>|]*"\|) n\d+|    n\d+[\[({]{1,2}"[^"\[\]{}<>|]*"[\])}]{1,2}'
    first, *lines = chart.splitlines()
    assert first == "flowchart TD"
    assert all(re.fullmatch(shape, line) for line in lines), chart


@pytest.mark.parametrize("ten", ["[" + ", ".join(['"${x}"'] * 10) + "]", '"${[x, x, x, x, x, x, x, x, x, x]}"'])
def test_no_workflow_makes_a_value_that_grows_with_every_node(ten: str) -> None:
    """Ten nodes, each of which holds ten times what the one before it holds, would be ten thousand million values."""
    nodes = "".join(f"  n{at}: {{kind: transform, set: {{x: {ten}}}, next: n{at + 1}}}\n" for at in range(10))
    result = ran(
        f"name: demo\nentry: n0\nstate: {{x: any}}\nnodes:\n{nodes}  n10: {{kind: transform, set: {{x: 1}}}}\n", {"x": "y"}
    )
    with pytest.raises(LimitExceeded, match="larger than 1,000,000 characters"):
        result.require()


def test_a_value_that_holds_itself_is_not_handed_on() -> None:
    ring: list[object] = []
    ring.append(ring)
    with pytest.raises(LimitExceeded):
        template("${x}").value({"x": ring})
