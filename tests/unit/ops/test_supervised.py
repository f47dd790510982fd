"""Claims about what the supervisor adds to a part's own word."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.base.paths import DataPaths
from appliance.errors import Unavailable
from appliance.ops.health import State, Verdict
from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import ProgramState, Running, Supervised, Supervisor


@dataclass(frozen=True)
class Part:
    """A part that says what it was told to."""

    verdict: Verdict
    name: str = "engine-chat"
    vital: bool = False

    async def check(self) -> Verdict:
        return self.verdict


class Scripted(Supervisor):
    """A supervisor that knows one program in one state, or does not answer."""

    def __init__(self, state: Running | None, *, name: str = "engine-chat") -> None:
        super().__init__(RunFiles(DataPaths(Path("/nowhere"))))
        self._known = None if state is None else ProgramState(name, state, None, 0, "error: no such model")

    def programs(self) -> tuple[ProgramState, ...]:
        if self._known is None:
            raise Unavailable("Skellig is not running.")
        return (self._known,)


def check(part: State, supervisor: Scripted) -> Verdict:
    return asyncio.run(Supervised(Part(Verdict(part, "as it says")), supervisor=supervisor).check())


@pytest.mark.parametrize("state", ["ok", "off"])
def test_a_part_that_is_well_is_believed(state: State) -> None:
    assert check(state, Scripted("failed")) == Verdict(state, "as it says")


@pytest.mark.parametrize(("program", "expected"), [("failed", "failed"), ("retrying", "degraded")])
def test_an_engine_that_cannot_start_says_its_last_words(program: Running, expected: State) -> None:
    """The reason stands in the console and the API, not only in a log."""
    found = check("degraded", Scripted(program))
    assert found.state == expected
    assert "error: no such model" in found.detail
    assert "skellig up" in found.remedy


def test_a_program_that_starts_is_not_yet_a_sick_part() -> None:
    assert check("degraded", Scripted("starting")).state == "starting"


def test_a_stopped_program_says_how_to_start_it() -> None:
    assert "skellig up" in check("degraded", Scripted("stopped")).remedy


@pytest.mark.parametrize("supervisor", [Scripted(None), Scripted("failed", name="other"), Scripted("running")])
def test_where_the_supervisor_knows_nothing_worse_the_part_is_believed(supervisor: Scripted) -> None:
    assert check("degraded", supervisor) == Verdict("degraded", "as it says")
