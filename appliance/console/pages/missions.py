"""Missions: all of them, and one with its steps as they happen, what it asks people, its answer, and its record checked."""

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Final
from urllib.parse import quote

from litestar import Response, get, post
from litestar.params import PathParameter, QueryParameter, URLEncodedBody
from litestar.response import Redirect

from appliance.base.paths import display
from appliance.codeintel.query.querylang import LONGEST_QUESTION
from appliance.console.choices import LONGEST, Choices, choices, scope_of
from appliance.console.pages.ask import BLANK, AnswerView, Evidence, answer_view
from appliance.console.pages.questions import Waiting, is_mission, waiting
from appliance.console.pages.rows import Mood
from appliance.console.render import Fault, Page, Renderer
from appliance.console.text import count, duration
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError, ApprovalRequired, Conflict, InvalidInput, LimitExceeded
from appliance.ids import MissionId
from appliance.orchestrator.approvals import Decision
from appliance.orchestrator.missions.model import ENDED, Entry, Mission, MissionLimits, MissionState
from appliance.services import Services
from appliance.web.requests import caller_of
from appliance.web.steps import told
from appliance.web.wiring import Asked, Wired

Which = Annotated[str, PathParameter(max_length=100)]

_PER_PAGE: Final = 30  # missions
_STEPS: Final = 60  # of one mission on a page
_LIMITS: Final = ("seconds", "tokens", "tool_calls", "model_calls")
_DIGITS: Final = 9  # of a limit
_STATES: Final[dict[MissionState, tuple[Mood, str]]] = {
    "queued": ("idle", "Queued"),
    "running": ("live", "Running"),
    "waiting": ("warn", "Waits for a decision"),
    "paused": ("warn", "Paused"),
    "done": ("good", "Done"),
    "failed": ("bad", "Failed"),
    "cancelled": ("idle", "Cancelled"),
}
EXAMPLES: Final = (
    "How does a job get from the queue to its handler, and what happens when its worker dies?",
    "Who calls `publish`, and which tests would notice if it changed?",
    "Why was the retry in the client changed last, and is it covered?",
)


@dataclass(frozen=True, slots=True)
class MissionRow:
    """One mission in a list, or at the head of its page."""

    id: str
    goal: str
    mood: Mood
    word: str
    reason: str
    repos: str
    asked_by: str
    asked_at: float
    model: str
    used: str
    took: float | None
    entries: int
    head: str
    ended: bool
    paused: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of its record."""

    seq: int
    after: str  # how long after its start
    agent: str
    kind: str
    line: str
    mood: Mood


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check of the record."""

    mood: Mood
    message: str


@dataclass(frozen=True, slots=True)
class Goal:
    """The form that asks for one."""

    goal: str = ""
    repo: str = ""
    max_seconds: str = ""
    max_tokens: str = ""
    max_tool_calls: str = ""
    max_model_calls: str = ""

    def cut(self) -> "Goal":
        """Return it as it comes back on a page: no field longer than one that can be meant."""
        numbers = {name: getattr(self, f"max_{name}")[:_DIGITS] for name in _LIMITS}
        return Goal(
            self.goal[:LONGEST_QUESTION], self.repo[:LONGEST], **{f"max_{name}": text for name, text in numbers.items()}
        )

    def limits(self, most: MissionLimits) -> MissionLimits:
        """Return what is asked for, and *most* where nothing is; raise `InvalidInput` for what is no number above 0."""
        given = {name: text for name in _LIMITS if (text := getattr(self, f"max_{name}").strip())}
        for name, text in given.items():
            if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text)):
                remedy = "Leave it empty for as much as the settings let."
                raise InvalidInput(f"The limit of {name.replace('_', ' ')} is no whole number above 0.", remedy=remedy)
        return replace(most, **{name: int(text) for name, text in given.items()})


@dataclass(frozen=True, slots=True)
class Words:
    """The form that lets a paused one go on."""

    instruction: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Whether a person ticked that it is to be deleted."""

    confirm: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A yes or a no."""

    decision: str = ""


@dataclass(frozen=True, slots=True)
class MissionsView:
    """All missions."""

    rows: tuple[MissionRow, ...]
    busy: bool
    choices: Choices
    form: Goal
    most: MissionLimits
    previous: str
    next: str
    fault: Fault | None
    examples: tuple[str, ...] = EXAMPLES


@dataclass(frozen=True, slots=True)
class MissionView:
    """One mission. With its answer there are no steps on the page: ``earlier`` leads to them. ``live``: more will follow."""

    row: MissionRow
    waiting: Waiting
    steps: tuple[Step, ...]
    earlier: str
    later: str
    live: bool
    answer: AnswerView | None
    outcome: Outcome | None
    fault: Fault | None
    blank: Evidence = BLANK


@get("/missions", sync_to_thread=True)
def show_all(
    services: Wired,
    pages: Pages,
    offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    repo: Annotated[str, QueryParameter(max_length=LONGEST)] = "",
    goal: Annotated[str, QueryParameter(max_length=LONGEST_QUESTION)] = "",
) -> Response[str]:
    """Show the missions, the newest first."""
    return _all(services, pages, offset=offset, form=Goal(goal, repo))


@post("/missions", sync_to_thread=True)
def start(data: URLEncodedBody[Goal], request: Asked, services: Wired, pages: Pages) -> Response[str] | Redirect:
    """Ask for a mission and go to its page; on an error the form comes back as it was."""
    try:
        limits = data.limits(services.missions.desk.ceilings)
        scope = scope_of(services, data.repo)
        mission = services.missions.start(data.goal, scope=scope, asked_by=caller_of(request), limits=limits)
    except ApplianceError as exc:
        return _all(services, pages, offset=0, form=data.cut(), fault=Fault.told(exc, request=request))
    return Redirect(f"/missions/{mission.id}", status_code=303)


@get("/missions/{mission:str}", sync_to_thread=True)
def show_one(
    mission: Which,
    services: Wired,
    pages: Pages,
    before: Annotated[int | None, QueryParameter(ge=1, le=2**62)] = None,
) -> Response[str]:
    """Show one mission; with *before*, the steps that stand before that one."""
    return _one(mission, services, pages, before=before)


@post("/missions/{mission:str}/cancel", sync_to_thread=True)
def cancel(mission: Which, request: Asked, services: Wired) -> Redirect:
    """Stop the mission."""
    services.missions.cancel(MissionId(mission), by=caller_of(request))
    return _back(mission)


@post("/missions/{mission:str}/resume", sync_to_thread=True)
def resume(
    mission: Which, data: URLEncodedBody[Words], request: Asked, services: Wired, pages: Pages
) -> Response[str] | Redirect:
    """Let the mission go on, with a person's words if there are any."""
    try:
        services.missions.resume(MissionId(mission), instruction=data.instruction.strip(), by=caller_of(request))
    except (Conflict, LimitExceeded) as exc:
        return _one(mission, services, pages, fault=Fault.told(exc, request=request))
    return _back(mission)


@post("/missions/{mission:str}/verify", status_code=200, sync_to_thread=True, opt={"permission": "read"})
def verify(mission: Which, services: Wired, pages: Pages) -> Response[str]:
    """Check the record, and say what came of it."""
    found = services.missions.desk.verify(MissionId(mission))
    if found.whole:
        said = f"The record is whole: {found.entries:,} entries, each as it was written."
        said += f" No entry holds, so that it was not checked: {', '.join(found.uncovered)}." if found.uncovered else ""
    else:
        said = f"The record is not as it was written, from entry {found.broken_at} on: {found.reason}"
    return _one(mission, services, pages, outcome=Outcome("good" if found.whole else "bad", said))


@post("/missions/{mission:str}/replay", status_code=200, opt={"permission": "read"})
async def replay(mission: Which, services: Wired, pages: Pages) -> Response[str]:
    """Run it again from its record, and say what came of it."""
    found = await services.missions.replay(MissionId(mission))
    if found.same:
        said = f"Run again from its record alone it is the same, byte for byte: {found.entries:,} entries."
    else:
        said = f"Run again from its record it is not the same, from entry {found.differs_at} on: {found.reason}"
    outcome = Outcome("good" if found.same else "bad", said)
    return await asyncio.to_thread(_one, mission, services, pages, outcome=outcome)


@post("/missions/{mission:str}/remove", sync_to_thread=True)
def remove(
    mission: Which, data: URLEncodedBody[Confirmation], request: Asked, services: Wired, pages: Pages
) -> Response[str] | Redirect:
    """Delete the mission and its record, if that was ticked and it has ended."""
    if data.confirm != "yes":
        fault = Fault("Nothing was deleted.", "Tick the box to delete it.", InvalidInput.code)
        return _one(mission, services, pages, fault=fault)
    try:
        services.missions.desk.remove(MissionId(mission), by=caller_of(request))
    except Conflict as exc:
        return _one(mission, services, pages, fault=Fault.told(exc, request=request))
    return Redirect("/missions", status_code=303)


@post("/approvals/{approval:str}", sync_to_thread=True)
def decide(approval: Which, data: URLEncodedBody[Verdict], request: Asked, services: Wired) -> Redirect:
    """Say yes or no, and go back to the mission that asked, or to all that waits."""
    if data.decision not in {"approved", "rejected"}:
        raise InvalidInput("A decision is a yes or a no.", remedy="Use one of the two buttons.")
    decision: Decision = "approved" if data.decision == "approved" else "rejected"
    decided = services.missions.decide(approval, decision, by=caller_of(request))
    return _back(decided.run) if is_mission(decided.run) else Redirect("/status", status_code=303)


ROUTES: Final = (show_all, start, show_one, cancel, resume, verify, replay, remove, decide)


def _back(mission: str) -> Redirect:
    return Redirect(f"/missions/{quote(mission, safe='')}", status_code=303)


def _all(services: Services, pages: Renderer, *, offset: int, form: Goal, fault: Fault | None = None) -> Response[str]:
    found = services.missions.desk.list(limit=_PER_PAGE + 1, offset=offset)
    rows = tuple(mission_row(mission) for mission in found[:_PER_PAGE])
    view = MissionsView(
        rows=rows,
        busy=any(not row.ended for row in rows),
        choices=choices(services, form.repo),
        form=form,
        most=services.missions.desk.ceilings,
        previous=f"/missions?offset={max(0, offset - _PER_PAGE)}" if offset else "",
        next=f"/missions?offset={offset + _PER_PAGE}" if len(found) > _PER_PAGE else "",
        fault=fault,
    )
    return pages.response("missions.html", page=Page("Missions", "missions", services.clock.now()), view=view, fault=fault)


def _one(
    which: str,
    services: Services,
    pages: Renderer,
    *,
    before: int | None = None,
    outcome: Outcome | None = None,
    fault: Fault | None = None,
) -> Response[str]:
    mission = services.missions.desk.get(MissionId(which))
    row = mission_row(mission)
    still = row.ended or row.paused  # one that goes on after a pause has steps to show, and an answer of before
    answered = still and mission.answer is not None and before is None
    end = mission.entries if before is None else min(mission.entries, before - 1)
    after = end if answered else max(0, end - _STEPS)
    view = MissionView(
        row=row,
        waiting=waiting(services, run=mission.id),
        steps=_steps(mission, services, after=after, end=end),
        earlier=f"/missions/{mission.id}?before={after + 1}" if after else "",
        later=f"/missions/{mission.id}" if before is not None else "",
        live=not row.ended and before is None,
        answer=answer_view(mission.answer, services, of_mission=True) if mission.answer is not None and answered else None,
        outcome=outcome,
        fault=fault,
    )
    page = Page("Mission", "missions", services.clock.now())
    return pages.response("mission.html", page=page, view=view, fault=fault)


def _steps(mission: Mission, services: Services, *, after: int, end: int) -> tuple[Step, ...]:
    """Return the steps of *mission* behind *after* up to *end*."""
    if after >= end:
        return ()
    entries = services.missions.desk.entries(mission.id, after=after, limit=end - after)
    begun_at = mission.started_at or mission.created_at
    return tuple(
        Step(each.seq, duration(max(0.0, each.at - begun_at)), display(each.agent), each.kind, told(each), _weight(each))
        for each in entries
    )


def mission_row(mission: Mission) -> MissionRow:
    """Return *mission* as it stands."""
    mood, word = _STATES[mission.state]
    took = mission.ended_at - mission.started_at if mission.ended_at and mission.started_at else None
    return MissionRow(
        id=mission.id,
        goal=display(mission.goal.replace("\n", " ")),
        mood=mood,
        word=word,
        reason=display(mission.reason),
        repos=", ".join(map(display, mission.repo_names)),
        asked_by=display(mission.asked_by),
        asked_at=mission.created_at,
        model=display(mission.model),
        used=_used(mission),
        took=took,
        entries=mission.entries,
        head=mission.head,
        ended=mission.state in ENDED,
        paused=mission.state == "paused",
    )


def _used(mission: Mission) -> str:
    spent = mission.usage
    tokens = spent.prompt_tokens + spent.completion_tokens
    parts = (count(spent.model_calls, "model call"), count(spent.tool_calls, "tool call"), count(tokens, "token"))
    return " · ".join((*parts, duration(spent.seconds)))


def _weight(entry: Entry) -> Mood:
    """Return how a step looks: what went wrong or waits stands out."""
    if entry.kind in {"paused", "interrupted", "asked_approval"} or entry.data.get("code") == ApprovalRequired.code:
        return "warn"
    if entry.kind in {"refused", "struck"} or (entry.kind == "tool_gave" and entry.data.get("error")):
        return "bad"
    return "good" if entry.kind in {"accepted", "answer", "approval"} else "idle"
