"""The published generations, as the processes that search hold them: opened once, reopened after a flip."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

import msgspec

from appliance.base.clock import Clock
from appliance.base.paths import DataPaths, display
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import Freshness
from appliance.codeintel.source.address import Address
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.code import CodeStore, Published
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.graph import CallGraph
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.matrix import VectorMatrix, matrix_folder
from appliance.codeintel.store.text import Unpacked
from appliance.errors import ApplianceError, NotFound, StoreCorrupt
from appliance.ids import CommitId, GenerationId, ProjectId, RepoId

_BEHIND_FOR_S = 2.0  # how long a count of unindexed commits is believed
_DIRTY_FOR_S = 10.0  # how long it is believed whether a work tree is dirty: to ask takes a look at each of its files
_BEHIND_WITHIN_S = 3.0  # how long `Generations.freshness` waits for one
_COUNTERS = 4  # threads that ask repositories; they may hang on a disk that does not answer, so nothing else uses them
_MOST_ASKED = 100  # counts that wait for one repository
_ATTEMPTS = 3  # a flip between asking and opening, twice in a row, is already unheard of

T = TypeVar("T")


@dataclass(slots=True)
class _Held:
    published: Published
    generation: Generation


@dataclass(frozen=True, slots=True)
class _Opened:
    """A source, and what it was opened for: with another location, or a newer generation, it may be of another kind."""

    source: Source
    location: Address
    generation: GenerationId | None


class _Question(NamedTuple):
    """How many commits *branch* has that *commit* lacks; without *commit* whether the work tree that has it is dirty."""

    branch: str
    commit: CommitId | None


@dataclass(frozen=True, slots=True)
class Lag:
    """What an answer of a branch cannot see, as it is being asked. Read both with `counted`."""

    behind: "Future[int | None]"
    dirty: "Future[int | None]"


@dataclass(slots=True)
class _Counting:
    """The counts that are asked of one repository, the oldest first. ``busy``: a thread is at them."""

    asked: "dict[_Question, Future[int | None]]" = field(default_factory=dict)
    busy: bool = False


class Generations:
    """Hands out what is published, per repo. Safe to use from many threads.

    Whether a newer generation was published, also by another process, is asked with one indexed SELECT each time.
    """

    def __init__(self, registry: Registry, *, paths: DataPaths, clock: Clock) -> None:
        self._registry = registry
        self._paths = paths
        self._clock = clock
        self._lock = threading.Lock()
        self._unpacked = Unpacked()
        self._stores: dict[ProjectId, CodeStore] = {}
        self._held: dict[tuple[RepoId, str], _Held] = {}  # by branch
        self._sources: dict[RepoId, _Opened] = {}
        self._lags: OrderedDict[tuple[RepoId, _Question], tuple[float, int | None]] = OrderedDict()
        self._counting: dict[RepoId, _Counting] = {}
        self._counters = ThreadPoolExecutor(_COUNTERS, thread_name_prefix="behind")

    def repos(self, project: ProjectId) -> list[Repo]:
        """Return the repos of *project*, by name, indexed or not."""
        return self._registry.repos(project)

    def published(self, repo: RepoId | Repo, branch: str = "") -> Generation:
        """Return the published generation of *branch* of *repo* ("": its own); raise `NotFound` when there is none yet.

        The same object comes back until something newer is published. A caller keeps one object for one whole answer.
        """
        return self._now(repo, branch, self._open)

    def info(self, repo: RepoId, branch: str = "") -> GenerationInfo:
        """Return what the generation holds that `published` returns; raise as it does.

        That is not opened, which takes long, and much memory, where it has many files: of damage only what a glance tells is
        found.
        """
        return self._now(repo, branch, _read)

    def _now(self, repo: RepoId | Repo, branch: str, use: "Callable[[Repo, CodeStore, Published, str], T]") -> T:
        known = self._known(repo)
        store = self._store(known.project)
        for _ in range(_ATTEMPTS):
            now = store.published(known.id, branch)
            if now is None:
                raise _not_indexed(known, branch)
            try:
                return use(known, store, now, branch)
            except StoreCorrupt as exc:
                if store.published(known.id, branch) == now:
                    raise StoreCorrupt(exc.message, remedy="Index the repository again.", repo=known.id) from exc
        raise StoreCorrupt(f"The index of {known.name!r} changes faster than it can be opened.")

    def branches(self, repo: RepoId) -> list[str]:
        """Return what `published` takes as a branch of *repo*: "", its own, first; none when nothing was ever published."""
        known = self._registry.repo(repo)
        return list(self._store(known.project).branches(known.id))

    def fitting(self, repo: RepoId, patterns: Sequence[str]) -> list[str]:
        """Return the branches of *repo* of whose names one fits a pattern; without *patterns* its own.

        Its own branch goes by the name that it had when it was indexed, and by ``HEAD``.
        """
        if not patterns:
            return [""]
        own, *others = self.named(repo)
        named = [("HEAD", ""), (own, ""), *((branch, branch) for branch in others)]
        return list(dict.fromkeys(branch for name, branch in named if _fits(name, patterns)))

    def named(self, repo: RepoId) -> list[str]:
        """Return the names of the branches of *repo* that are published, its own first, which is "HEAD" if it has none."""
        others = [branch for branch in self.branches(repo) if branch]
        try:
            own = self.info(repo).branch
        except (NotFound, StoreCorrupt):
            own = ""
        return [own or "HEAD", *others]

    def source(self, repo: RepoId | Repo) -> Source:
        """Return the source of *repo*, shared; raise what `open_source` raises when it has vanished.

        It is opened again after a flip: a folder may have become a git repository since. Whoever holds the former one can
        still use it.
        """
        known = self._known(repo)
        now = self._store(known.project).published(known.id)
        generation = None if now is None else now.generation
        with self._lock:
            opened = self._sources.get(known.id)
        if opened is not None and (opened.location, opened.generation) == (known.source, generation):
            return opened.source
        source = self._registry.open(known)
        with self._lock:
            self._sources[known.id] = _Opened(source, known.source, generation)
        return source

    def freshness(self, repo: RepoId, branch: str = "", *, believe: float = _BEHIND_FOR_S) -> Freshness:
        """Return which state of *branch* of *repo* readers see now. ``behind`` is None when it cannot be asked.

        What was counted up to *believe* seconds ago is not counted again. Whether it is dirty is not asked: whoever lists
        many repositories would wait for a look at all of their files.
        """
        known = self._registry.repo(repo)
        info = self.info(repo, branch)
        behind = self._ask(known.id, _Question(info.branch, info.commit), believe=believe)
        return Freshness(
            repo=known.id,
            repo_name=known.name,
            branch=info.branch,
            commit=info.commit,
            generation=info.id,
            behind=counted(behind, within=_BEHIND_WITHIN_S),
            dirty=None,
            left_out=sum(info.left_out.values()),
            vectors=info.completeness,
        )

    def lag(self, repo: RepoId, *, branch: str, commit: CommitId) -> Lag:
        """Begin to ask how many commits *branch* has that *commit* lacks, and whether its work tree is dirty.

        What is known or being asked is not asked again. However many ask, one thread at a time is with one repository: it
        may never answer.
        """
        behind = self._ask(repo, _Question(branch, commit), believe=_BEHIND_FOR_S)
        return Lag(behind, self._ask(repo, _Question(branch, None), believe=_DIRTY_FOR_S))

    def _ask(self, repo: RepoId, question: _Question, *, believe: float) -> "Future[int | None]":
        now = self._clock.monotonic()
        with self._lock:
            at, known = self._lags.get((repo, question), (float("-inf"), None))
            if now - at < believe:
                return _known(known)
            counting = self._counting.setdefault(repo, _Counting())
            asked = counting.asked.get(question)
            if asked is None and len(counting.asked) >= _MOST_ASKED:
                return _known(None)
            if asked is None:
                asked = counting.asked[question] = Future()
            if not counting.busy:
                counting.busy = True
                self._counters.submit(self._count_all, repo, counting)
            return asked

    def forget(self, repo: RepoId) -> None:
        """Let go of what is held for *repo*, once it was removed."""
        with self._lock:
            for key in [key for key in self._held if key[0] == repo]:
                del self._held[key]
            opened = self._sources.pop(repo, None)
        if opened is not None:
            opened.source.close()

    def close(self) -> None:
        """Close databases and sources. Generations that were handed out stay readable."""
        self._counters.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for asked in [each for counting in self._counting.values() for each in counting.asked.values()]:
                asked.cancel()
            stores, self._stores = list(self._stores.values()), {}
            sources, self._sources = [opened.source for opened in self._sources.values()], {}
            self._held.clear()
        for store in stores:
            store.close()
        for source in sources:
            source.close()

    def _known(self, repo: RepoId | Repo) -> Repo:
        """Return what is known of *repo*: who has it from the registry already, for one answer, need not ask again."""
        return repo if isinstance(repo, Repo) else self._registry.repo(repo)

    def _open(self, repo: Repo, store: CodeStore, now: Published, branch: str) -> Generation:
        with self._lock:
            held = self._held.get((repo.id, branch))
            if held is None or held.published != now:
                held = self._held[repo.id, branch] = _Held(now, _reopened(store, now, held, self._unpacked))
            return held.generation

    def _store(self, project: ProjectId) -> CodeStore:
        with self._lock:
            store = self._stores.get(project)
            if store is None:
                store = self._stores[project] = CodeStore(self._paths.project(project))
            return store

    def _count_all(self, repo: RepoId, counting: "_Counting") -> None:
        while True:
            with self._lock:
                if not counting.asked:
                    counting.busy = False
                    return
                question, asked = next(iter(counting.asked.items()))
            wanted = asked.set_running_or_notify_cancel()
            found = self._answer(repo, question) if wanted else None
            with self._lock:
                del counting.asked[question]
            if wanted:
                asked.set_result(found)

    def _answer(self, repo: RepoId, question: _Question) -> int | None:
        branch, commit = question
        try:
            source = self.source(repo)
            found = source.dirty(branch=branch) if commit is None else source.behind(branch=branch, commit=commit)
        except (ApplianceError, OSError):  # it may be unmounted, or broken: the index answers all the same
            found = None
        with self._lock:
            self._lags[repo, question] = (self._clock.monotonic(), found)
            while len(self._lags) > 1000:
                self._lags.popitem(last=False)
        return found


def _not_indexed(repo: Repo, branch: str) -> NotFound:
    if branch:
        return NotFound(
            f"The branch {display(branch)!r} of {repo.name!r} is not indexed.",
            remedy="`skellig repo show` names those that are.",
            repo=repo.id,
        )
    return NotFound(
        f"The repository {repo.name!r} is not indexed yet.",
        remedy="Wait for its index job; `skellig repo list` says how far it is.",
        repo=repo.id,
    )


def _fits(branch: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(branch, pattern) for pattern in patterns)


def _known(behind: int | None) -> "Future[int | None]":
    known: Future[int | None] = Future()
    known.set_result(behind)
    return known


def counted(counting: "Future[int | None]", *, within: float) -> int | None:
    """Return what *counting*, of a `Lag`, finds within so many seconds, else None: the repository is slow."""
    try:
        return counting.result(within)
    except (TimeoutError, CancelledError, ApplianceError, OSError):
        return None


def _read(_repo: Repo, store: CodeStore, now: Published, _branch: str) -> GenerationInfo:
    open_tables(store.paths.generations / now.folder).close()
    return store.info(now.generation)


def _reopened(store: CodeStore, now: Published, held: _Held | None, unpacked: Unpacked) -> Generation:
    folder = store.paths.generations / now.folder
    info = store.info(now.generation)
    if held is not None and held.published.generation == now.generation:
        generation = held.generation
    else:
        generation = Generation(folder, info, like=None if held is None else held.generation, unpacked=unpacked)
    matrix = store.matrix(now.folder)
    vectors = None if matrix is None else VectorMatrix.open(matrix_folder(folder, matrix.serial), model=matrix.model)
    return generation.with_vectors(vectors, info=info).with_graph(_graph(store, generation))


def _graph(store: CodeStore, generation: Generation) -> CallGraph | None:
    """Return the graph of what is published, None while there is none that can be read: the worker makes it again."""
    info = store.graph(generation.folder.name)
    if info is None:
        return None
    try:
        info = msgspec.structs.replace(info, changed=generation.changed_since(info.patch))
        return CallGraph.open(generation.folder, info, generation.gone)
    except StoreCorrupt:
        return None
