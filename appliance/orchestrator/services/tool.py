"""The tool service: the one way by which an agent, a workflow or a mission makes anything happen.

A call is let through in this order: budget, grants, schema, safety rules, approval; then it runs, bounded in time and
output. Every call is on record, refused ones too. Whatever is wrong comes back as a value with a code and the next step.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from appliance.base.metrics import Metrics
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Grants, Json, ToolContext, ToolOutput, ToolSpec
from appliance.errors import (
    ApplianceError,
    Blocked,
    BudgetExhausted,
    Cancelled,
    Conflict,
    InvalidInput,
    LimitExceeded,
    NotFound,
    NotGranted,
)
from appliance.orchestrator.approvals import Approval, Approvals, require_yes
from appliance.orchestrator.calls import canonical, shown, without_secrets
from appliance.orchestrator.policy import judged, meet
from appliance.orchestrator.services.audit import CallOutcome, ToolAudit
from appliance.orchestrator.services.offered import offered
from appliance.orchestrator.services.registry import Registered, ToolRegistry
from appliance.orchestrator.services.running import OutputBounds, run_tool
from appliance.orchestrator.services.safety import CallRule

CALLS: Final = 60
PARALLEL: Final = 4
MOST_AT_ONCE: Final = 32

_REPOSITORIES: Final = ("repo", "repos")
_SCRAP_CHARACTERS: Final = 2_000
Asked = Callable[[Approval], None]  # hears of a question that a call now waits for


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as a model made it: neither name nor arguments are known to be anything."""

    name: str
    arguments: object = None


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that grants, schema and safety rules let through. *approval* is why a person must say yes; "": nobody must."""

    found: Registered
    arguments: Mapping[str, Json]
    context: ToolContext
    verdict: str
    warning: str = ""
    approval: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended: with *output*, or with *error*. *ms* is milliseconds from the call to its end."""

    tool: str
    output: ToolOutput | None = None
    error: ApplianceError | None = None
    warnings: tuple[str, ...] = ()
    ms: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the call was made and gave an output."""
        return self.error is None

    @property
    def code(self) -> str:
        """The error's stable code; "" for none."""
        return self.error.code if self.error is not None else ""

    @property
    def text(self) -> str:
        """What a model is told of it."""
        if self.error is not None:
            return f"error {self.error.code}: {self.error}"
        return self.output.text if self.output is not None else ""

    def unwrap(self) -> ToolOutput:
        """Return the output; raise the error where there is none."""
        if self.output is None:
            raise self.error or NotFound(f"The call of {self.tool} gave nothing.")
        return self.output


class Repositories(Protocol):
    """What knows the repositories of projects by name."""

    def id_of(self, project: str, name: str) -> str | None:
        """Return the id of the repository that *name*, a name or an id, means in *project*; None where there is none."""

    def names(self, project: str, ids: Sequence[str]) -> Sequence[str]:
        """Return the names of those repositories of *project* whose ids are given."""


class ToolService(Protocol):
    """What executes tools. A run is opened with what it may use; whatever a context says, it gets no more than that."""

    def open_run(self, run_id: str, *, grants: Grants, calls: int = CALLS) -> None:
        """Let *run_id* make at most *calls* calls within *grants*; raise `Conflict` for one that is open."""

    def close_run(self, run_id: str) -> None:
        """End *run_id*: what it asked people is taken back, and its calls are refused from now on."""

    def get_remaining_budget(self, run_id: str) -> int:
        """Return how many calls *run_id* has left; 0 for one that is not open."""

    def get_tool_schema(self, name: str) -> ToolSpec:
        """Return what the tool says of itself; raise `NotFound`."""

    def get_tool_schemas(self, context: ToolContext) -> Sequence[ToolSpec]:
        """Return what each tool says of itself that *context* may call, by name, as a model is offered it there."""

    def validate_tool_call(self, name: str, arguments: object, *, context: ToolContext) -> CheckedCall:
        """Return the call as grants, schema and safety rules let it through; raise why they do not. Nothing is run."""

    async def execute_tool(
        self, name: str, arguments: object, *, context: ToolContext, asked: Asked | None = None
    ) -> ToolOutcome:
        """Make the call if it may be made, and return how it ended. Raise `Cancelled` alone, once the run is to stop."""

    async def execute_tools_parallel(self, calls: Sequence[ToolCall], *, context: ToolContext) -> Sequence[ToolOutcome]:
        """Make *calls*, a few at a time, and return how each ended, in their order."""


@dataclass(slots=True)
class _Run:
    grants: Grants
    calls: int
    made: int = 0


@dataclass(slots=True)
class _Trace:
    """What of one call goes on record as it proceeds."""

    tool: str
    context: ToolContext
    given: object
    began: float
    row: int | None = None
    warning: str = ""


@dataclass(frozen=True, kw_only=True)
class LocalToolService:
    """The tools of *registry*, in this process.

    A call that needs a person waits *patience_s* for one and is then rejected; with 0 it does not wait: it is refused with
    `ApprovalRequired`, and goes through when it is made again after the decision.
    """

    registry: ToolRegistry
    approvals: Approvals
    audit: ToolAudit
    repositories: Repositories
    patience_s: float = 600.0
    bounds: OutputBounds = field(default_factory=OutputBounds)
    metrics: Metrics | None = None
    monotonic: Callable[[], float] = time.monotonic
    _runs: dict[str, _Run] = field(default_factory=dict, init=False, repr=False)

    def open_run(self, run_id: str, *, grants: Grants, calls: int = CALLS) -> None:
        """Let *run_id* make at most *calls* calls within *grants*; raise `Conflict` for one that is open."""
        if run_id in self._runs:
            raise Conflict(f"The run {run_id} is open already.", remedy="Close it first.", run=run_id)
        self._runs[run_id] = _Run(grants, calls)

    def close_run(self, run_id: str) -> None:
        """End *run_id*: what it asked people is taken back, and its calls are refused from now on."""
        if self._runs.pop(run_id, None) is not None:
            self.approvals.withdraw(run_id)

    def is_open(self, run_id: str) -> bool:
        """Say whether *run_id* is open."""
        return run_id in self._runs

    def get_remaining_budget(self, run_id: str) -> int:
        """Return how many calls *run_id* has left; 0 for one that is not open."""
        run = self._runs.get(run_id)
        return max(0, run.calls - run.made) if run is not None else 0

    def get_tool_schema(self, name: str) -> ToolSpec:
        """Return what the tool says of itself; raise `NotFound`."""
        return self.registry.get(name).spec

    def get_tool_schemas(self, context: ToolContext) -> Sequence[ToolSpec]:
        """Return what each tool says of itself that *context* may call, by name, as it is `offered` there."""
        grants = self._narrowed(context).grants
        names = self.repositories.names(grants.project, grants.repos)
        able = (spec for spec in self.registry.specs if spec.name in grants.tools and spec.effect in grants.effects)
        return [offered(spec, names) for spec in able]

    def validate_tool_call(self, name: str, arguments: object, *, context: ToolContext) -> CheckedCall:
        """Return the call as grants, schema and safety rules let it through; raise why they do not. Nothing is run."""
        context = self._narrowed(context)
        found = self.registry.get(name, granted=context.grants.tools)
        _require_tool(found.spec, context.grants)
        checked = found.arguments.checked(arguments)
        self._require_repositories(checked, context.grants)
        verdict = judged(self._rules(found.spec, context), found.spec.name, checked)
        if verdict.action == "block":
            raise Blocked(
                f"{found.spec.name} is not allowed with these arguments: {verdict.reason or 'a safety rule blocks it'}",
                remedy="Do it another way, or leave it out.",
            )
        asks = verdict.reason or "A safety rule wants it." if verdict.action == "confirm" else ""
        return CheckedCall(
            found,
            checked,
            context,
            verdict.action,
            warning=verdict.reason if verdict.action == "warn" else "",
            approval=asks or (f"{found.spec.name} is done only when a person approves." if found.spec.approval else ""),
        )

    async def execute_tool(
        self, name: str, arguments: object, *, context: ToolContext, asked: Asked | None = None
    ) -> ToolOutcome:
        """Make the call if it may be made, and return how it ended. Raise `Cancelled` alone, once the run is to stop."""
        context.cancellation.check()
        trace = _Trace(_name(name), context, arguments, self.monotonic())
        try:
            self._charge(context.run_id)
            call = self.validate_tool_call(name, arguments, context=context)
            await self._approve(call, asked)
            self._narrowed(context)  # its run may have been closed while a person decided
            trace.warning = call.warning
            await asyncio.to_thread(self._begin, call, trace)
            output = await run_tool(call.found, call.arguments, context=call.context, bounds=self.bounds)
            return await asyncio.to_thread(self._ended, trace, output, None)
        except (asyncio.CancelledError, Cancelled) as exc:
            stopped = exc if isinstance(exc, Cancelled) else Cancelled(f"The call of {trace.tool} was cancelled.")
            self._ended(trace, None, stopped)
            raise
        except ApplianceError as exc:
            return await asyncio.to_thread(self._ended, trace, None, exc)

    async def execute_tools_parallel(self, calls: Sequence[ToolCall], *, context: ToolContext) -> Sequence[ToolOutcome]:
        """Make *calls*, a few at a time, and return how each ended, in their order.

        What is more than `MOST_AT_ONCE` is refused, and stands on record as one.
        """
        calls, further = calls[:MOST_AT_ONCE], calls[MOST_AT_ONCE:]
        turn = asyncio.Semaphore(PARALLEL)

        async def one(call: ToolCall) -> ToolOutcome:
            async with turn:
                return await self.execute_tool(call.name, call.arguments, context=context)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(call)) for call in calls]
        except* Cancelled as stopped:
            raise Cancelled("The run was asked to stop.") from stopped
        return [*(task.result() for task in tasks), *await asyncio.to_thread(self._too_many, further, context)]

    def _rules(self, spec: ToolSpec, context: ToolContext) -> Iterable[SafetyRule]:
        return (CallRule(spec.effect, context.workspace), *self.registry.rules)

    def _too_many(self, further: Sequence[ToolCall], context: ToolContext) -> Sequence[ToolOutcome]:
        if not further:
            return ()
        error = LimitExceeded(
            f"{MOST_AT_ONCE} calls are made at once, and {len(further)} more were asked for.",
            remedy="Make fewer calls at once.",
            limit=MOST_AT_ONCE,
        )
        outcome = self._ended(_Trace(_name(further[0].name), context, None, self.monotonic()), None, error)
        return [replace(outcome, tool=_name(call.name)) for call in further]

    def _narrowed(self, context: ToolContext) -> ToolContext:
        """Return *context* with no more than its run was opened with."""
        run = self._runs.get(context.run_id)
        if run is None:
            raise NotGranted(f"The run {context.run_id!r} is not open.", remedy="A run is opened with what it may use.")
        return replace(context, grants=meet(run.grants, context.grants))

    def _charge(self, run_id: str) -> None:
        """Take one call off the budget, refused or not: a model that tries the same wrong call for ever comes to an end."""
        run = self._runs.get(run_id)
        if run is None:
            return  # refused as not open, next
        if run.made >= run.calls:
            raise BudgetExhausted(
                f"The run has made all of its {run.calls} calls of tools.",
                remedy="Answer from what was found so far, and say what is missing.",
                limit=run.calls,
                what="tool calls",
            )
        run.made += 1

    def _require_repositories(self, arguments: Mapping[str, Json], grants: Grants) -> None:
        for key in _REPOSITORIES:
            value = arguments.get(key)
            for name in value if isinstance(value, list | tuple) else [value]:
                if isinstance(name, str) and name and self._repository(name, grants) not in grants.repos:
                    raise NotGranted(
                        f"There is no repository {name[:100]!r} among those that this run may see.",
                        remedy="Leave it out to look through all of them.",
                    )

    def _repository(self, name: str, grants: Grants) -> str | None:
        return name if name in grants.repos else self.repositories.id_of(grants.project, name)

    async def _approve(self, call: CheckedCall, asked: Asked | None) -> None:
        """Return once a person has said yes to exactly this call; raise `ApprovalRequired` or `ApprovalRejected`."""
        if not call.approval:
            return
        name, run = call.found.spec.name, call.context.run_id
        found = await asyncio.to_thread(self.approvals.ask, run, what=name, arguments=call.arguments, why=call.approval)
        if found.state == "pending" and asked is not None:
            asked(found)
        if found.state == "pending" and self.patience_s > 0:
            cancellation = call.context.cancellation
            found = await self.approvals.wait(found.id, timeout_s=self.patience_s, cancellation=cancellation)
        require_yes(found)
        await asyncio.to_thread(self.approvals.use, found.id, what=name, arguments=call.arguments)

    def _begin(self, call: CheckedCall, trace: _Trace) -> None:
        verdict = "approved" if call.approval else call.verdict
        run, agent = call.context.run_id, call.context.agent
        trace.row = self.audit.begin(call.found.spec.name, call.arguments, run=run, agent=agent, verdict=verdict)

    def _ended(self, trace: _Trace, output: ToolOutput | None, error: ApplianceError | None) -> ToolOutcome:
        """Put on record how the call ended, and return it."""
        ms = (self.monotonic() - trace.began) * 1000
        warnings = (trace.warning,) if trace.warning else ()
        outcome = ToolOutcome(trace.tool, output, error, warnings, ms)
        self._count(outcome)
        try:
            self._record(trace, error, ms)
        except ApplianceError as exc:  # what cannot be put on record has not happened, as far as the model is told
            return ToolOutcome(trace.tool, None, exc, warnings, ms)
        return outcome

    def _record(self, trace: _Trace, error: ApplianceError | None, ms: float) -> None:
        code, reason = (error.code, without_secrets(error.message)) if error is not None else ("", "")
        if trace.row is None and error is not None:
            where = trace.context
            given = _scrap(trace.given)
            self.audit.refused(trace.tool, given, run=where.run_id, agent=where.agent, code=code, reason=reason)
        elif trace.row is not None:
            how: CallOutcome = "done" if error is None else "cancelled" if isinstance(error, Cancelled) else "failed"
            self.audit.end(trace.row, how, code=code, reason=reason, ms=ms)

    def _count(self, outcome: ToolOutcome) -> None:
        if self.metrics is not None:
            known = outcome.tool if outcome.tool in self.registry else "unknown"
            self.metrics.tools.labels(known, outcome.code or "ok").inc()
            self.metrics.tool_seconds.labels(known).observe(outcome.ms / 1000)


def _require_tool(spec: ToolSpec, grants: Grants) -> None:
    if spec.name not in grants.tools:
        raise NotGranted(
            f"This run may not call {spec.name}.",
            remedy=f"Call one of: {', '.join(sorted(grants.tools)) or 'none, it may call no tool'}.",
        )
    if spec.effect not in grants.effects:
        raise NotGranted(
            f"{spec.name} would {spec.effect}, and this run may only {', '.join(sorted(grants.effects)) or 'think'}.",
            remedy="Go on without it, or ask a person to grant it to the run.",
        )


def _name(given: object) -> str:
    """Return what a call's name is on record: a model may have sent anything."""
    return without_secrets(given[:64]) if isinstance(given, str) else f"({type(given).__name__})"


def _scrap(given: object) -> str:
    """Return of arguments that were refused what may be kept: they may be anything, and of any size."""
    try:
        if isinstance(given, str):
            return shown({"": given[: 2 * _SCRAP_CHARACTERS]}, limit=_SCRAP_CHARACTERS)
        if isinstance(given, Mapping):
            canonical(given)
            return shown(given, limit=_SCRAP_CHARACTERS)
    except (InvalidInput, LimitExceeded):
        pass
    return f"({type(given).__name__})"
