"""The juniors of a mission. What they look for is told to them exactly; they choose only among what they found."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.answer import LEAST_OVERLAP
from appliance.codeintel.results import Origin
from appliance.contracts.tools import Evidence, Json
from appliance.errors import ApprovalRejected, InvalidInput, NotFound
from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.missions import instruments
from appliance.orchestrator.missions.case import Case, Finding, Gave, Said
from appliance.orchestrator.missions.encoding import typed
from appliance.orchestrator.missions.plan import Look

_BESIDE: Final = 4  # sentences of what was not asked
_OPTIONS: Final = 6
_CLASSES: Final = frozenset({"class", "interface", "struct", "enum", "trait", "type"})
_CALLABLES: Final = frozenset({"function", "method", "constructor"})
_TOKENS: Final = 800


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


class Researcher:
    """Gathers the lines that bear on a question, and looks closer at one of the places."""

    def __init__(self, case: Case) -> None:
        self._case = case

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Research; report the places. An instruction is taken as other words for the same question."""
        del streaming_callback
        props = request.agent_props or {}
        question, part = str(props.get("question", request.objective)), typed(props.get("part", 0), int)
        told = [str(each.get("content")) for each in request.messages if each.get("role") == "user"][1:]
        words = told[-1] if told else question
        case = self._case
        gave = await case.call(request.agent, instruments.PACK, {"question": words, "tokens": _TOKENS})
        if gave.error:
            raise InvalidInput(gave.error)
        finding = Finding(
            junior=request.agent,
            part=part,
            said=(),
            evidence=gave.evidence,
            question=question,
            read=tuple(number - 1 for number in typed(gave.data.get("read", ()), list[int])),
            overlap=typed(gave.data.get("overlap", 0.0), float),
        )
        if told:
            before = [each for each in case.findings if (each.junior, each.part) == (request.agent, part) and not each.said]
            finding = max([finding, *before], key=lambda each: each.overlap)
            case.findings = [each for each in case.findings if each not in before]
        case.findings.append(finding)
        if finding.overlap >= LEAST_OVERLAP:
            await self._closer(request.agent, finding)
        weak = "" if finding.overlap >= LEAST_OVERLAP else " The evidence is weak."
        return AgentResult(content=f"{len(finding.evidence)} places bear on it.{weak}\n{gave.text}")

    async def _closer(self, agent: str, finding: Finding) -> None:
        """Let the model say which of the places to look at closer, and tell what the graph knows of it."""
        places = {
            name: each for each in finding.evidence if (name := qualified(each)) and each.kind in _CLASSES | _CALLABLES
        }
        if not places:
            return
        options = [f"{each.kind} {each.symbol} in {display(each.path)}" for each in places.values()][:_OPTIONS]
        place, _ = await self._case.choose(agent, finding.question, options)
        name, chosen = list(places.items())[place or 0]
        look = Look("members" if chosen.kind in _CLASSES else "callees", name, finding.part, asked=False)
        gave = await looked_at(self._case, agent, look)
        if not gave.error:
            self._case.findings.append(finding_of(gave, look, junior=agent))


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
    told = tuple(said if look.asked else said[:_BESIDE])
    return Finding(junior, look.part, told, gave.evidence, asked=look.asked, origin=origin)


def qualified(evidence: Evidence) -> str:
    """Return a name that means the definition of *evidence* alone: with the parts of its path before it."""
    if not evidence.symbol:
        return ""
    stem = evidence.path.rpartition(".")[0] or evidence.path
    return f"{stem.replace('/', '.')}.{evidence.symbol.partition('#')[0]}"


def _said(row: Mapping[str, Json]) -> Said:
    return Said(str(row.get("text", "")), tuple(number - 1 for number in typed(row.get("cites", ()), list[int])))
