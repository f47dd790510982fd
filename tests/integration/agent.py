"""An agent: ``python -m tests.integration.agent DATA PORT`` asks by both ways, prints what it was answered, and stays.

So its session stays too, with the stream on which it listens.
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp import ClientSession

from tests.support.agents import command, found_in, over_http, over_stdio

ASKED: dict[str, dict[str, object]] = {
    "search_code": {"query": "Keeper"},
    "read_lines": {"path": "store/keeper.py", "start_line": 7, "end_line": 9},
    "definition": {"name": "Keeper.verify"},
    "references": {"name": "shelf_of"},
    "callers": {"name": "shelf_of"},
    "callees": {"name": "Keeper.verify"},
    "impact": {"name": "shelf_of"},
    "outline": {"path": "store/keeper.py"},
    "repomap": {},
    "ask": {"question": "Where is shelf_of defined?"},
}


async def answers(session: ClientSession) -> dict[str, object]:
    return {tool: found_in(await session.call_tool(tool, given)) for tool, given in ASKED.items()}


async def main(data: Path, port: int) -> None:
    key = (data / "run" / "cli.key").read_text().strip()
    async with over_http(port, key) as session:
        first = await answers(session)
        async with over_stdio(command(data), errors=sys.stderr) as other:
            second = await answers(other)
        print(json.dumps([first, second]), flush=True)  # noqa: T201 - what it is for
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
