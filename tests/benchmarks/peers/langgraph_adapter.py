"""How many steps a second a graph of langgraph takes: ``--out FILE``. Run by the peers' own Python."""

import argparse
import asyncio
import importlib
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypedDict

_IN_MEMORY, _DURABLE, _ROUNDS = 500, 200, 3
_ITEMS: Final = ["x"] * 10


class _State(TypedDict):
    n: int
    items: list[str]


def main() -> None:
    """Measure, the best of a few rounds, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    start = time.process_time()
    graphs = importlib.import_module("langgraph.graph")
    said = {
        "import_s": time.process_time() - start,
        "memory": max(_rate(lambda: _in_memory(graphs), _IN_MEMORY, time.process_time) for _ in range(_ROUNDS)),
        "durable": max(_rate(lambda: _durable(graphs), _DURABLE, time.perf_counter) for _ in range(_ROUNDS)),
    }
    Path(given.out).write_text(json.dumps(said))


def _rate(run: Callable[[], Awaitable[object]], steps: int, clock: Callable[[], float]) -> float:
    async def measured() -> float:
        start = clock()
        await run()
        return steps / (clock() - start)

    return asyncio.run(measured())


def _graph(graphs: Any, steps: int) -> Any:  # noqa: ANN401 - of a module that this environment has not
    async def count(state: _State) -> dict[str, int]:
        return {"n": state["n"] + 1}

    graph = graphs.StateGraph(_State)
    graph.add_node("count", count)
    graph.add_edge(graphs.START, "count")
    graph.add_conditional_edges("count", lambda state: state["n"] < steps, {True: "count", False: graphs.END})
    return graph


async def _in_memory(graphs: Any) -> None:  # noqa: ANN401 - as above
    made = _graph(graphs, _IN_MEMORY).compile()
    await made.ainvoke({"n": 0, "items": _ITEMS}, {"recursion_limit": _IN_MEMORY + 1})


async def _durable(graphs: Any) -> None:  # noqa: ANN401 - as above
    savers = importlib.import_module("langgraph.checkpoint.sqlite.aio")
    with tempfile.TemporaryDirectory() as folder:
        async with savers.AsyncSqliteSaver.from_conn_string(str(Path(folder) / "threads.db")) as saver:
            made = _graph(graphs, _DURABLE).compile(checkpointer=saver)
            config = {"recursion_limit": _DURABLE + 1, "configurable": {"thread_id": "t"}}
            await made.ainvoke({"n": 0, "items": _ITEMS}, config, durability="sync")


if __name__ == "__main__":
    main()
