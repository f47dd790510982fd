"""Juniors that look at what the graph, or git, can tell exactly."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.results import Origin
from appliance.contracts.tools import Json
from appliance.errors import ApprovalRejected, NotFound
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.case import Case, Finding, Gave, Said
from appliance.orchestrator.missions.encoding import typed
from appliance.orchestrator.missions.plan import Look

_BESIDE: Final = 4  # sentences of what was not asked
_CHANGED: Final = " was changed last by these commits, the newest first."


class Looking:
    """The tracer: it looks at what the graph can tell exactly."""

    def __init__(self, case: Case) -> None:
        self.case = case

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Look; report what there was. Raise `NotFound` where all of it was unknown."""
        del streaming_callback
        looks = typed((request.agent_props or {}).get("looks", ()), tuple[Look, ...])
        lines, missing = list[str](), list[str]()
        for look in looks:
            gave = await looked_at(self.case, request.agent, look)
            if gave.error:
                missing.append(gave.error)
                if look.asked:
                    self.case.failed[f"{look.part}"] = gave.error
                continue
            finding = finding_of(gave, look, junior=request.agent)
            self.case.findings.append(finding)
            lines.append(finding.said[0].text if finding.said else "")
            await self.looked(request.agent, look, finding)
        if not lines:
            raise NotFound(" ".join(missing) or "There was nothing to look at.")
        return AgentResult(content="\n".join([*lines, *missing]))

    async def looked(self, agent: str, look: Look, finding: Finding) -> None:
        """Do what follows from *finding*: of the graph's answers nothing."""


async def looked_at(case: Case, agent: str, look: Look) -> Gave:
    """Return what the graph says to *look*; how much of a list it leaves out is told only of what was asked."""
    arguments = {"intent": look.intent, "name": look.name, "symbol": look.other, "members": look.members}
    gave = await case.ask(agent, instruments.STRUCTURE, arguments)
    case.warn(*(warning for warning in gave.warnings if look.asked or not warning.endswith(" are listed.")))
    if gave.code == ApprovalRejected.code and not look.asked:  # of what was asked it is told with what came to nothing
        case.warn(gave.error)
    return gave


def finding_of(gave: Gave, look: Look, *, junior: str) -> Finding:
    """Return what *gave* says of *look*; of what was not asked only the first sentences."""
    rows = gave.data.get("sentences", ())
    said = [_said(row) for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
    origin: Origin = "git" if look.intent == "history" else "graph"
    told = tuple(said if look.asked else _short(said))
    calls = look.intent == "callees"
    return Finding(junior, look.part, told, gave.evidence, asked=look.asked, origin=origin, calls=calls)


def _short(said: Sequence[Said]) -> list[Said]:
    """Return the first of what is *said* of something that was not asked; of its history the newest commit alone."""
    head, *rest = said or [Said("", ())]
    if rest and head.text.endswith(_CHANGED):
        return [Said(f"{head.text.removesuffix(_CHANGED)} was changed last: {rest[0].text}", head.rests_on)]
    return [head, *rest][:_BESIDE] if said else []


def _said(row: Mapping[str, Json]) -> Said:
    return Said(str(row.get("text", "")), tuple(number - 1 for number in typed(row.get("cites", ()), list[int])))
