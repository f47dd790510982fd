"""Claims that the labelled questions of the benchmarks still point at code that exists: a stale label reads as a miss."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LABELS = json.loads((ROOT / "tests" / "benchmarks" / "data" / "answers.json").read_text(encoding="utf-8"))


def names(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name
            yield from names(node.body, f"{prefix}{node.name}.")


@pytest.mark.parametrize("label", [gold for each in LABELS for gold in each["gold"]])
def test_a_label_names_a_definition_that_is_there(label: str) -> None:
    path, _, name = label.partition("#")
    assert name in set(names(ast.parse((ROOT / path).read_text(encoding="utf-8")).body))
