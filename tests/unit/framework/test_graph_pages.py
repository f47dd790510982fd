"""Claims that the pages about graphs and workflows say what the code does."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from appliance.framework.checkpoint import FINISHED, KEEP
from appliance.framework.expression_values import FUNCTIONS, LONGEST_LIST, LONGEST_TEXT
from appliance.framework.expressions import DEEPEST, LONGEST, MOST_STEPS
from appliance.framework.graph_compiled import CompiledGraph
from appliance.framework.graph_plan import Limits
from appliance.framework.workflow import AnyNode, Bounds, KeyType, Merge, Workflow
from appliance.framework.workflow_file import LARGEST

DOCS = Path(__file__).resolve().parents[3] / "docs"
GRAPHS = (DOCS / "reference" / "graphs.md").read_text(encoding="utf-8")
WORKFLOWS = (DOCS / "howto" / "write-a-workflow.md").read_text(encoding="utf-8")
COMMON = {"kind", "description", "next", "timeout_s"}


def test_the_example_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GRAPHS, re.DOTALL)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("['example finding']\n", "")


@pytest.mark.parametrize("limit", [each.name for each in fields(Limits)])
def test_every_limit_has_a_row_with_its_default(limit: str) -> None:
    default = getattr(Limits(), limit)
    assert f"| `{limit}` | {'none' if default is None else default} |" in GRAPHS


def test_what_can_be_done_with_a_compiled_graph_has_a_row() -> None:
    verbs = [name for name in vars(CompiledGraph) if not name.startswith("_")]
    inner = {"interrupts", "run_inside", "values"}
    assert not [name for name in verbs if name not in inner and f"`{name}" not in GRAPHS]
    assert f"newest {KEEP:,} checkpoints" in GRAPHS
    assert f"newest {FINISHED:,} threads" in GRAPHS


@pytest.mark.parametrize("node", get_args(AnyNode), ids=lambda node: str(node.__name__))
def test_every_kind_of_node_has_a_row_with_its_keys(node: type[Workflow]) -> None:
    (kind,) = get_args(node.model_fields["kind"].annotation)
    row = next(line for line in WORKFLOWS.splitlines() if line.startswith(f"| `{kind}` |"))
    keys = {key.strip(" `") for key in row.split("|")[2].split(",")}
    assert keys == set(node.model_fields) - COMMON


def test_the_words_and_bounds_of_workflows_are_those_of_the_code() -> None:
    said = set(re.findall(r"`(\w+)`", WORKFLOWS))
    names = {*FUNCTIONS, *get_args(KeyType), *get_args(Merge), *Workflow.model_fields, *Bounds.model_fields}
    assert not names - said
    bounds = Bounds()
    for text in (
        f"`steps` in all ({bounds.steps})",
        f"`visits` of one node ({bounds.visits})",
        f"at most {LARGEST // 1024} kB",
        f"at most {LONGEST:,} characters",
        f"{DEEPEST} deep",
        f"{MOST_STEPS:,} steps",
        f"texts of {LONGEST_TEXT:,} characters and lists of {LONGEST_LIST:,} items",
    ):
        assert text in " ".join(WORKFLOWS.split()), text
