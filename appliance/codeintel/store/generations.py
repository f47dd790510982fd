"""The published generations, as the processes that search hold them: opened once, reopened after a flip."""

import threading
from collections import OrderedDict
from dataclasses import dataclass

from appliance.base.clock import Clock
from appliance.base.paths import DataPaths
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import Freshness
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.code import CodeStore, Published
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.matrix import VectorMatrix, matrix_folder
from appliance.errors import ApplianceError, NotFound, StoreCorrupt
from appliance.ids import CommitId, ProjectId, RepoId

_BEHIND_FOR_S = 2.0  # how long a count of unindexed commits is believed
_ATTEMPTS = 3  # a flip between asking and opening, twice in a row, is already unheard of


@dataclass(slots=True)
class _Held:
    published: Published
    generation: Generation


class Generations:
    """Hands out what is published, per repo. Safe to use from many threads.

    Whether a newer generation was published, also by another process, is asked with one indexed SELECT each time.
    """

    def __init__(self, registry: Registry, *, paths: DataPaths, clock: Clock) -> None:
        self._registry = registry
        self._paths = paths
        self._clock = clock
        self._lock = threading.Lock()
        self._stores: dict[ProjectId, CodeStore] = {}
        self._held: dict[RepoId, _Held] = {}
        self._sources: dict[RepoId, Source] = {}
        self._behind: OrderedDict[tuple[RepoId, str], tuple[float, int | None]] = OrderedDict()

    def repos(self, project: ProjectId) -> list[Repo]:
        """Return the repos of *project*, by name, indexed or not."""
        return self._registry.repos(project)

    def published(self, repo: RepoId) -> Generation:
        """Return the published generation of *repo*; raise `NotFound` when it has none yet.

        The same object comes back until something newer is published. A caller keeps one object for one whole answer.
        """
        known = self._registry.repo(repo)
        store = self._store(known.project)
        for _ in range(_ATTEMPTS):
            now = store.published(known.id)
            if now is None:
                raise NotFound(
                    f"The repository {known.name!r} is not indexed yet.",
                    remedy="Wait for its index job; `skellig repo list` says how far it is.",
                    repo=known.id,
                )
            try:
                return self._open(known, store, now)
            except StoreCorrupt:
                if store.published(known.id) == now:
                    raise
        raise StoreCorrupt(f"The index of {known.name!r} changes faster than it can be opened.")

    def source(self, repo: RepoId) -> Source:
        """Return the source of *repo*, opened once and shared; raise what `open_source` raises when it has vanished."""
        with self._lock:
            source = self._sources.get(repo)
        if source is not None:
            return source
        source = self._registry.open(self._registry.repo(repo))
        with self._lock:
            kept = self._sources.setdefault(repo, source)
        if kept is not source:
            source.close()
        return kept

    def freshness(self, repo: RepoId) -> Freshness:
        """Return which state of *repo* readers see now. ``behind`` is None when the repository cannot be asked."""
        known = self._registry.repo(repo)
        info = self.published(repo).info
        return Freshness(
            repo=known.id,
            repo_name=known.name,
            branch=info.branch,
            commit=info.commit,
            generation=info.id,
            behind=self._count_behind(repo, branch=info.branch, commit=info.commit),
            left_out=sum(info.left_out.values()),
            vectors=info.completeness,
        )

    def forget(self, repo: RepoId) -> None:
        """Let go of what is held for *repo*, once it was removed."""
        with self._lock:
            self._held.pop(repo, None)
            source = self._sources.pop(repo, None)
        if source is not None:
            source.close()

    def close(self) -> None:
        """Close databases and sources. Generations that were handed out stay readable."""
        with self._lock:
            stores, self._stores = list(self._stores.values()), {}
            sources, self._sources = list(self._sources.values()), {}
            self._held.clear()
        for store in stores:
            store.close()
        for source in sources:
            source.close()

    def _open(self, repo: Repo, store: CodeStore, now: Published) -> Generation:
        with self._lock:
            held = self._held.get(repo.id)
            if held is None or held.published != now:
                held = self._held[repo.id] = _Held(now, _reopened(store, now, held))
            return held.generation

    def _store(self, project: ProjectId) -> CodeStore:
        with self._lock:
            store = self._stores.get(project)
            if store is None:
                store = self._stores[project] = CodeStore(self._paths.project(project))
            return store

    def _count_behind(self, repo: RepoId, *, branch: str, commit: CommitId) -> int | None:
        now = self._clock.monotonic()
        with self._lock:
            at, behind = self._behind.get((repo, commit), (-_BEHIND_FOR_S, None))
        if now - at < _BEHIND_FOR_S:
            return behind
        try:
            behind = self.source(repo).behind(branch=branch, commit=commit)
        except (ApplianceError, OSError):  # it may be unmounted, or broken: the index answers all the same
            behind = None
        with self._lock:
            self._behind[repo, commit] = (now, behind)
            while len(self._behind) > 1000:
                self._behind.popitem(last=False)
        return behind


def _reopened(store: CodeStore, now: Published, held: _Held | None) -> Generation:
    folder = store.paths.generations / now.folder
    info = store.info(now.generation)
    if held is not None and held.published.generation == now.generation:
        generation = held.generation
    else:
        generation = Generation(folder, info)
    matrix = store.matrix(now.folder)
    vectors = None if matrix is None else VectorMatrix.open(matrix_folder(folder, matrix.serial), model=matrix.model)
    return generation.with_vectors(vectors, info=info)
