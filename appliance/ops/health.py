"""Whether the appliance can do its work, asked of each part under a deadline; a part that hangs is a part that failed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from appliance.errors import ApplianceError

State = Literal["ok", "off", "starting", "degraded", "failed"]
Overall = Literal["ready", "starting", "degraded", "failed"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one part says: ``off`` is a choice, ``starting`` will pass, ``degraded`` still serves, ``failed`` does not."""

    state: State
    detail: str = ""
    remedy: str = ""


class Probe(Protocol):
    """One part that can be asked how it is."""

    @property
    def name(self) -> str:
        """The part's name, as people say it: ``worker``, ``engine-chat``."""

    @property
    def vital(self) -> bool:
        """Whether nothing at all works without this part: its failure is the appliance's."""

    async def check(self) -> Verdict:
        """Return how the part is now."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One part and what it said."""

    name: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """How the whole is. ``phase`` names the parts still being waited for; it is empty once nothing is awaited."""

    state: Overall
    phase: str
    parts: tuple[Checked, ...]


class Health:
    """Asks every probe at once and gives each *seconds* to answer."""

    def __init__(self, probes: Sequence[Probe], *, seconds: float = 2.0) -> None:
        self._probes = tuple(probes)
        self._seconds = seconds

    async def report(self) -> Report:
        """Return how every part and the whole are; never raises for a sick part."""
        verdicts = await asyncio.gather(*(self._ask(probe) for probe in self._probes))
        parts = tuple(Checked(probe.name, verdict) for probe, verdict in zip(self._probes, verdicts, strict=True))
        waiting = ", ".join(part.name for part in parts if part.verdict.state == "starting")
        return Report(_overall(self._probes, verdicts), waiting, parts)

    async def _ask(self, probe: Probe) -> Verdict:
        try:
            async with asyncio.timeout(self._seconds):
                return await probe.check()
        except TimeoutError:
            return Verdict("failed", f"Did not answer within {self._seconds:g} s.", "`skellig doctor` looks closer.")
        except ApplianceError as exc:
            return Verdict("failed", exc.message, exc.remedy)


def _overall(probes: Sequence[Probe], verdicts: Sequence[Verdict]) -> Overall:
    pairs = list(zip(probes, verdicts, strict=True))
    if any(probe.vital and verdict.state == "failed" for probe, verdict in pairs):
        return "failed"
    if any(verdict.state in {"degraded", "failed"} for verdict in verdicts):
        return "degraded"
    if any(verdict.state == "starting" for verdict in verdicts):
        return "starting"
    return "ready"
