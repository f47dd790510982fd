"""Tools that do what a test says, and a tool service around them, on a real database."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from appliance.base import sqlite
from appliance.base.clock import Clock
from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatDelta, ChatRequest, JsonSchema
from appliance.contracts.safety import SafetyAction, SafetyVerdict
from appliance.contracts.tools import Effect, Grants, Json, ToolContext, ToolOutput, ToolSpec
from appliance.errors import ApplianceError, Cancelled, EngineUnavailable
from appliance.inference.engines.base import EngineHealth
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.services.audit import ToolAudit
from appliance.orchestrator.services.provider import InstalledModel
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.tool import LocalToolService, ToolOutcome
from appliance.tables import MIGRATIONS
from tests.support.clock import FakeClock

RUN, PROJECT = "run", "prj_1"
ANYTHING: JsonSchema = {"type": "object"}
WANTED: JsonSchema = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "repo": {"type": "string"}},
    "required": ["query"],
}


@dataclass
class Stop:
    """A cancellation that a test sets."""

    stopped: bool = False

    def check(self) -> None:
        if self.stopped:
            raise Cancelled("The run was stopped.")


@dataclass
class ScriptedTool:
    """A tool that gives *output*, or what *act* makes of its arguments; *calls* are those that reached it."""

    name: str = "search"
    output: object = field(default_factory=lambda: ToolOutput("found"))
    act: Callable[[Mapping[str, Json]], Awaitable[object]] | None = None
    parameters: JsonSchema = field(default_factory=lambda: ANYTHING)
    effect: Effect = "read"
    approval: bool = False
    timeout_s: float = 5.0
    calls: list[tuple[Mapping[str, Json], ToolContext]] = field(default_factory=list)
    called: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, f"Does {self.name}.", self.parameters, "test", self.effect, self.approval, self.timeout_s)

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        self.calls.append((arguments, context))
        self.called.set()
        return cast("ToolOutput", await self.act(arguments) if self.act is not None else self.output)


@dataclass
class Rule:
    """A safety rule with one verdict on every call."""

    action: SafetyAction
    reason: str = ""
    name: str = "rule"

    def judge(self, tool: str, arguments: Mapping[str, Json]) -> SafetyVerdict:
        del tool, arguments
        return SafetyVerdict(self.action, self.reason)


class Names:
    """Repositories by name: ``shop`` is ``repo_shop``, and so on."""

    def id_of(self, project: str, name: str) -> str | None:
        return f"repo_{name}" if project == PROJECT else None

    def names(self, project: str, ids: Sequence[str]) -> Sequence[str]:
        return [repo.removeprefix("repo_") for repo in ids] if project == PROJECT else []


def grants(*tools: str, repos: Sequence[str] = ("repo_shop",), effects: Sequence[Effect] = ("read",)) -> Grants:
    """Return grants in the one project of these tests."""
    return Grants(PROJECT, tuple(repos), frozenset(tools), frozenset(effects))


def context(given: Grants, *, run: str = RUN, stop: Stop | None = None) -> ToolContext:
    """Return the context of a call by the agent ``junior``."""
    return ToolContext(run, given, stop or Stop(), agent="junior")


@contextmanager
def serving_tools(
    path: Path, *tools: object, patience_s: float = 0.0, clock: Clock | None = None
) -> Iterator[LocalToolService]:
    """Give a service that has *tools*, with everything that it keeps in the database *path*."""
    time = clock or FakeClock()
    registry = ToolRegistry()
    for tool in tools:
        registry.register(tool)  # type: ignore[arg-type]  # tests register what is none
    approvals = Approvals(sqlite.connect(path, migrations=MIGRATIONS), clock=time)
    audit = ToolAudit(sqlite.connect(path), clock=time)
    yield LocalToolService(registry=registry, approvals=approvals, audit=audit, repositories=Names(), patience_s=patience_s)
    approvals.close()
    audit.close()


def call(
    service: LocalToolService,
    name: object = "search",
    arguments: object = None,
    *,
    given: Grants | None = None,
    calls: int = 60,
    where: ToolContext | None = None,
) -> ToolOutcome:
    """Make one call, in a run that has what it grants."""
    allowed = given or grants("search")
    if not service.get_remaining_budget(RUN):
        service.open_run(RUN, grants=allowed, calls=calls)
    return asyncio.run(service.execute_tool(name, arguments, context=where or context(allowed)))  # type: ignore[arg-type]


async def never(arguments: Mapping[str, Json]) -> object:
    """Never return, whatever the arguments."""
    del arguments
    return await asyncio.get_running_loop().create_future()


@dataclass
class ScriptedModel:
    """A chat model that says what *says* makes of the request, word by word; its tokens are words.

    Each of *failures* is raised before the first word of one request; after *breaks_after* words *broken* is raised.
    """

    says: Callable[[ChatRequest], str] = field(default=lambda _: "ok")
    context: int = 4_096
    model: str = "scripted"
    failures: list[ApplianceError] = field(default_factory=list)
    broken: ApplianceError | None = None
    breaks_after: int = 0
    requests: list[ChatRequest] = field(default_factory=list)
    open: int = 0
    speaking: asyncio.Event = field(default_factory=asyncio.Event)
    paused: bool = False  # after the first word, for ever

    async def tokens(self, text: str) -> int:
        return len(text.split())

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        self.requests.append(request)
        if self.failures:
            raise self.failures.pop(0)
        self.open += 1
        try:
            said = self.says(request).split(" ")
            for count, word in enumerate(said[: request.max_tokens]):
                if self.broken is not None and count == self.breaks_after:
                    raise self.broken
                yield ChatDelta(word if not count else f" {word}")
                self.speaking.set()
                if self.paused:
                    await asyncio.get_running_loop().create_future()
            finish: Literal["stop", "length"] = "length" if len(said) > request.max_tokens else "stop"
            yield ChatDelta("", (), finish, 10, len(said))
        finally:
            self.open -= 1


class OneModel:
    """The models of a machine that has *models*, all of them served."""

    def __init__(self, *models: ScriptedModel) -> None:
        self._models = {model.model: model for model in models}

    def installed(self) -> Sequence[InstalledModel]:
        return [InstalledModel(name, name, model.context, True) for name, model in self._models.items()]

    def open(self, name: str) -> ChatModel:
        if not self._models:
            raise EngineUnavailable("No chat model is set up.")
        return self._models[name] if name else next(iter(self._models.values()))

    async def health(self, name: str) -> EngineHealth:
        return EngineHealth("ready", "", name)
