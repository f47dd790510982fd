"""A process that is killed within a turn: ``python -m tests.unit.orchestrator.services.killed DATABASE``.

It asks in the session ``s`` for what needs a person, says so on its standard output, and waits for one.
"""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

from appliance.base import sqlite
from appliance.base.clock import SystemClock
from appliance.codeintel.needs import ChatModel
from appliance.contracts.tools import ToolContext
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runtime import Orchestrator, Parts, orchestrator
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.tables import MIGRATIONS
from tests.support.calls import Names, OneModel, ScriptedModel, ScriptedTool, context, grants
from tests.support.conversing import ANSWER, SEARCH, choice, scripted


def begun(path: Path, *, patience_s: float) -> Orchestrator:
    """Return the services over *path*, with a model that wants the tool ``edit``, which needs a person."""

    async def probe(chat: ChatModel) -> Abilities:
        del chat
        return Abilities(schema=True, envelope=True)

    tools = ToolRegistry()
    tools.register(ScriptedTool("edit", parameters=SEARCH, approval=True))
    return orchestrator(
        Parts(
            connect=lambda: sqlite.connect(path, migrations=MIGRATIONS),
            clock=SystemClock(),
            models=OneModel(ScriptedModel(scripted(choice("edit", query="a"), ANSWER))),
            probe=probe,
            tools=tools,
            repositories=Names(),
            patience_s=patience_s,
        )
    )


def where() -> ToolContext:
    """Return the context of the run, the same in each process."""
    return context(grants("edit"))


async def _ask(path: Path) -> None:
    made = begun(path, patience_s=600)
    runtime = made.runtime("s", context=where())
    turn = made.facade.chat_service.stream_chat("s", "Change it", context=runtime.context)
    async with aclosing(turn) as events:
        async for event in events:
            sys.stdout.write(f"{event.kind}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_ask(Path(sys.argv[1])))
