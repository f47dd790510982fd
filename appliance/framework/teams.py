"""Teams: several agents on one task, in one of five formations, each of them a turn of the operator core."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, InvalidInput, NotGranted
from appliance.framework.events import AgentEvent, Emitter, EventType
from appliance.framework.formations import Formation, Parallel, Pipeline, Reflection, Sequential
from appliance.ids import new_id
from appliance.operator import (
    AgentRequest,
    AgentResult,
    AgentRunner,
    AgentSpec,
    Coordinator,
    ObjectiveSlot,
    RunLimits,
    StateMachine,
    StreamEvent,
    StreamingCallback,
)
from appliance.operator.runners import answer
from appliance.operator.usage import added

FormationName = Literal["sequential", "parallel", "hierarchical", "pipeline", "reflection"]
TeamStatus = Literal["done", "partial", "failed"]
MOST_MEMBERS: Final = 16
MOST_ROUNDS: Final = 10
_LEADER: Final = "coordinator"

_PHASES: Final[Mapping[str, EventType]] = {
    "commissioned": EventType.MILESTONE,
    "start": EventType.STAGE_CHANGE,
    "token": EventType.PROGRESS,
    "tool_start": EventType.TOOL_CALL,
    "tool_result": EventType.TOOL_RESULT,
    "tool_error": EventType.TOOL_ERROR,
    "done": EventType.MILESTONE,
    "fail": EventType.ERROR,
}


@dataclass(frozen=True, slots=True)
class TeamMember:
    """One that works in a team: what answers for it, and the names of the tools that it may use, as a `ToolSet` has them."""

    name: str
    runner: AgentRunner
    description: str = ""
    skill: str = "Do what you are asked, and report what you found."
    tools: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class TeamLimits:
    """What one run of a team may take. Times are in seconds."""

    member_seconds: float = 600.0
    seconds: float = 1_800.0
    parallel: int = 4
    tokens: int | None = None
    rounds: int = 3  # of reflection
    commissions: int = 32


@dataclass(frozen=True, slots=True)
class MemberReport:
    """What one commission came to. *report* is what went wrong where *status* is ``failed``."""

    member: str
    index: int
    status: str
    report: str
    duration_ms: float
    usage: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class TeamResult:
    """What a team made of a task.

    *status* is ``done`` where every member delivered, and in reflection the critic approved; ``partial`` where there is an
    answer all the same; ``failed`` where there is none. *error* says what is missing. *usage* is the sum over all members.
    """

    content: str
    status: TeamStatus
    error: str
    reports: tuple[MemberReport, ...]
    usage: Mapping[str, Json]
    run_id: str

    @property
    def success(self) -> bool:
        """Whether nothing is missing."""
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class Team:
    """*members* in a *formation*; raise `InvalidInput` for a team that cannot work, `NotGranted` for one that may not.

    *tools* are the team's: no member may have more. ``hierarchical`` takes a *coordinator*, which commissions by itself;
    ``reflection`` takes two members, the author first.
    """

    members: Sequence[TeamMember]
    formation: FormationName = "sequential"
    tools: Collection[str] = ()
    coordinator: AgentRunner | None = None
    limits: TeamLimits = field(default_factory=TeamLimits)

    def __post_init__(self) -> None:
        _check(self)

    async def run(self, task: str) -> TeamResult:
        """Return what the team made of *task*. A member that fails, hangs, or says nothing is told of, never raised."""
        return await self._run(task, run_id=new_id("run"), callback=None)

    async def stream(self, task: str) -> AsyncGenerator[AgentEvent, None]:
        """Give what happens, member by member, then the answer, once, and the end. Closing the generator stops the team."""
        emit = Emitter(new_id("run"))
        heard: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        yield emit(AgentEvent(EventType.STREAM_START))
        working = asyncio.create_task(self._run(task, run_id=emit.run_id, callback=heard.put_nowait))
        working.add_done_callback(lambda _: heard.put_nowait(None))
        try:
            while (event := await heard.get()) is not None:
                yield emit(_told(event))
            result = await working
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError, ApplianceError):
                await working
        if result.content:
            yield emit(AgentEvent(EventType.CONTENT, content=result.content))
        if result.error:
            yield emit(AgentEvent(EventType.ERROR, error=result.error, success=False, recoverable=bool(result.content)))
        yield emit(AgentEvent(EventType.STREAM_END, success=result.success, metadata={"status": result.status}))

    def as_runner(self) -> AgentRunner:
        """Return this team as what answers for a member of another."""
        return _Nested(self)

    async def _run(self, task: str, *, run_id: str, callback: StreamingCallback) -> TeamResult:
        if not isinstance(task, str) or not task.strip():
            raise InvalidInput("The task is empty.", remedy="Say what the team is to do.")
        kept = _Kept(self.coordinator or _by_rule(self))
        machine = StateMachine(
            coordinator=Coordinator(runner=kept),
            agents=[
                AgentSpec(name=m.name, description=m.description, skill=m.skill, runner=_Speaking(m)) for m in self.members
            ],
            limits=RunLimits(
                max_commissions=self.limits.commissions,
                max_instructs=self.limits.commissions,
                commission_timeout_s=self.limits.member_seconds,
                turn_timeout_s=self.limits.seconds,
                max_parallel=self.limits.parallel,
                max_tokens=self.limits.tokens,
            ),
        )
        failure = ""
        try:
            await machine.run(task, streaming_callback=callback)
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a team: whatever a coordinator raises is told
            failure = f"The coordinator failed: {type(exc).__name__}: {exc}"[:500]
        slots = [slot for handle in machine.agents() for slot in handle.slots]
        return _result(self, slots, kept.result, failure=failure, run_id=run_id)


class _Kept:
    """A coordinator whose answer is kept as it was given."""

    def __init__(self, runner: AgentRunner | Formation) -> None:
        self._runner = runner
        self.result = AgentResult(content="")

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer as the coordinator does."""
        self.result = await answer(self._runner, request, streaming_callback)
        return self.result


class _Speaking:
    """A member that fails where it says nothing."""

    def __init__(self, member: TeamMember) -> None:
        self._member = member

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer as the member does."""
        result = await answer(self._member.runner, request, streaming_callback)
        if not result.content.strip():
            raise InvalidInput(f"{self._member.name} said nothing.")
        return result


class _Nested:
    """A team that answers as one agent."""

    def __init__(self, team: Team) -> None:
        self._team = team

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer with what the team makes of the objective; raise where it makes nothing of it."""
        del streaming_callback
        result = await self._team.run(request.objective)
        if not result.content:
            raise InvalidInput(result.error or "The team has no answer.")
        return AgentResult(content=result.content, usage=dict(result.usage))


def _check(team: Team) -> None:
    if team.formation not in get_args(FormationName):
        raise InvalidInput(
            f"There is no formation {str(team.formation)[:40]!r}.", remedy=f"There are {', '.join(get_args(FormationName))}."
        )
    names = [member.name for member in team.members]
    if not 1 <= len(names) <= MOST_MEMBERS:
        raise InvalidInput(f"A team has 1 to {MOST_MEMBERS} members, not {len(names)}.")
    for member in team.members:
        _check_member(member, granted=team.tools)
    if len(set(names)) < len(names):
        raise InvalidInput("Two members of the team have the same name.", remedy="Give each a name of its own.")
    if team.formation == "hierarchical" and team.coordinator is None:
        raise InvalidInput("A hierarchical team needs a coordinator.", remedy="Pass `coordinator=`.")
    if team.formation != "hierarchical" and team.coordinator is not None:
        raise InvalidInput(f"A team that is {team.formation} works by a rule.", remedy="Leave `coordinator` out.")
    if team.formation == "reflection" and len(names) != 2:
        raise InvalidInput("Reflection takes two members: an author, then a critic.")
    if not 1 <= team.limits.rounds <= MOST_ROUNDS:
        raise InvalidInput(f"Reflection takes 1 to {MOST_ROUNDS} rounds.")


def _check_member(member: TeamMember, *, granted: Collection[str]) -> None:
    if not isinstance(member.name, str) or not member.name.strip() or member.name == _LEADER:
        raise InvalidInput(f"{str(member.name)[:40]!r} is no name of a member.", remedy=f"Any text but {_LEADER!r} is one.")
    if not isinstance(member.runner, AgentRunner) or isinstance(member.runner, type):
        raise InvalidInput(
            f"The runner of {member.name} is a {type(member.runner).__name__}.",
            remedy="Pass `Agent.member`, `callable_agent(function)`, or an object with such a `run`.",
        )
    beyond = sorted({*member.tools} - {*granted})
    if beyond:
        raise NotGranted(
            f"{member.name} asks for tools that its team has not: {', '.join(beyond)}.",
            remedy="Grant them to the team, or leave them out: no member has more than its team.",
            beyond=beyond,
        )


def _by_rule(team: Team) -> Formation:
    names = [member.name for member in team.members]
    if team.formation == "parallel":
        return Parallel(names)
    if team.formation == "pipeline":
        return Pipeline(names)
    if team.formation == "reflection":
        return Reflection(author=names[0], critic=names[1], rounds=team.limits.rounds)
    return Sequential(names)


def _result(team: Team, slots: Sequence[ObjectiveSlot], said: AgentResult, *, failure: str, run_id: str) -> TeamResult:
    reports = tuple(
        MemberReport(slot.agent, slot.index, slot.status, slot.agent_message or "", slot.duration_ms or 0.0, slot.usage)
        for slot in slots
    )
    missing = [failure] if failure else []
    missing += [f"{report.member} failed: {report.report}" for report in reports if report.status == "failed"]
    if team.formation != "hierarchical":
        idle = [member.name for member in team.members if member.name not in {report.member for report in reports}]
        missing += [f"{name} was not asked." for name in idle]
    missing += [said.raw] if isinstance(said.raw, str) and said.raw else []
    content = "" if failure else said.content.strip()
    usage: dict[str, Json] = {}
    for part in (*(slot.usage for slot in slots), said.usage):
        usage = added(usage, part)
    status: TeamStatus = "failed" if not content else "partial" if missing else "done"
    error = " ".join(missing) or ("" if content else "Nobody delivered anything.")
    return TeamResult(content, status, error, reports, usage, run_id)


def _told(event: StreamEvent) -> AgentEvent:
    phase, detail = event.get("phase", ""), event.get("detail", "")
    kind = _PHASES.get(phase, EventType.PROGRESS)
    failed = kind in {EventType.ERROR, EventType.TOOL_ERROR}
    return AgentEvent(
        kind,
        content=detail if kind is EventType.PROGRESS else "",
        result=detail if kind is EventType.TOOL_RESULT else "",
        tool_name=detail if kind is EventType.TOOL_CALL else "",
        error=detail if failed else "",
        success=not failed,
        milestone=phase if kind is EventType.MILESTONE else "",
        new_stage=phase if kind is EventType.STAGE_CHANGE else "",
        member_id=event.get("agent", ""),
        metadata={"objective": event.get("objective", "")} if event.get("objective") else {},
    )
