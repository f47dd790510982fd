"""The page that says how to write a coordinator, done as it says."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import cast

import pytest

from appliance.orchestrator.state import Host
from tests.unit.orchestrator.state.hosts import PlainHost

PAGE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "write-a-coordinator.md"
Decide = Callable[[Host, str], Coroutine[None, None, list[object]]]


@pytest.fixture
def decide() -> Decide:
    """Run every block of the page, and return the function that the last one defines."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - the page is ours
    return cast("Decide", names["decide"])


def long(host: PlainHost) -> PlainHost:
    host.messages = ["hi"] * 50
    host._capabilities["summaries"] = True
    return host


def test_what_the_coordinator_of_the_page_decides_is_applied(decide: Decide) -> None:
    host = long(PlainHost())

    async def main() -> tuple[list[object], list[object]]:
        return await decide(host, "go on"), await decide(host, "go on")

    first, second = asyncio.run(main())
    assert (first, second) == ([{"tool": "summarise", "ok": True}], [])
    assert host.calls == [("summarise", {"first": 0, "last": 50})]
    assert host.conversation_state["summarised_up_to"] == 50
    assert host.conversation_stage == "summarising"


def test_a_state_that_never_rests_is_given_up(decide: Decide) -> None:
    class Restless(PlainHost):
        """Its state has changed whenever anybody looks."""

        looks = 0

        @property
        def model(self) -> str:
            self.looks += 1
            return str(self.looks)

        @model.setter
        def model(self, name: str) -> None:
            del name

    with pytest.raises(TimeoutError):
        asyncio.run(decide(long(Restless()), "go on"))
