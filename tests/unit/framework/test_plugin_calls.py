"""Claims about calls of plugins' tools: each is made in the sandbox, and what it gives or raises is told."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from appliance.base import sandbox
from appliance.contracts.tools import Grants, Json, Tool, ToolContext, ToolOutput
from appliance.errors import ApplianceError, DeadlineExceeded, InvalidInput, LimitExceeded, MalformedContent
from appliance.framework.plugins import PluginLoader
from tests.support import calls
from tests.support.plugins import install, install_example

SOURCE = """
import os, socket, time
from pathlib import Path

class Own:
    def __init__(self, effect):
        self.spec = ToolSpec(f"own_{effect}", "Do it.", {"type": "object"}, effect=effect, timeout_s=TIMEOUT)
    async def run(self, arguments, *, context):
        return ToolOutput(str(eval(arguments["do"])), {"workspace": str(context.workspace)})

class P(Plugin):
    manifest = Manifest(NAME, "1", "", permissions=("read", "write"))
    def register(self, context):
        context.register_tool(Own("read"))
        context.register_tool(Own("write"))

plugin = P()
"""


FORKS = "[os.fork() or time.sleep(60) for _ in range(10_000)]"
_DENIED = r"raised (\w*PermissionError|FileNotFound|ProcessLookup|BlockingIO)|took more processes than a call may"


class Going:
    def check(self) -> None:
        """Go on."""


def tools(folder: Path, name: str) -> Mapping[str, Tool]:
    found = PluginLoader(validate=len, aside=folder.with_name("aside"), folder=folder).load([name])
    assert {status.state for status in found.statuses if status.name == name} == {"loaded"}, found.statuses
    return {tool.spec.name: tool for tool in found.tools}


def call(tool: Tool, arguments: Mapping[str, Json], *, workspace: Path | None = None) -> ToolOutput:
    context = ToolContext("run_1", Grants("prj_1"), Going(), workspace)
    return asyncio.run(tool.run(arguments, context=context))


def own(tmp_path: Path, effect: str = "read", *, seconds: float = 20.0) -> Tool:
    name = f"own{tmp_path.name.replace('_', '')}"[:40]
    return tools(install(tmp_path / "plugins", name, f"TIMEOUT = {seconds}\n{SOURCE}"), name)[f"own_{effect}"]


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from tests.support.house import until
from tests.unit.framework.test_plugin_calls import call, own

here = Path(sys.argv[1])
threading.Thread(target=call, args=(own(here), {"do": "time.sleep(60)"}), daemon=True).start()
until(lambda: len(list((here / "aside").glob("*/*"))) > 3)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_call_left_whose_process_was_killed_is_swept(tmp_path: Path) -> None:
    """Nobody else looks into the folder of scratch, and each kill would leave some of it for ever."""
    argv = [sys.executable, "-c", KILLED, str(tmp_path)]
    assert subprocess.run(argv, cwd=Path(__file__).parents[3], check=False).returncode == -signal.SIGKILL
    left = list((tmp_path / "aside").iterdir())
    assert len(left) == 2
    assert sandbox.sweep(tmp_path / "aside") == 2
    assert list((tmp_path / "aside").iterdir()) == []


def test_the_example_s_tool_answers(tmp_path: Path) -> None:
    output = call(tools(install_example(tmp_path / "plugins"), "glossary")["glossary"], {"word": "Span"})
    assert (output.text, output.data["found"]) == ("Lines of one file at one commit.", True)


def test_a_call_reaches_no_network_no_other_files_and_no_other_process(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    tool = own(tmp_path)
    reaches = (f"Path({str(secret)!r}).read_text()", f"os.kill({os.getpid()}, 0)", "socket.socket()", FORKS)
    for reach in reaches:
        with pytest.raises((InvalidInput, LimitExceeded), match=_DENIED):
            call(tool, {"do": reach})
    with suppress(InvalidInput):  # its own first process has another number 1, with an environment of its own
        assert "PYTEST" not in call(tool, {"do": "Path('/proc/1/environ').read_bytes()"}).text


def test_what_a_call_must_not_reach_is_denied_and_on_record_and_who_may_use_it_cannot_change_it(tmp_path: Path) -> None:
    tool = own(tmp_path)
    (module,) = (tmp_path / "plugins").glob("*.py")
    before = module.read_bytes()
    denied = (
        f"Path('/proc/{os.getpid()}/environ').read_bytes()",
        "socket.socket()",
        FORKS,
        f"Path({str(module)!r}).write_text('x')",
        f"Path({str(module.with_name('new.py'))!r}).write_text('x')",
    )
    with calls.serving_tools(tmp_path / "global.db", tool) as service:
        given = calls.grants(tool.spec.name)
        first = calls.call(service, tool.spec.name, {"do": "Path('/proc/1/environ').read_bytes()"}, given=given)
        assert "PYTEST" not in first.text  # in its own namespace of processes it is number 1 itself
        codes = [calls.call(service, tool.spec.name, {"do": do}, given=given).code for do in denied]
        rows = list(service.audit.list(run=calls.RUN))[::-1]
    assert set(codes) <= {"invalid_input", "limit_exceeded"}  # who watches it may be faster than its own limit
    assert [(row.outcome, row.code) for row in rows[1:]] == [("failed", code) for code in codes]
    asked = ("/proc/1/environ", "environ", "socket", "fork", module.name, "new.py")
    assert all(each in row.arguments for each, row in zip(asked, rows, strict=True))
    assert module.read_bytes() == before
    assert [each.name for each in module.parent.glob("*.py")] == [module.name]


def test_what_a_call_prints_is_no_result(tmp_path: Path) -> None:
    assert call(own(tmp_path), {"do": "print('{\"output\": 1}') or 'said'"}).text == "said"


def test_a_tool_that_writes_gets_the_worktree_and_one_that_reads_does_not(tmp_path: Path) -> None:
    worktree = tmp_path / "tree"
    worktree.mkdir()
    assert call(own(tmp_path), {"do": "'x'"}, workspace=worktree).data["workspace"] == "None"
    writes = tools(tmp_path / "plugins", f"own{tmp_path.name.replace('_', '')}"[:40])["own_write"]
    call(writes, {"do": "(context.workspace / 'made').write_text('made')"}, workspace=worktree)
    assert (worktree / "made").read_text() == "made"
    with pytest.raises(InvalidInput, match="no scratch worktree"):
        call(writes, {"do": "'x'"})


@pytest.mark.parametrize(
    ("do", "error"),
    [
        ("1 / 0", InvalidInput),
        ("time.sleep(60)", DeadlineExceeded),
        ("os._exit(3)", MalformedContent),
        ("'x' * 2_000_000", LimitExceeded),
    ],
)
def test_a_call_that_goes_wrong_is_an_error_with_why(tmp_path: Path, do: str, error: type[ApplianceError]) -> None:
    with pytest.raises(error):
        call(own(tmp_path, seconds=1.5), {"do": do})


def test_nothing_of_a_call_stays(tmp_path: Path) -> None:
    call(own(tmp_path), {"do": "Path('left').write_text('x')"})
    assert list((tmp_path / "aside").iterdir()) == []
