"""A plugin's tool, each call of it in the sandbox: it sees its arguments, and what its effect says, and nothing else."""

import asyncio
import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import msgspec

from appliance.base import sandbox
from appliance.base.confine.order import Limits
from appliance.base.paths import display
from appliance.contracts.tools import Evidence, Json, ToolContext, ToolOutput, ToolSpec
from appliance.errors import DeadlineExceeded, InvalidInput, LimitExceeded, MalformedContent
from appliance.framework.plugin_child import ORDER

MOST_RESULT: Final = 1_000_000  # bytes
MEMORY: Final = 1 << 30

_PIECE: Final = 100_000  # characters: the kernel takes 128 KiB
_PACKAGE: Final = Path(__file__).parents[1]
# The folder around the package is not readable in there, so it is no place where Python could find it.
_PROGRAM: Final = """\
import importlib.util, sys
folder = sys.argv[1]
spec = importlib.util.spec_from_file_location("appliance", f"{folder}/__init__.py", submodule_search_locations=[folder])
sys.modules["appliance"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["appliance"])
from appliance.framework.plugin_child import main
main()
"""


class _Output(msgspec.Struct):
    text: str
    data: dict[str, object] = {}
    evidence: tuple[Evidence, ...] = ()
    warnings: tuple[str, ...] = ()
    cut: bool = False


class _Told(msgspec.Struct):
    output: _Output | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class SandboxedTool:
    """Satisfies `Tool`. *point* is the plugin's entry point, *path* where its modules are, *aside* a folder for scratch.

    A tool that writes gets the run's workspace to write to; every other a folder of its own that is gone afterwards. No call
    reaches the network, other files, or this process.
    """

    spec: ToolSpec
    point: str
    path: tuple[str, ...]
    aside: Path

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        """Make the call; raise `InvalidInput` with what the tool raised, `DeadlineExceeded` or `LimitExceeded`."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._call, dict(arguments), context, stop)
        finally:
            stop.set()  # where nobody waits any more, the process ends all the same

    def _call(self, arguments: dict[str, Json], context: ToolContext, stop: threading.Event) -> ToolOutput:
        workspace = self._workspace(context)
        with sandbox.held(self.aside) as private:
            scratch = private / "scratch"
            scratch.mkdir()
            outcome = sandbox.run(
                (sys.executable, "-I", "-c", _PROGRAM, str(_PACKAGE)),
                folder=workspace or scratch,
                aside=self.aside,
                policy=sandbox.Policy(
                    readable=(Path(sys.prefix), Path(sys.base_prefix), _PACKAGE, *map(Path, self.path)),
                    environment=self._order(arguments, context, workspace),
                    limits=self._limits(),
                ),
                stop=stop.is_set,
            )
        return self._output(outcome)

    def _workspace(self, context: ToolContext) -> Path | None:
        if self.spec.effect != "write":
            return None
        if context.workspace is None:
            raise InvalidInput(f"{self.spec.name} writes, and this run has no scratch worktree.")
        return context.workspace

    def _order(self, arguments: dict[str, Json], context: ToolContext, workspace: Path | None) -> dict[str, str]:
        """Return the order as variables of the environment, none longer than the kernel takes; no other user reads those."""
        order = {
            "point": self.point,
            "path": self.path,
            "tool": self.spec.name,
            "arguments": arguments,
            "run": context.run_id,
            "project": context.grants.project,
            "workspace": "" if workspace is None else str(workspace),
        }
        text = json.dumps(order, default=dict)
        return {f"{ORDER}{start}": text[start : start + _PIECE] for start in range(0, len(text), _PIECE)}

    def _limits(self) -> Limits:
        seconds = self.spec.timeout_s
        return Limits(seconds=seconds, cpu_seconds=max(1, round(seconds)), memory=MEMORY, processes=16, output=MOST_RESULT)

    def _output(self, outcome: sandbox.Outcome) -> ToolOutput:
        name = self.spec.name
        if outcome.ending == "time":
            raise DeadlineExceeded(f"The tool {name} took longer than {self.spec.timeout_s:g} s.", remedy="Ask it for less.")
        if outcome.ending != "itself":
            raise LimitExceeded(f"The tool {name} was ended: it took more {outcome.ending} than a call may.")
        try:
            told = msgspec.json.decode(outcome.stdout, type=_Told)
        except (msgspec.DecodeError, RecursionError) as exc:
            said = display(outcome.stderr[-300:].decode("utf-8", "replace"))
            raise MalformedContent(f"The tool {name} broke off: {said or 'it said nothing'}.") from exc
        if told.output is None:
            raise InvalidInput(f"The tool {name} raised {display(told.error)}.")
        data = cast("Mapping[str, Json]", told.output.data)  # it was read from JSON
        return ToolOutput(told.output.text, data, told.output.evidence, told.output.warnings, told.output.cut)
