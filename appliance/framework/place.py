"""One appliance as agents have it: its index, its model, its tools and what keeps runs, opened on a data directory."""

import sqlite3
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from appliance.base import sqlite
from appliance.base.clock import Clock, SystemClock
from appliance.base.metrics import Metrics
from appliance.base.paths import DataPaths, display
from appliance.base.sandbox import policy_of
from appliance.codeintel.answer import Answerer
from appliance.codeintel.needs import ChatModel
from appliance.codeintel.offers import Graphing, Searching
from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import AnswerEvent, Scope
from appliance.codeintel.store.generations import Generations
from appliance.config import Loaded, Settings
from appliance.contracts.agents import AgentDefinition
from appliance.contracts.tools import ToolSpec
from appliance.errors import EngineUnavailable, HostUnfit, InvalidInput, NotFound
from appliance.framework.plugin_context import Taken
from appliance.framework.plugins import PluginLoader, PluginSet
from appliance.framework.toolset import built_in
from appliance.framework.tried import Remembering
from appliance.framework.workflow_check import validate_workflow
from appliance.ids import ProjectId, RepoId
from appliance.inference.catalog import Catalog
from appliance.inference.pool import EnginePool
from appliance.inference.store import ModelStore
from appliance.orchestrator.coordinators import (
    MISSION_TEAMS,
    CoordinationStatePassedCoordinator,
    SafetyStatePassedCoordinator,
    SuitedRegistry,
    SystemPromptStatePassedCoordinator,
    TaskAnalyzer,
    by_words,
)
from appliance.orchestrator.missions.build import RepositoryNames
from appliance.orchestrator.runners.envelope import ANSWER
from appliance.orchestrator.runners.probe import probe
from appliance.orchestrator.runtime import Orchestrator, Parts, orchestrator
from appliance.orchestrator.services.chat import LocalChatService
from appliance.orchestrator.services.provider import EngineModels, Models, Probe
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.tools.catalogue import builtin_tools
from appliance.orchestrator.tools.citing import citing
from appliance.orchestrator.tools.workbench import Workbench
from appliance.tables import MIGRATIONS

DEFAULT_PROJECT: Final = "default"


@dataclass(frozen=True, slots=True)
class CodeIndex:
    """What tools read code from; satisfies `reach.CodeIndex`."""

    registry: Registry
    generations: Generations
    searcher: Searching
    graphs: Graphing


class Answering(Protocol):
    """What answers questions about code."""

    def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        """Stream the answer to *question*. Closing the generator stops the model."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """What agents work on: repositories of one project."""

    project: ProjectId
    repos: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """An open appliance. *owned* is what `close` closes; of one that others opened that is less."""

    settings: Settings
    paths: DataPaths
    clock: Clock
    connect: Callable[[], sqlite3.Connection]
    index: CodeIndex
    answerer: Answering
    engine: str  # the kind that the chat model runs on, "auto" where it is not in the catalogue
    services: Orchestrator
    plugins: PluginSet
    specs: Mapping[str, ToolSpec]
    bench: Workbench
    owned: tuple[Callable[[], None], ...]

    @property
    def chat(self) -> ChatModel | None:
        """The model that answers, None where none is set up."""
        with suppress(EngineUnavailable):
            return self.services.facade.provider_service.current()
        return None

    @property
    def agents(self) -> Mapping[str, AgentDefinition]:
        """The agents that are registered, by name."""
        return {agent.name: agent for agent in self.plugins.agents}

    def patient(self, seconds: float) -> Orchestrator:
        """Return the services, with tools that wait so many *seconds* for a person, and runs of their own."""
        tools = replace(self.services.tools, patience_s=seconds)
        facade = self.services.facade
        chat = LocalChatService(
            context_service=facade.context_service,
            tool_service=tools,
            session_service=facade.session_service,
            provider_service=facade.provider_service,
            recovery_service=facade.recovery_service,
            cites=citing(self.index),
        )
        facade = replace(facade, chat_service=chat, tool_service=tools)
        return Orchestrator(facade=facade, sessions=self.services.sessions, tools=tools)

    def workspace(self, named: Path | str | None, *, project: str = "") -> Workspace:
        """Return what *named* means: a repository by name, id or path, a project by name, or with None all of *project*.

        Raise `NotFound` for what is not here: nothing is added, and nothing outside is read; and `Conflict` for a name that
        repositories of several projects have.
        """
        registry = self.index.registry
        if named is None:
            return self._whole(registry.project(project or DEFAULT_PROJECT).id)
        found = _repos(registry, str(named), project=registry.project(project).id if project else None)
        if found:
            return Workspace(found[0].project, tuple(repo.id for repo in found))
        try:
            return self._whole(registry.project(str(named)).id)
        except NotFound:
            raise NotFound(
                f"There is no repository or project {display(str(named))!r} here.",
                remedy="`skellig repo add PATH` adds one; `skellig repo list` names those there are.",
            ) from None

    @contextmanager
    def scratch(self, workspace: Workspace) -> Iterator[Path]:
        """Hold a scratch worktree of the one repository of *workspace*, as indexed; raise `InvalidInput` for several."""
        if len(workspace.repos) != 1:
            raise InvalidInput("Tools that write need one repository.", remedy="Name it as `workspace`.")
        repo, generations = RepoId(workspace.repos[0]), self.index.generations
        with self.bench.worktrees.of(generations.source(repo), generations.info(repo).commit) as made:
            yield made.path

    def _whole(self, project: ProjectId) -> Workspace:
        return Workspace(project, tuple(repo.id for repo in self.index.registry.repos(project)))

    def close(self) -> None:
        """Close what was opened for it."""
        for close in self.owned:
            close()


@dataclass(frozen=True, slots=True)
class Opened:
    """What a place is made of that is open already; *connect* opens the global database.

    Plugins are loaded where they are not handed in.
    """

    settings: Settings
    index: CodeIndex
    answerer: Answering
    connect: Callable[[], sqlite3.Connection]
    clock: Clock
    models: Models
    metrics: Metrics | None = None
    plugins: PluginSet | None = None


def open_place(loaded: Loaded, *, models: Models | None = None) -> Place:
    """Return the appliance of *loaded* settings, with *models* in place of its engines' if they are given.

    It must be there: raise `HostUnfit` where no appliance was ever started in that data directory.
    """
    settings, clock = loaded.settings, SystemClock()
    paths = DataPaths(settings.data)
    if not paths.global_db.is_file():
        raise HostUnfit(
            f"There is no appliance in {display(str(paths.root))}.",
            remedy="`skellig up` makes one; SKELLIG_DATA or `config=` names another directory.",
            path=str(paths.root),
        )

    def connect() -> sqlite3.Connection:
        return sqlite.connect(paths.global_db, migrations=MIGRATIONS)

    registry = Registry(connect(), paths=paths, limits=settings.index, clock=clock)
    generations = Generations(registry, paths=paths, clock=clock)
    catalog = Catalog.load()
    pool = EnginePool(paths, catalog=catalog, settings=settings)
    searcher = Searcher(generations, pool.embedder(), clock)
    index = CodeIndex(registry, generations, searcher, GraphReader(generations, searcher, clock))
    store = ModelStore(paths.models, catalog=catalog, beside=settings.models_at)
    answerer = Answerer(generations, searcher, pool.chat(), clock)
    models = models or EngineModels(store, pool)
    place = assembled(Opened(settings, index, answerer, connect, clock, models))
    return replace(place, owned=(*place.owned, generations.close, registry.close))


def assembled(parts: Opened) -> Place:
    """Return a place over *parts*; its `close` leaves them open."""
    paths, registry = DataPaths(parts.settings.data), ToolRegistry()
    bench = Workbench(paths, clock=parts.clock, policy=policy_of(parts.settings.sandbox))
    plugins = load_plugins(parts.settings, paths) if parts.plugins is None else parts.plugins
    for tool in (*builtin_tools(parts.index, bench), *plugins.tools):
        registry.register(tool)
    for rule in plugins.rules:
        registry.add_rule(rule)
    engine = _engine(parts.settings, parts.models)
    services = _services(parts, registry, plugins, probe=Remembering(paths.root, engine, probe))
    return Place(
        settings=parts.settings,
        paths=paths,
        clock=parts.clock,
        connect=parts.connect,
        index=parts.index,
        answerer=parts.answerer,
        engine=engine,
        services=services,
        plugins=plugins,
        specs={spec.name: spec for spec in registry.specs},
        bench=bench,
        owned=(services.close, bench.close),
    )


def _services(parts: Opened, registry: ToolRegistry, plugins: PluginSet, *, probe: Probe) -> Orchestrator:
    """Return the services over *parts*, with the coordinators that need to know nothing of a run."""
    analyzer = TaskAnalyzer()
    workflows = [by_words(each.name, each.description, analyzer=analyzer) for each in plugins.workflows]
    suited = SuitedRegistry(teams=MISSION_TEAMS, workflows=workflows)
    return orchestrator(
        Parts(
            connect=parts.connect,
            clock=parts.clock,
            models=parts.models,
            probe=probe,
            tools=registry,
            repositories=RepositoryNames(parts.index.registry),
            metrics=parts.metrics,
            cites=citing(parts.index),
            system_prompt=SystemPromptStatePassedCoordinator(analyzer),
            safety=SafetyStatePassedCoordinator(plugins.rules),
            coordination=CoordinationStatePassedCoordinator(coordination_runtime=suited),
        )
    )


def load_plugins(settings: Settings, paths: DataPaths) -> PluginSet:
    """Return how every plugin is, with those loaded that *settings* enable."""
    loader = PluginLoader(
        validate=validate_workflow,
        aside=paths.scratch,
        taken=Taken(tools=frozenset({*built_in(), ANSWER})),
        folder=settings.plugins.folder,
    )
    return loader.load(settings.plugins.enabled)


def _engine(settings: Settings, models: Models) -> str:
    if settings.chat.engine != "auto":
        return settings.chat.engine
    with suppress(NotFound, EngineUnavailable):
        return Catalog.load().get(models.open("").model).engine
    return "auto"


def _repos(registry: Registry, named: str, *, project: ProjectId | None) -> list[Repo]:
    """Return the repository that *named* means, by name, id or path; raise `Conflict` for a name of several projects."""
    with suppress(NotFound):
        return [registry.repo(named, project=project)]
    path = Path(named).expanduser().absolute()
    at = [repo for repo in registry.repos(project) if isinstance(repo.source, Path) and repo.source == path]
    return at[:1]
