"""What the worker process does: the jobs of each kind, and looking after what is missing.

With the first vectors this brings LanceDB and pyarrow (150 MB): the web process keeps away from it.
"""

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from typing import Final

from appliance.base import log
from appliance.base.budget import Deadline
from appliance.codeintel.build.embedding import VectorFiller
from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.build.renewal import Renewal
from appliance.codeintel.parse.languages import PARSER_VERSION
from appliance.codeintel.registry import Repo
from appliance.codeintel.source.secrets import policy_of
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import GRAPH_RECIPE
from appliance.errors import ApplianceError, Cancelled, Conflict, EngineUnavailable, NotFound, StoreBusy, StoreCorrupt
from appliance.ids import MissionId, ProjectId, RepoId
from appliance.inference.engines.base import Role
from appliance.intake import Intake
from appliance.jobs.queue import Job
from appliance.jobs.worker import Handler, JobContext, Worker
from appliance.missioning import JOB as MISSION
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.worktree import Worktrees
from appliance.reconciling import declared, reconcile
from appliance.services import Services
from appliance.sightings import Sightings
from appliance.timetable import Timetable
from appliance.watching import Watcher

WORKER: Final = "worker"

_log = log.get("worker")

_FETCHES: Final = 4  # at once: a machine that does not answer holds up three others, and nothing that is here
_LOOK_S: Final = 300.0  # between two looks for what is missing
_GOODBYE_S: Final = 20.0
_ENGINE_WAIT_S: Final = 600.0
_ENGINE_POLL_S: Final = 1.0
_KNOWN: Final[AbstractSet[str]] = frozenset({"ready", "off"})
_ENGINES: Final[Mapping[Role, str]] = {"chat": "the chat model", "embed": "the embedder"}
_MISSIONS_S: Final = 10.0  # between two looks for missions that nobody works on


def job_handlers(
    services: Services,
    sightings: Sightings,
    *,
    indexing: type[Indexer] = Indexer,
    graphing: type[GraphBuilder] = GraphBuilder,
) -> Mapping[str, Handler]:
    """Return what works on each kind of job; an index of a watched folder looks at what is in *sightings* alone."""
    limits = services.settings.index
    indexer = indexing(
        services.registry, paths=services.paths, limits=limits, clock=services.clock, languages=services.languages
    )
    graphs = graphing(services.registry, paths=services.paths, limits=limits)
    renewal = Renewal(services.registry, paths=services.paths, limits=limits, clock=services.clock)
    filler = VectorFiller(services.registry, paths=services.paths, clock=services.clock)

    def index(context: JobContext) -> None:
        repo = RepoId(context.job.payload["repo"])
        with _patiently(), sightings.handed(repo) as hint:
            indexer.index(repo, progress=context.progress, check=context.check, hint=hint)
        _follow(services, repo)
        if renewal.is_due(repo):
            services.jobs.enqueue("renew", key=repo, payload={"repo": repo})
        _tidy_again(services, services.registry.repo(repo).project)

    def graph(context: JobContext) -> None:
        graphs.build(RepoId(context.job.payload["repo"]), progress=context.progress, check=context.check)

    return {
        "fetch": _fetching(indexer),
        "index": index,
        "graph": graph,
        "embed": _embedding(services, filler),
        **_renewing(services, renewal),
        **_tidying(services, indexer, filler),
        MISSION: _missions(services),
    }


def _embedding(services: Services, filler: VectorFiller) -> Handler:
    def embed(context: JobContext) -> None:
        embedder = services.embedder
        if embedder is None:
            return
        _await_engine(services, context)
        filler.fill(RepoId(context.job.payload["repo"]), embedder, progress=context.progress, check=context.check)

    return embed


@contextmanager
def _patiently() -> Iterator[None]:
    """Let what somebody else is at be tried again later: a worker that was cut off has not quite gone."""
    try:
        yield
    except Conflict as exc:
        raise StoreBusy(exc.message, remedy=exc.remedy) from exc


def _fetching(indexer: Indexer) -> Handler:
    """Return what brings here what lies elsewhere; the same job goes on as its index."""

    def fetch(context: JobContext) -> None:
        with _patiently():
            indexer.fetch(RepoId(context.job.payload["repo"]), progress=context.progress, check=context.check)
        context.then = "index"

    return fetch


def _renewing(services: Services, renewal: Renewal) -> Mapping[str, Handler]:
    """Return what builds worn generations anew: aside, beside whatever else is done, then into their place."""

    def renew(context: JobContext) -> None:
        repo = RepoId(context.job.payload["repo"])
        if renewal.build(repo, progress=context.progress, check=context.check):
            services.jobs.enqueue("adopt", key=repo, payload={"repo": repo})

    def adopt(context: JobContext) -> None:
        repo = RepoId(context.job.payload["repo"])
        with _patiently():
            renewal.adopt(repo)
        _follow(services, repo)

    return {"renew": renew, "adopt": adopt}


def _tidying(services: Services, indexer: Indexer, filler: VectorFiller) -> Mapping[str, Handler]:
    """Return what takes away what removed repositories left."""

    def tidy(context: JobContext) -> None:
        with _patiently():
            indexer.tidy(ProjectId(context.job.key))
        services.jobs.enqueue("tidy-vectors", key=context.job.key)

    def tidy_vectors(context: JobContext) -> None:
        filler.tidy(ProjectId(context.job.key))

    return {"tidy": tidy, "tidy-vectors": tidy_vectors}


def _missions(services: Services) -> Handler:
    """Return what works on a mission until it ends, pauses or waits for a person; another job then takes it up again."""
    missions = services.missions

    def mission(context: JobContext) -> None:
        which = MissionId(context.job.key)
        if services.chat is not None:
            with suppress(EngineUnavailable):  # the mission says itself what it cannot do without
                _await_engine(services, context, role="chat", known=_KNOWN | {"failed"})
        try:
            with _patiently():
                stands = asyncio.run(missions.runner.run(which, stopping=_Minded(context, missions.desk)))
            context.progress("steps", stands.entries, stands.entries)
        except Cancelled:
            if services.jobs.look(context.lease) == "cancel":
                with suppress(Conflict):  # it was the mission that was stopped, and it has ended
                    missions.desk.cancel(which, by="Somebody, by its job,")
            raise

    return mission


class _Minded:
    """Whether a mission goes on; its job says how far it is whenever that is asked. Once it is to stop, that stays so."""

    def __init__(self, context: JobContext, desk: Desk) -> None:
        self._context = context
        self._desk = desk
        self._stopped: Cancelled | None = None

    def check(self) -> None:
        """Raise `Cancelled` once the job is to stop."""
        try:
            if self._stopped is None:
                self._context.check()
                self._context.progress("steps", self._desk.get(MissionId(self._context.job.key)).entries, None)
        except Cancelled as exc:
            self._stopped = exc
        except StoreBusy as exc:  # the next look is soon
            _log.warning("mission.look_failed", mission=self._context.job.key, reason=exc.message)
        if self._stopped is not None:
            raise self._stopped


def _take_up(services: Services, stop: threading.Event) -> None:
    """Have missions worked on that nobody works on, and old ones forgotten, until *stop* is set."""
    while True:
        try:
            services.missions.take_up()
            services.missions.desk.tidy()
        except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next look may go better
            _log.exception("worker.look_failed")
        if stop.wait(_MISSIONS_S):
            return


def _follow(services: Services, repo: RepoId) -> None:
    """Ask for what comes behind an index of *repo*."""
    services.jobs.enqueue("graph", key=repo, payload={"repo": repo})
    if services.embedder is not None:
        services.jobs.enqueue("embed", key=repo, payload={"repo": repo})


def _tidy_again(services: Services, project: ProjectId) -> None:
    """Ask for what could not be tidied at its last time: an index that could not be read may be a former one now."""
    last = [job for kind in ("tidy", "tidy-vectors") for job in services.jobs.list(kind=kind, key=project, limit=1)]
    if any(job.state == "failed" for job in last):
        services.jobs.enqueue("tidy", key=project)


def worker_of(
    services: Services,
    sightings: Sightings,
    *,
    indexing: type[Indexer] = Indexer,
    graphing: type[GraphBuilder] = GraphBuilder,
) -> Worker:
    """Return what works on the jobs of *services*. What would get into each other's way is done one after the other."""
    many = (*[("fetch",)] * _FETCHES, *[(MISSION,)] * services.settings.chat.slots)
    lanes = (("index", "adopt", "tidy"), ("renew",), ("graph",), ("embed", "tidy-vectors"), *many)
    handlers = job_handlers(services, sightings, indexing=indexing, graphing=graphing)
    return Worker(services.jobs, handlers, name=WORKER, clock=services.clock, lanes=lanes)


def work(services: Services, stop: threading.Event) -> None:
    """Work on jobs until *stop* is set, and ask for what is missing, at once and every few minutes."""
    Worktrees(services.paths).sweep()
    reconcile(services, "declared", declared(services))
    sightings = Sightings(services.clock)
    keepers = [
        threading.Thread(target=_keep, args=(services, stop), name="keeper", daemon=True),
        threading.Thread(target=_take_up, args=(services, stop), name="missions", daemon=True),
        threading.Thread(target=Timetable(services).keep, args=(stop,), name="timetable", daemon=True),
        threading.Thread(target=Watcher(services, sightings).keep, args=(stop,), name="watcher", daemon=True),
    ]
    if services.settings.repos_from is not None:
        intake = Intake(services, services.settings.repos_from)
        keepers.append(threading.Thread(target=intake.keep, args=(stop,), name="intake", daemon=True))
    for keeper in keepers:
        keeper.start()
    try:
        worker_of(services, sightings).run(stop)
    finally:
        stop.set()
        for keeper in keepers:
            keeper.join(_GOODBYE_S)


def mend(services: Services, *, again: bool = True) -> None:
    """Ask for an index where one is damaged, of an older version or due, and for graphs and vectors that are missing.

    What is under way is not asked for. Without *again* only what was not tried in vain already: not the index of a repo
    that failed before it is due, nor a graph that failed, nor vectors while no engine could make them, nor those that it
    refused. A damaged index is noted in the registry.
    """
    for repo in services.registry.repos():
        due = _is_due(repo, now=services.clock.now()) and _may(services.last_index(repo.id), again=True)
        if due or _was_never_asked_for(services, repo):
            services.index(repo.id)
        try:
            for branch in services.generations.branches(repo.id):
                _mend_behind(services, services.generations.published(repo.id, branch), again=again)
        except NotFound:
            continue
        except StoreCorrupt as exc:
            _log.error("index.damaged", repo=repo.id, reason=exc.message)
            if not repo.error:
                services.registry.attempted(repo.id, exc)
            if _may(services.last_index(repo.id), again=again):
                services.index(repo.id)
        except ApplianceError as exc:
            _log.error("index.unreadable", repo=repo.id, reason=exc.message)
        finally:
            services.generations.forget(repo.id)  # a worker has no use for what searches keep open


def _mend_behind(services: Services, generation: Generation, *, again: bool) -> None:
    """Ask for what *generation* lacks."""
    info, repo = generation.info, generation.info.repo
    policy = policy_of(masked=services.settings.index.mask_secrets)
    if (info.parser_version, info.added_languages, info.policy) != (PARSER_VERSION, services.languages.fingerprint, policy):
        if _may(services.last_index(repo), again=again):
            services.index(repo)  # more is found now, or secrets are dealt with otherwise; the rest comes after it
            services.jobs.enqueue("tidy", key=services.registry.repo(repo).project)
        return
    made = None if generation.graph is None else generation.graph.info
    stale = made is None or made.recipe != GRAPH_RECIPE or made.changed > 0
    if stale and _may(_last(services, "graph", repo), again=again):
        services.jobs.enqueue("graph", key=repo, payload={"repo": repo})
    missing = info.chunks - info.vectors - info.vectors_skipped - (0 if again else info.vectors_failed)
    if missing > 0 and _may(_last(services, "embed", repo), again=True) and _can_embed(services, again=again):
        services.jobs.enqueue("embed", key=repo, payload={"repo": repo})


def _was_never_asked_for(services: Services, repo: Repo) -> bool:
    """Return whether who added *repo* was cut off before its first index; one that somebody stopped stays stopped."""
    return repo.last_attempt is None and services.last_index(repo.id) is None


def _is_due(repo: Repo, *, now: float) -> bool:
    if repo.last_attempt is None or repo.next_attempt is None:
        return False
    return now >= repo.next_attempt or now < repo.last_attempt  # then the clock was set back


def _last(services: Services, kind: str, repo: RepoId) -> Job | None:
    return next(iter(services.jobs.list(kind=kind, key=repo, limit=1)), None)


def _may(last: Job | None, *, again: bool) -> bool:
    """Return whether what the *last* job was for may be asked for now."""
    return last is None or (last.ended and (again or last.state != "failed"))


def _can_embed(services: Services, *, again: bool) -> bool:
    if services.embedder is None:
        return False
    return again or asyncio.run(services.engines.health("embed")).state == "ready"


def _keep(services: Services, stop: threading.Event) -> None:
    """Look for what is missing until *stop* is set. To open every index takes long where they are large: nobody waits."""
    first = True
    while first or not stop.wait(_LOOK_S):
        try:
            mend(services, again=first)
        except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next look may go better
            _log.exception("worker.look_failed")
        first = False


def _await_engine(
    services: Services, context: JobContext, *, role: Role = "embed", known: AbstractSet[str] = _KNOWN
) -> None:
    """Wait until how the engine is, is *known*: when an appliance starts its model may still load, or be on its way here."""
    what = _ENGINES[role]
    deadline = Deadline(_ENGINE_WAIT_S, what=f"Waiting for {what}")
    while True:
        health = asyncio.run(services.engines.health(role))
        if health.state in known:
            return
        context.check()
        context.progress(f"wait for {what}", 0, None)
        if not deadline.left:
            said = f"{what.capitalize()} is {health.state}: {health.detail}"
            raise EngineUnavailable(said, remedy="`skellig status` shows it.")
        time.sleep(_ENGINE_POLL_S)
