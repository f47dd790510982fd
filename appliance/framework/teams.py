"""Teams: several agents on one task, in one of five formations, each of them a turn of the operator core."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, get_args, runtime_checkable

from pydantic import ValidationError

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
from appliance.operator.encoding import writable
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", _names(self.tools, whose=f"the member {str(self.name)[:40]}"))


@runtime_checkable
class Granted(Protocol):
    """A runner that may use tools: a member may run by it only if it lists them all."""

    @property
    def granted_tools(self) -> Collection[str]:
        """The names of all that it may use."""


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
        given: object = self.members
        if not isinstance(given, Iterable):
            raise InvalidInput("The members of a team are a list.", remedy="Pass a list of `TeamMember`.")
        object.__setattr__(self, "members", tuple(given))
        object.__setattr__(self, "tools", _names(self.tools, whose="the team"))
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
        above = _AT_WORK.get()
        if any(team is self for team in above):
            raise InvalidInput("The team is at work on this already: it cannot be a member of itself.")
        kept = _Kept(self.coordinator or _by_rule(self))
        machine = self._machine(kept)
        failure, token = "", _AT_WORK.set((*above, self))
        try:
            await machine.run(task, streaming_callback=callback)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as exc:  # the outermost loop of a team: whatever a coordinator raises is told
            if isinstance(exc, asyncio.CancelledError) and (working := asyncio.current_task()) and working.cancelling():
                raise
            failure = f"The coordinator failed: {type(exc).__name__}: {exc}"[:500]
        finally:
            with suppress(ValueError):  # a coroutine that is thrown away ends in the context of whoever throws
                _AT_WORK.reset(token)
        slots = [slot for handle in machine.agents() for slot in handle.slots]
        return _result(self, slots, kept.result, failure=failure, run_id=run_id)

    def _machine(self, coordinator: AgentRunner) -> StateMachine:
        return StateMachine(
            coordinator=Coordinator(runner=coordinator),
            agents=[
                AgentSpec(name=m.name, description=m.description, skill=m.skill, runner=_Speaking(m)) for m in self.members
            ],
            limits=_limits(self.limits),
        )


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

    @property
    def granted_tools(self) -> Collection[str]:
        """What the team's members may use."""
        return self._team.tools

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer with what the team makes of the objective; raise where it makes nothing of it."""
        del streaming_callback
        result = await self._team.run(request.objective)
        if not result.content:
            raise InvalidInput(result.error or "The team has no answer.")
        return AgentResult(content=result.content, usage=dict(result.usage))


_AT_WORK: Final[ContextVar[tuple[Team, ...]]] = ContextVar("appliance.framework.teams", default=())


def _limits(given: TeamLimits) -> RunLimits:
    try:
        return RunLimits(
            max_commissions=given.commissions,
            max_instructs=given.commissions,
            commission_timeout_s=given.member_seconds,
            turn_timeout_s=given.seconds,
            max_parallel=given.parallel,
            max_tokens=given.tokens,
        )
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        raise InvalidInput(f"The limits of the team cannot hold: {first['loc'][0]}: {first['msg']}.") from exc


def _names(tools: object, *, whose: str) -> frozenset[str]:
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise InvalidInput(f"The tools of {whose} are a {type(tools).__name__}.", remedy="Pass a list of their names.")
    listed = list(tools)
    if not all(isinstance(each, str) for each in listed):
        raise InvalidInput(f"The tools of {whose} are not all names.", remedy="Pass a list of their names.")
    return frozenset(listed)


def _check(team: Team) -> None:
    if team.formation not in get_args(FormationName):
        raise InvalidInput(
            f"There is no formation {str(team.formation)[:40]!r}.", remedy=f"There are {', '.join(get_args(FormationName))}."
        )
    if strange := [each for each in team.members if not isinstance(each, TeamMember)]:
        raise InvalidInput(f"A {type(strange[0]).__name__} is no member of a team.", remedy="Make it a `TeamMember`.")
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
    _limits(team.limits)
    rounds: object = team.limits.rounds
    if not isinstance(rounds, int) or not 1 <= rounds <= MOST_ROUNDS:
        raise InvalidInput(f"Reflection takes 1 to {MOST_ROUNDS} rounds.")


def _check_member(member: TeamMember, *, granted: Collection[str]) -> None:
    name: object = member.name
    if not isinstance(name, str) or name.strip() in {"", _LEADER} or not writable(name):
        raise InvalidInput(f"{str(member.name)[:40]!r} is no name of a member.", remedy=f"Any text but {_LEADER!r} is one.")
    if not isinstance(member.runner, AgentRunner) or isinstance(member.runner, type):
        raise InvalidInput(
            f"The runner of {member.name} is a {type(member.runner).__name__}.",
            remedy="Pass `Agent.member`, `callable_agent(function)`, or an object with such a `run`.",
        )
    if isinstance(member.runner, Granted) and (held := sorted({*member.runner.granted_tools} - {*member.tools})):
        raise NotGranted(
            f"What answers for {member.name} may use tools that the member has not: {', '.join(held)}.",
            remedy="List them as the member's tools, or take them from what answers.",
            beyond=held,
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
    phase, detail, objective = (str(event.get(key, "")) for key in ("phase", "detail", "objective"))
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
        member_id=str(event.get("agent", "")),
        metadata={"objective": objective} if objective else {},
    )
