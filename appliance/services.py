"""The composition root: from settings to everything that the doors and the worker use, wired once."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from appliance.access.desk import Access
from appliance.base import durable, sqlite
from appliance.base.clock import Clock, SystemClock
from appliance.base.metrics import Metrics
from appliance.base.paths import DataPaths
from appliance.codeintel import prose
from appliance.codeintel.answer import Answerer
from appliance.codeintel.needs import ChatModel, Embedder
from appliance.codeintel.offers import Graphing, Searching
from appliance.codeintel.parse.added import Languages
from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Registry
from appliance.codeintel.results import (
    Answer,
    AnswerEvent,
    Scope,
    SearchResponse,
)
from appliance.codeintel.source.opening import is_fetched
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.wanted import WantedList
from appliance.config import Loaded, Settings
from appliance.config import Missions as MissionSettings
from appliance.errors import ApplianceError, Conflict, EngineUnavailable, NotFound
from appliance.framework.desk import AgentDesk
from appliance.framework.place import CodeIndex, Opened, assembled, load_plugins
from appliance.framework.plugins import PluginSet, PluginStatus
from appliance.framework.tried import Remembering
from appliance.ids import RepoId
from appliance.inference.catalog import Catalog
from appliance.inference.engines.base import EngineHealth, Role
from appliance.inference.pool import EnginePool
from appliance.inference.store import ModelStore
from appliance.inference.turns import Turns
from appliance.jobs.queue import Job, JobQueue
from appliance.jobs.worker import HEARTBEAT_S
from appliance.missioning import Missions
from appliance.ops.health import Health, Probe, State, Verdict
from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import Supervised, Supervisor
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.missions.build import Parts, desk_of, runner_of
from appliance.orchestrator.missions.model import MissionLimits
from appliance.orchestrator.runners.probe import probe
from appliance.orchestrator.services.provider import EngineModels
from appliance.tables import MIGRATIONS

CLI_KEY: Final = "cli.key"
DEFAULT_PROJECT: Final = "default"

_SILENCE_S: Final = 4 * HEARTBEAT_S
_ENGINE_LOOK_S: Final = 1.0
_ENGINE_STATES: Final[Mapping[str, State]] = {
    "ready": "ok", "loading": "starting", "down": "degraded", "failed": "degraded", "off": "off"
}  # fmt: skip


class Answering(Protocol):
    """What answers questions."""

    def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        """Stream the answer to *question*. Closing the generator stops the model."""


class Engines(Protocol):
    """What says how the engines are."""

    async def health(self, role: Role) -> EngineHealth:
        """Return how the engine for *role* is."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a door needs, ready for use."""

    settings: Settings
    origins: Mapping[str, str]
    paths: DataPaths
    clock: Clock
    metrics: Metrics
    registry: Registry
    wanted: WantedList
    jobs: JobQueue
    generations: Generations
    searcher: Searching
    graphs: Graphing
    answerer: Answering
    embedder: Embedder | None  # of the jobs: it gives way to searches
    engines: Engines
    chat: ChatModel | None
    turns: Turns  # at the chat model
    missions: Missions
    plugins: tuple[PluginStatus, ...]
    languages: Languages
    agents: AgentDesk
    access: Access
    health: Health

    async def search(self, query: str, *, scope: Scope, limit: int, offset: int) -> SearchResponse:
        """Return the hits for *query* from *offset* on, at most *limit*; counted, whichever door it came by."""
        started = self.clock.monotonic()
        try:
            response = await self.searcher.search(query, scope=scope, limit=limit, offset=offset)
        except ApplianceError as exc:
            self.metrics.searches.labels(exc.code).inc()
            raise
        self.metrics.searches.labels("ok").inc()
        self.metrics.search_seconds.observe(self.clock.monotonic() - started)
        return response

    async def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        """Stream the answer to *question*; counted, whichever door it came by. Closing the generator stops the model."""
        started = self.clock.monotonic()
        async with aclosing(self.answerer.ask(question, scope=scope, prose=prose)) as events:
            async for event in events:
                if event.type == "evidence":
                    self.metrics.evidence_seconds.observe(self.clock.monotonic() - started)
                    event = _with_wait(event, self.turns.ahead)  # noqa: PLW2901 - the same step, with what waits before it
                elif event.type == "done" and event.answer is not None:
                    self.metrics.asks.labels(event.answer.kind).inc()
                yield event

    async def answer(self, question: str, *, scope: Scope, prose: bool = True) -> Answer:
        """Return the whole answer to *question*; raise what `ask` raises, or `EngineUnavailable` if it broke off."""
        async with aclosing(self.ask(question, scope=scope, prose=prose)) as events:
            async for event in events:
                if event.type == "done" and event.answer is not None:
                    return event.answer
        raise EngineUnavailable("The answer broke off before its end.", remedy="Ask again.")

    async def warm(self) -> None:
        """Have the chat model read what stands before every question once its engine is ready, however long that takes."""
        if self.chat is None:
            return
        while (await self.engines.health("chat")).state != "ready":  # noqa: ASYNC110 - another process, which tells nobody
            await asyncio.sleep(_ENGINE_LOOK_S)
        with suppress(ApplianceError):  # then the first question does
            await prose.warm(self.chat)

    def index(self, repo: RepoId) -> Job:
        """Ask for *repo* to be indexed and return the job that will do it, and fetch it first if it is elsewhere."""
        kind = "fetch" if is_fetched(self.registry.repo(repo).source) else "index"
        return self.jobs.enqueue(kind, key=repo, payload={"repo": repo})

    def last_index(self, repo: RepoId) -> Job | None:
        """Return the newest job that was to index *repo*, None if there is none."""
        newest = [job for kind in ("fetch", "index") for job in self.jobs.list(kind=kind, key=repo, limit=1)]
        return max(newest, key=lambda job: (job.created_at, not job.ended), default=None)

    def drop(self, repo: RepoId) -> None:
        """Forget *repo*, stop the jobs that work on it and ask for what it leaves on the disk; raise `NotFound`."""
        project = self.registry.repo(repo).project
        self.registry.remove_repo(repo)
        for job in self.jobs.list(key=repo):
            if not job.ended:
                with suppress(Conflict):  # it has ended just now
                    self.jobs.cancel(job.id)
        self.generations.forget(repo)
        self.jobs.enqueue("tidy", key=project)

    def close(self) -> None:
        """Close databases and sources."""
        self.generations.close()
        self.registry.close()
        self.wanted.close()
        self.jobs.close()
        self.missions.close()
        self.agents.let_go()
        self.access.close()


def _with_wait(event: AnswerEvent, ahead: int) -> AnswerEvent:
    """Return the evidence, with a note that the model's reading of it must wait where it must."""
    answer = event.answer
    if not ahead or answer is None or answer.gate is None or not answer.gate.passed:
        return event
    note = f"Waiting for the model: {ahead} {'question is' if ahead == 1 else 'questions are'} ahead."
    return replace(event, answer=replace(answer, warnings=(*answer.warnings, note)))


def build(loaded: Loaded) -> Services:
    """Return the services for *loaded* settings, with the data directory ready; raise `HostUnfit` if it cannot be used."""
    # Nothing is built here that only the worker needs: the web process stays small.
    settings, paths, clock = loaded.settings, _made_ready(loaded.settings), SystemClock()
    connect = partial(sqlite.connect, paths.global_db, migrations=MIGRATIONS)
    registry = _with_project(Registry(connect(), paths=paths, limits=settings.index, clock=clock))
    jobs, generations = JobQueue(connect(), clock=clock), Generations(registry, paths=paths, clock=clock)
    catalog, metrics, plugins = Catalog.load(), Metrics(), load_plugins(settings, paths)
    engines = EnginePool(paths, catalog=catalog, settings=settings)
    searcher, chat = Searcher(generations, engines.embedder(), clock), engines.chat()
    graphs, answerer = GraphReader(generations, searcher, clock), Answerer(generations, searcher, chat, clock)
    store, index = _store(settings, paths, catalog), CodeIndex(registry, generations, searcher, graphs)
    opened = Opened(settings, index, answerer, connect, clock, EngineModels(store, engines), metrics, plugins)
    trial = Remembering(paths.root, settings.chat.engine, probe)
    parts = Parts(connect, registry, generations, searcher, chat, partial(_digest, catalog), clock, trial)
    return Services(
        settings=settings,
        origins=loaded.origins,
        paths=paths,
        clock=clock,
        metrics=metrics,
        registry=registry,
        wanted=WantedList(connect()),
        jobs=jobs,
        generations=generations,
        searcher=searcher,
        graphs=graphs,
        answerer=answerer,
        embedder=engines.embedder(priority="background"),
        engines=engines,
        chat=chat,
        turns=engines.turns,
        missions=missions_of(parts, jobs=jobs, bounds=settings.missions, plugins=plugins),
        plugins=plugins.statuses,
        languages=Languages.of(plugins.languages),
        agents=AgentDesk(lambda: assembled(opened)),
        access=Access(connect, clock=clock, token_file=settings.web.token_file),
        health=Health(probes(jobs=jobs, registry=registry, engines=engines, paths=paths, plugins=plugins.statuses)),
    )


def _made_ready(settings: Settings) -> DataPaths:
    """Return where everything lies, its first folders made."""
    paths = DataPaths(settings.data)
    for folder in (paths.root, paths.run):
        durable.make_directory(folder)
    return paths


def _store(settings: Settings, paths: DataPaths, catalog: Catalog) -> ModelStore:
    return ModelStore(paths.models, catalog=catalog, beside=settings.models_at)


def _with_project(registry: Registry) -> Registry:
    """Return *registry*, which has the project that is meant unsaid."""
    with suppress(Conflict):  # it exists
        registry.add_project(DEFAULT_PROJECT)
    return registry


def missions_of(
    parts: Parts, *, jobs: JobQueue, bounds: MissionSettings | None = None, plugins: PluginSet | None = None
) -> Missions:
    """Return the missions of an appliance with these *parts*, within *bounds*; what *plugins* added is theirs too."""
    added, most = plugins or PluginSet(), bounds or MissionSettings()
    ceilings = MissionLimits(
        seconds=most.max_seconds,
        tokens=most.max_tokens,
        tool_calls=most.max_tool_calls,
        model_calls=most.max_model_calls,
    )
    return Missions(
        desk_of(
            parts.connect,
            registry=parts.registry,
            chat=parts.chat,
            clock=parts.clock,
            ceilings=ceilings,
            keep_days=most.keep_days,
        ),
        approvals=Approvals(parts.connect(), clock=parts.clock),
        jobs=jobs,
        make_runner=lambda: runner_of(parts, tools=added.tools, rules=added.rules),
    )


def _digest(catalog: Catalog, model: str) -> str:
    """Return the digests of the files of *model*, "" for one that the catalogue does not know."""
    try:
        return " ".join(file.sha256 for file in catalog.get(model).file)
    except NotFound:
        return ""


def probes(
    *, jobs: JobQueue, registry: Registry, engines: Engines, paths: DataPaths, plugins: tuple[PluginStatus, ...] = ()
) -> tuple[Probe, ...]:
    """Return what is asked for the appliance's health; the supervisor of *paths* knows why a program is not well."""
    supervisor = Supervisor(RunFiles(paths))
    clock = SystemClock()
    worker = WorkerProbe(jobs, clock=clock, since=clock.monotonic())
    programs = (worker, EngineProbe(engines, role="chat"), EngineProbe(engines, role="embed"))
    others = (PluginProbe(plugins),) if any(plugin.state != "off" for plugin in plugins) else ()
    return (StoreProbe(registry), *(Supervised(program, supervisor=supervisor) for program in programs), *others)


@dataclass(frozen=True, slots=True)
class StoreProbe:
    """Whether the global database answers."""

    registry: Registry
    name: str = "store"
    vital: bool = True

    async def check(self) -> Verdict:
        """Return how the database is now."""
        await asyncio.to_thread(self.registry.projects)
        return Verdict("ok")


@dataclass(frozen=True, slots=True)
class WorkerProbe:
    """Whether a worker lives. *since* is when this process began: what an earlier run left behind says nothing yet."""

    jobs: JobQueue
    clock: Clock
    since: float
    name: str = "worker"
    vital: bool = False

    async def check(self) -> Verdict:
        """Return whether a worker was seen lately."""
        seconds = await asyncio.to_thread(self.jobs.absent_for)
        if seconds is None:
            return Verdict("starting", "No worker has reported yet.", "`skellig up` starts it.")
        if seconds > _SILENCE_S and self.clock.monotonic() - self.since <= _SILENCE_S:
            return Verdict("starting", "No worker has reported since the start.")
        if seconds > _SILENCE_S:
            return Verdict("failed", f"No worker was seen for {seconds:.0f} s: jobs wait.", "`skellig up` starts it again.")
        return Verdict("ok")


@dataclass(frozen=True, slots=True)
class PluginProbe:
    """Whether every plugin that is enabled was loaded."""

    plugins: tuple[PluginStatus, ...]
    name: str = "plugins"
    vital: bool = False

    async def check(self) -> Verdict:
        """Return which plugins failed, and why."""
        failed = [status for status in self.plugins if status.state == "failed"]
        if not failed:
            return Verdict("ok", ", ".join(status.name for status in self.plugins if status.state == "loaded"))
        said = " ".join(f"{status.name}: {status.reason}" for status in failed)
        return Verdict("degraded", said, next((status.remedy for status in failed if status.remedy), ""))


@dataclass(frozen=True, slots=True)
class EngineProbe:
    """Whether the engine for a role can be asked."""

    engines: Engines
    role: Role
    vital: bool = False

    @property
    def name(self) -> str:
        """The engine's name, as its program has it."""
        return f"engine-{self.role}"

    async def check(self) -> Verdict:
        """Return how the engine is now."""
        health = await self.engines.health(self.role)
        return Verdict(_ENGINE_STATES[health.state], " ".join(part for part in (health.model, health.detail) if part))
