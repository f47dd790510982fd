"""How many steps a second a graph takes, in memory and durable, and what its import costs, beside langgraph."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

from appliance.base import sqlite
from appliance.framework import END, CompiledGraph, GraphResult, SqliteCheckpointer, StateGraph
from tests.benchmarks import peers, targets
from tests.benchmarks.report import Figure

_IN_MEMORY, _DURABLE, _ROUNDS = 10_000, 1_000, 3
_ITEMS: Final = ["x"] * 10
_STARTED: Final = "import time; t = time.process_time(); from appliance.framework import {}; print(time.process_time() - t)"


class _State(TypedDict):
    n: int
    items: list[str]


def run() -> Sequence[Figure]:
    """Measure; durable steps by the clock, for they wait for the disk, all else by processor time."""
    theirs = _peer()
    memory, durable = (max(measured() for _ in range(_ROUNDS)) for measured in (_in_memory, _durable))
    load = f"load {os.getloadavg()[0]:.1f}, best of {_ROUNDS}"
    return [
        targets.reached("graph-steps", memory, load=f"processor time, {load}"),
        targets.peer("graph-steps", peers.LANGGRAPH, theirs["memory"], load="processor time"),
        targets.reached("graph-durable", durable, load=load),
        targets.peer("graph-durable", peers.LANGGRAPH, theirs["durable"]),
        Figure("  bare commits of SQLite, a second", _commits(), "", better="higher", load="what the disk gives just now"),
        targets.reached("graph-import", _import("StateGraph"), load=f"processor time, {load}"),
        targets.reached("agent-import", _import("Agent"), load=f"processor time, {load}"),
        targets.peer("graph-import", peers.LANGGRAPH, theirs["import_s"], load="processor time"),
    ]


def _graph(steps: int, checkpointer: SqliteCheckpointer | None = None) -> CompiledGraph[_State]:
    async def count(state: _State) -> Mapping[str, object]:
        return {"n": state["n"] + 1}

    graph = StateGraph(_State).add_node("count", count).set_entry_point("count")
    graph.add_conditional_edge("count", lambda state: state["n"] < steps, {True: "count", False: END})
    return graph.compile(checkpointer, max_iterations=steps + 1, recursion_limit=steps + 1)


def _in_memory() -> float:
    async def measured() -> float:
        start = time.process_time()
        _require(await _graph(_IN_MEMORY).invoke({"n": 0, "items": _ITEMS}))
        return _IN_MEMORY / (time.process_time() - start)

    return asyncio.run(measured())


def _durable() -> float:
    async def measured(folder: str) -> float:
        async with SqliteCheckpointer(Path(folder) / "threads.db") as checkpointer:
            start = time.perf_counter()
            _require(await _graph(_DURABLE, checkpointer).invoke({"n": 0, "items": _ITEMS}))
            return _DURABLE / (time.perf_counter() - start)

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measured(folder))


def _commits() -> float:
    """Return how many rows as large as a checkpoint SQLite commits in a second, one by one."""
    with tempfile.TemporaryDirectory() as folder:
        conn = sqlite.connect(Path(folder) / "rows.db", migrations=("CREATE TABLE rows (body TEXT NOT NULL);",))
        start = time.perf_counter()
        for _ in range(_DURABLE):
            with sqlite.transaction(conn):
                conn.execute("INSERT INTO rows VALUES (?)", ("x" * 500,))
        took = time.perf_counter() - start
        conn.close()
        return _DURABLE / took


def _require(result: GraphResult[_State]) -> None:
    assert result.require()["items"] == _ITEMS


def _import(name: str) -> float:
    argv = [sys.executable, "-c", _STARTED.format(name)]
    return min(float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout) for _ in range(_ROUNDS))


def _peer() -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        subprocess.run([str(peers.python()), str(peers.adapter("langgraph")), "--out", str(out)], check=True)
        found: dict[str, float] = json.loads(out.read_text(encoding="utf-8"))
        return found
