"""Missions put together: a desk for every process, and a runner for the one that works on them."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appliance.base.clock import Clock
from appliance.codeintel.needs import ChatModel
from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Registry
from appliance.codeintel.store.generations import Generations
from appliance.contracts.safety import SafetyRule
from appliance.contracts.tools import Tool
from appliance.errors import NotFound
from appliance.ids import ProjectId
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.coordinators.tasks import TaskAnalyzer
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.hands import Equipment, Trial, WorkingHands
from appliance.orchestrator.missions.instruments import Index, instruments
from appliance.orchestrator.missions.model import Mission, MissionLimits
from appliance.orchestrator.missions.runner import Runner
from appliance.orchestrator.missions.working import MissionCode
from appliance.orchestrator.runners.probe import probe_reading
from appliance.orchestrator.services.audit import ToolAudit
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.tool import LocalToolService
from appliance.orchestrator.tools.catalogue import builtin_tools

Connect = Callable[[], sqlite3.Connection]


@dataclass(frozen=True, slots=True)
class Parts:
    """What missions are made of: the index, the model that may be None, and *digest*, which tells that of a model by name.

    *connect* opens the global database, once for each that writes there. *trial* finds out what a model can do, before it
    takes part in its first mission. *pauses* are the seconds before an engine that could not be asked is asked again.
    """

    connect: Connect
    registry: Registry
    generations: Generations
    searcher: Searcher
    chat: ChatModel | None
    digest: Callable[[str], str]
    clock: Clock
    trial: Trial = probe_reading
    pauses: Sequence[float] = (2.0, 5.0, 15.0)

    @property
    def graphs(self) -> GraphReader:
        """What knows definitions, and what uses what."""
        return GraphReader(self.generations, self.searcher, self.clock)


def desk_of(
    connect: Connect,
    *,
    registry: Registry,
    chat: ChatModel | None,
    clock: Clock,
    ceilings: MissionLimits | None = None,
    keep_days: float | None = None,
) -> Desk:
    """Return the desk of missions. It works on none, loads no engine, and replays what stands on record."""
    return Desk(
        connect(),
        known=registry,
        model=lambda: "" if chat is None else chat.model,
        procedure=MissionCode(),
        clock=clock,
        ceilings=ceilings,
        keep_days=keep_days,
    )


def runner_of(parts: Parts, *, tools: Sequence[Tool] = (), rules: Sequence[SafetyRule] = ()) -> Runner:
    """Return what works on missions: by instruments of its own, what agents have, and *tools*; *rules* judge each call.

    Whatever these tools can do, a mission is granted what reads, in the repositories that its record names.
    """
    known = ToolRegistry()
    for tool in (
        *instruments(Index(parts.generations, parts.searcher, TaskAnalyzer(), parts.clock)),
        *builtin_tools(parts),
        *tools,
    ):
        known.register(tool)
    for rule in rules:
        known.add_rule(rule)
    approvals, audit = Approvals(parts.connect(), clock=parts.clock), ToolAudit(parts.connect(), clock=parts.clock)
    equipment = Equipment(
        service=LocalToolService(
            registry=known,
            approvals=approvals,
            audit=audit,
            repositories=RepositoryNames(parts.registry),
            patience_s=0,
        ),
        approvals=approvals,
        tools=frozenset(spec.name for spec in known.specs if spec.effect == "read"),
        chat=parts.chat,
        trial=parts.trial,
        digest=parts.digest,
        repos=lambda mission: _repos(mission, parts.registry),
        pauses=parts.pauses,
    )

    def hands(mission: Mission) -> WorkingHands:
        return WorkingHands(mission, equipment)

    return Runner(parts.connect(), procedure=MissionCode(hands), clock=parts.clock, owned=(approvals, audit))


@dataclass(frozen=True, slots=True)
class RepositoryNames:
    """Satisfies `Repositories`, by the registry."""

    registry: Registry

    def id_of(self, project: str, name: str) -> str | None:
        """Return the id of the repository that *name*, a name or an id, means in *project*; None where there is none."""
        try:
            return self.registry.repo(name, project=ProjectId(project)).id
        except NotFound:
            return None

    def names(self, project: str, ids: Sequence[str]) -> Sequence[str]:
        """Return the names of those repositories of *project* whose ids are given."""
        return [repo.name for repo in self.registry.repos(ProjectId(project)) if repo.id in ids]


def _repos(mission: Mission, registry: Registry) -> tuple[str, ...]:
    """Return the repositories of *mission*: those that its record names, as far as they are still there."""
    wanted = mission.scope.repos
    found = (repo for repo in registry.repos(mission.scope.project) if repo.name in mission.repo_names)
    return tuple(sorted(repo.id for repo in found if not wanted or repo.id in wanted))
