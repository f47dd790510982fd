"""A graph that says what it does in a file, for tests that kill the process which runs it: ``-m … FOLDER THREAD``."""

import asyncio
import operator
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from pydantic import AfterValidator, BaseModel

from appliance.framework import CompiledGraph, SqliteCheckpointer, StateGraph

NODES = ("first", "quick", "slow", "inner", "last")


class Place(BaseModel):
    """A type of this module's own, which is another module when it is run and when it is imported."""

    path: str


class Trail(TypedDict):
    ran: list[str]
    where: NotRequired[Annotated[Place, AfterValidator(lambda place: place)]]


def graph(folder: Path, checkpointer: SqliteCheckpointer) -> CompiledGraph[Trail]:
    """Return a graph whose node ``slow`` hangs until the file ``go`` is there, beside ``quick`` and a subgraph."""

    def node(name: str) -> Callable[[Trail], Mapping[str, object]]:
        def work(state: Trail) -> Mapping[str, object]:
            del state
            with (folder / "log").open("a") as log:
                log.write(f"{name}\n")
            while name in {"slow", "inner.slow"} and not (folder / "go").exists():
                time.sleep(0.005)
            return {"ran": [name]}

        return work

    inner = StateGraph(Trail).add_node("first", node("inner.first")).add_node("slow", node("inner.slow"))
    inner.set_entry_point("first").add_edge("first", "slow").set_finish_point("slow").add_state_merger("ran", operator.add)
    made = StateGraph(Trail).add_state_merger("ran", operator.add).add_subgraph("inner", inner, inputs={})
    for name in ("first", "quick", "slow", "last"):
        made.add_node(name, node(name))
    made.set_entry_point("first").set_finish_point("last")
    for name in ("quick", "slow", "inner"):
        made.add_edge("first", name).add_edge(name, "last")
    return made.compile(checkpointer)


async def _main(folder: Path, thread: str) -> None:
    async with SqliteCheckpointer(folder / "threads.db") as checkpointer:
        await graph(folder, checkpointer).invoke({"ran": [], "where": Place(path="a.py")}, thread_id=thread)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2]))
