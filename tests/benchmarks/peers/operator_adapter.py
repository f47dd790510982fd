"""What a module with the operator's API costs besides its agents: ``MODULE --out FILE``. For our Python or the peers'."""

import argparse
import asyncio
import importlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_FEW, _MANY, _MESSAGES, _ROUNDS = 500, 2000, 1000, 5
_TEXT: Final = "Where is the port set, and who reads it before the server starts? " * 2


def main() -> None:
    """Measure processor time, the best of a few rounds, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    module = importlib.import_module(given.module)
    few, many = _best(lambda: _turn(module, _FEW)) / _FEW, _best(lambda: _turn(module, _MANY)) / _MANY
    sm = _machine(module, 0)
    for _ in range(_MESSAGES // 2):
        sm.coordinator_messages.user(_TEXT).assistant(_TEXT, tool_calls=[{"id": "c", "function": {"name": "f"}}])
    blob = module.state_machine_to_json(sm)
    said = {
        "commission_ms": many,
        "growth": many / few,
        "save_ms": _best(lambda: _timed(lambda: module.state_machine_to_json(sm))),
        "load_ms": _best(lambda: _timed(lambda: module.state_machine_from_json(blob, runners=_runners(module, 0)))),
    }
    if hasattr(module, "TurnLog"):
        said["logged_ms"] = _best(lambda: _logged(module, _FEW)) / _FEW
    Path(given.out).write_text(json.dumps(said))


def _runners(module: ModuleType, times: int) -> Mapping[str, Any]:
    class Junior:
        async def run(self, _request: object, *, streaming_callback: object = None) -> object:
            del streaming_callback
            return module.AgentResult(content="report")

    class Coordinator:
        async def run(self, request: Any, *, streaming_callback: object = None) -> object:  # noqa: ANN401 - of either module
            del streaming_callback
            tools = {tool.__name__: tool for tool in request.metadata["tools"]}
            for _ in range(times):
                await tools["commission"]("scout", "look around", ["a", "b"], {"depth": 1})
            return module.AgentResult(content="done")

    return {"coordinator": Coordinator(), "scout": Junior()}


def _machine(module: ModuleType, times: int, **more: object) -> Any:  # noqa: ANN401 - of either module
    bound = _runners(module, times)
    scout = module.AgentSpec(name="scout", description="d", skill="s", runner=bound["scout"])
    return module.StateMachine(module.Coordinator(runner=bound["coordinator"]), [scout], **more)


def _turn(module: ModuleType, times: int) -> float:
    sm = _machine(module, times)
    return _timed(lambda: asyncio.run(sm.run("q")))


def _logged(module: ModuleType, times: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        log = module.TurnLog(Path(folder) / "turns.db")
        sm = _machine(module, times, log=log)
        took = _timed(lambda: asyncio.run(sm.run("q")))
        log.close()
    return took


def _timed(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1000


def _best(measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(_ROUNDS))


if __name__ == "__main__":
    main()
