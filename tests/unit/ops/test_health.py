"""Claims about the appliance's health report."""

import asyncio
from dataclasses import dataclass

from appliance.errors import StoreBusy
from appliance.ops.health import Health, Report, Verdict


@dataclass(frozen=True)
class Scripted:
    """A part that says what it was told to."""

    name: str
    verdict: Verdict
    vital: bool = False

    async def check(self) -> Verdict:
        return self.verdict


@dataclass(frozen=True)
class Hanging(Scripted):
    """A part that never answers."""

    async def check(self) -> Verdict:
        await asyncio.Event().wait()
        return self.verdict


@dataclass(frozen=True)
class Broken(Scripted):
    """A part that raises."""

    async def check(self) -> Verdict:
        raise StoreBusy("The database stayed locked.", remedy="Try again.")


def report(*probes: Scripted) -> Report:
    return asyncio.run(Health(probes, seconds=0.05).report())


OK = Verdict("ok")


def test_all_well_is_ready() -> None:
    assert report(Scripted("store", OK), Scripted("engine-chat", Verdict("off"))).state == "ready"


def test_a_part_that_starts_is_named_as_the_phase() -> None:
    found = report(Scripted("store", OK), Scripted("engine-chat", Verdict("starting")))
    assert (found.state, found.phase) == ("starting", "engine-chat")


def test_a_failed_engine_degrades_and_does_not_fail_the_whole() -> None:
    assert report(Scripted("store", OK, vital=True), Scripted("engine-chat", Verdict("failed"))).state == "degraded"


def test_a_failed_vital_part_fails_the_whole() -> None:
    assert report(Scripted("store", Verdict("failed"), vital=True)).state == "failed"


def test_a_part_that_hangs_has_failed_within_the_deadline() -> None:
    """An engine that hangs must show as failed, not hang the health page."""
    found = report(Hanging("engine-chat", OK))
    assert found.state == "degraded"
    assert "0.05 s" in found.parts[0].verdict.detail


def test_an_error_of_our_own_becomes_the_verdict_with_its_remedy() -> None:
    assert report(Broken("store", OK)).parts[0].verdict == Verdict("failed", "The database stayed locked.", "Try again.")
