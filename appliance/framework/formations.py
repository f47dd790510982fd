"""How a team works together: each formation is a coordinator that commissions the members by a rule instead of a model."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from appliance.operator import AgentRequest, AgentResult, StreamingCallback
from appliance.orchestrator.fence import RULE, fenced, visible

LONGEST_HANDED_ON: Final = 8_000  # characters of one report that the next member reads
APPROVED: Final = "APPROVED"

_Called = Mapping[str, object]
_Tool = Callable[..., Awaitable[_Called]]


class Formation(Protocol):
    """What the coordinator of a team does; satisfies `AgentRunner`. ``raw`` of its result says what is lacking."""

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Have the members work on the objective and return the team's answer, ``""`` where nobody delivered."""
        ...


@dataclass(frozen=True, slots=True)
class Sequential:
    """One after the other; each reads the task and what those before it reported. Who fails is passed over."""

    members: Sequence[str]

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Return every report under its member's name."""
        del streaming_callback
        floor, reports = _Floor(request), list[tuple[str, str]]()
        for member in self.members:
            brief = request.objective
            if reports:
                brief = f"{brief}\n\nReports so far. {RULE}\n\n{_fenced_all(reports)}"
            report = await floor.commissioned(member, brief)
            if report is not None:
                reports.append((member, report))
        return floor.answer(_under_names(reports))


@dataclass(frozen=True, slots=True)
class Parallel:
    """All at once, each on the whole task, none knowing of the others."""

    members: Sequence[str]

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Return every report under its member's name, in the members' order."""
        del streaming_callback
        floor = _Floor(request)
        said = await asyncio.gather(*(floor.commissioned(member, request.objective) for member in self.members))
        delivered = zip(self.members, said, strict=True)
        return floor.answer(_under_names([(member, report) for member, report in delivered if report is not None]))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The first gets the task, each other what the one before it reported. It ends where one fails."""

    members: Sequence[str]

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Return what the last one reported."""
        del streaming_callback
        floor, handed = _Floor(request), request.objective
        for member in self.members:
            report = await floor.commissioned(member, _cut(handed))
            if report is None:
                return floor.answer("")
            handed = report
        return floor.answer(handed)


@dataclass(frozen=True, slots=True)
class Reflection:
    """An author drafts, a critic says what is missing, for *rounds* rounds at most, or until the critic approves."""

    author: str
    critic: str
    rounds: int

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Return the last draft."""
        del streaming_callback
        floor, task = _Floor(request), request.objective
        draft = await floor.commissioned(self.author, task)
        made = 1
        while draft is not None:
            said = await floor.commissioned(self.critic, _to_judge(task, draft))
            if said is None:
                return floor.answer(draft, "The critic did not judge the draft.")
            if said.strip().upper().startswith(APPROVED):
                return floor.answer(draft, "")
            if made == self.rounds:
                return floor.answer(draft, f"The critic had not approved after {made} rounds.")
            better = await floor.instructed(self.author, f"This was said of your draft:\n\n{_cut(said)}\n\nMend the draft.")
            if better is None:
                return floor.answer(draft, "The author did not mend the draft.")
            draft, made = better, made + 1
        return floor.answer("")


class _Floor:
    """The tools of a turn, as a rule uses them: a report is accepted as soon as it is there."""

    def __init__(self, request: AgentRequest) -> None:
        tools: dict[str, _Tool] = {tool.__name__: tool for tool in request.metadata["tools"]}
        self._commission = tools["commission"]
        self._instruct = tools["instruct_agent"]
        self._accept = tools["accept_agent_result"]
        self._refused: list[str] = []

    def answer(self, content: str, lacking: str = "") -> AgentResult:
        """Return *content* as the answer; ``raw`` says what is *lacking*, and what was refused."""
        return AgentResult(content=content, raw=" ".join([*self._refused, lacking]).strip())

    async def commissioned(self, member: str, objective: str) -> str | None:
        """Return the report of *member* on *objective*, None if there is none."""
        return await self._accepted(member, await self._commission(member, objective))

    async def instructed(self, member: str, message: str) -> str | None:
        """Return what *member* makes of *message* on its first objective, None if nothing."""
        return await self._accepted(member, await self._instruct(member, 1, message))

    async def _accepted(self, member: str, called: _Called) -> str | None:
        if called.get("status") != "staged":
            if "error" in called:
                self._refused.append(f"{member}: {called.get('detail') or called['error']}")
            return None
        await self._accept(member, called["index"])
        return str(called["summary"])


def _under_names(reports: Sequence[tuple[str, str]]) -> str:
    if len(reports) == 1:
        return reports[0][1]
    return "\n\n".join(f"## {member}\n\n{report}" for member, report in reports)


def _fenced_all(reports: Sequence[tuple[str, str]]) -> str:
    return "\n\n".join(_fenced(report, label=f"report of {member}") for member, report in reports)


def _fenced(text: str, *, label: str) -> str:
    """Return *text* as data: it may quote what stands in a repository."""
    return fenced(text, label=label, most=LONGEST_HANDED_ON).text


def _to_judge(task: str, draft: str) -> str:
    return (
        f"The task was:\n\n{_cut(task)}\n\nThis is the draft. {RULE}\n\n{_fenced(draft, label='draft')}\n\n"
        f"Answer {APPROVED} and nothing else if the draft does the task. Otherwise say what to change."
    )


def _cut(text: str) -> str:
    plain = visible(text)
    more = len(plain) - LONGEST_HANDED_ON
    return plain if more <= 0 else f"{plain[:LONGEST_HANDED_ON]}\n(cut here: {more:,} more characters)"
