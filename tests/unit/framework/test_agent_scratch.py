"""Agents that change things do so in a scratch worktree of one repository, which is gone with them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from appliance.errors import InvalidInput
from appliance.framework.agent import Agent
from tests.support.agent_house import AgentHouse


@asynccontextmanager
async def agent(house: AgentHouse, **arguments: object) -> AsyncIterator[Agent]:
    async with await Agent.create(config=house.loaded, **arguments) as made:  # type: ignore[arg-type]
        yield made


def test_it_edits_a_scratch_worktree_and_runs_tests_there_and_the_repository_stays(house: AgentHouse) -> None:
    before = (house.root.parent / "shop" / "shop" / "store.py").read_bytes()
    house.follow(
        ("edit_file", {"path": "shop/store.py", "old": 'root = "models"', "new": 'root = "moved"'}),
        ("run_tests", {"command": ["grep", "-c", "moved", "shop/store.py"]}),
    )

    async def work() -> tuple[list[bool], list[str]]:
        async with agent(house, tools=["edit_file", "run_tests"], workspace="shop") as made:
            result = await made.run("Move the models.")
            scratch = [each.name for each in (house.root / "scratch").iterdir() if each.name.startswith("worktree-")]
            assert len(scratch) == 2  # it and its lock
            return [call.success for call in result.tool_calls], [call.result for call in result.tool_calls]

    (edited, ran), results = asyncio.run(work())
    assert edited
    assert '+    root = "moved"' in results[0]
    assert ran is ("host_unfit" not in results[1])
    assert (house.root.parent / "shop" / "shop" / "store.py").read_bytes() == before
    assert not [each for each in (house.root / "scratch").iterdir() if each.name.startswith("worktree-")]


def test_tools_that_write_need_one_repository(house: AgentHouse) -> None:
    house.follow()

    async def work() -> None:
        async with agent(house, tools=["edit_file"]):
            pass

    with pytest.raises(InvalidInput, match="one repository"):
        asyncio.run(work())
