"""Claims about hosts: one of operator-architecture 0.4.0 runs once its import is replaced, and the documentation's run."""

import ast
import asyncio
import re
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SUPPORT = ROOT / "tests" / "support"
THEIRS, OURS = "from operator_architecture import", "from appliance.operator import"


def test_a_host_written_for_the_public_package_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The text beside the script is what it printed with operator-architecture 0.4.0 itself."""
    script = SUPPORT / "operator_host.py"
    source = script.read_text()
    assert source.count("operator_architecture") == source.count(THEIRS) == 1
    code = compile(source.replace(THEIRS, OURS), str(script), "exec")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - it is ours
    assert capsys.readouterr().out == script.with_suffix(".txt").read_text()


async def run(code: CodeType, names: dict[str, Any]) -> None:
    if (waits := eval(code, names)) is not None:  # noqa: S307 - it is ours
        await waits


def test_the_examples_of_the_documentation_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "reference" / "operator.md").read_text(), re.DOTALL)
    first, second = (compile(block, "operator.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT) for block in blocks)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    asyncio.run(run(first, names))
    assert names["reply"] == "Findings for: Where is the port set?"
    agents, coordinator = [handle.spec for handle in names["sm"].agents()], names["sm"].coordinator
    names |= {"agents": agents, "coordinator": coordinator}
    names["runners"] = {"researcher": agents[0].runner, "coordinator": coordinator.runner}
    asyncio.run(run(second, names))
    names["log"].close()
    asyncio.run(run(second, names))
    names["log"].close()
    assert names["interrupted"] == []
