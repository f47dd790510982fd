"""An appliance reduced to what indexes: a registry, an indexer and a filler over one data directory."""

from pathlib import Path

from appliance.base.clock import SystemClock
from appliance.base.sqlite import connect
from appliance.codeintel.build.embedding import VectorFiller
from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.needs import Check, Embedder, Progress
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.address import address_of
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.graph import GraphInfo
from appliance.config import Index
from appliance.errors import Cancelled
from tests.support.generations import data_at
from tests.support.quick import QuickGraphs, QuickIndexer


def silent(phase: str, done: int, total: int | None) -> None:
    """Hear of progress and do nothing."""


def go_on() -> None:
    """Never ask to stop."""


class Recorder:
    """A progress callback that remembers, and a check that cancels once *cancel_at* was reported."""

    def __init__(self, cancel_at: str = "") -> None:
        self.phases: list[tuple[str, int, int | None]] = []
        self.cancel_at = cancel_at

    def progress(self, phase: str, done: int, total: int | None) -> None:
        self.phases.append((phase, done, total))

    def check(self) -> None:
        if self.cancel_at and any(phase == self.cancel_at for phase, _, _ in self.phases):
            raise Cancelled("The test has seen enough.")

    def parsed(self) -> int:
        """Return how many blobs were to be parsed."""
        return max((total or 0 for phase, _, total in self.phases if phase == "parse"), default=0)


class IndexBench:
    """Close it when done; made again over the same folder it is the next start of the appliance."""

    indexing = Indexer
    graphing = GraphBuilder

    def __init__(self, root: Path, *, limits: Index | None = None) -> None:
        self.paths = data_at(root)
        self.clock = SystemClock()
        self.limits = limits or Index(workers=1)
        self.registry = Registry(connect(self.paths.global_db), paths=self.paths, limits=self.limits, clock=self.clock)
        self.generations = Generations(self.registry, paths=self.paths, clock=self.clock)
        self.indexer = self.indexing(self.registry, paths=self.paths, limits=self.limits, clock=self.clock)
        self.pauses: list[float] = []
        self.filler = VectorFiller(self.registry, paths=self.paths, clock=self.clock, pause=self.pauses.append)

    def add(
        self,
        source: Path,
        *,
        name: str | None = None,
        branch: str | None = None,
        project: str = "default",
        settings: RepoSettings | None = None,
    ) -> Repo:
        """Add *source* to *project*, which is created if need be."""
        known = {p.name: p.id for p in self.registry.projects()}
        identity = known.get(project) or self.registry.add_project(project).id
        return self.registry.add_repo(identity, source, name=name, branch=branch, settings=settings)

    def add_remote(self, address: str, settings: RepoSettings) -> Repo:
        """Add the repository at *address* on another machine to the project ``default``."""
        known = {p.name: p.id for p in self.registry.projects()}
        identity = known.get("default") or self.registry.add_project("default").id
        return self.registry.add_repo(identity, address_of(address), settings=settings)

    def index(self, repo: Repo, *, progress: Progress = silent, check: Check = go_on) -> GenerationInfo:
        self.indexer.fetch(repo.id, progress=progress, check=check)
        return self.indexer.index(repo.id, progress=progress, check=check)

    def builder(self, limits: Index | None = None) -> GraphBuilder:
        """Return what makes graphs."""
        return self.graphing(self.registry, paths=self.paths, limits=limits or self.limits)

    def graph(self, repo: Repo) -> GraphInfo:
        """Give what is published of *repo* its graph."""
        return self.builder().build(repo.id, progress=silent, check=go_on)

    def fill(self, repo: Repo, embedder: Embedder, *, progress: Progress = silent, check: Check = go_on) -> int:
        return self.filler.fill(repo.id, embedder, progress=progress, check=check)

    def generation(self, repo: Repo, branch: str = "") -> Generation:
        return self.generations.published(repo.id, branch)

    def file_set(self, repo: Repo, branch: str = "") -> set[tuple[str, str]]:
        """Return path and blob of every file of the published generation of *branch*."""
        files = self.generation(repo, branch).files
        return {(path, files.blobs[number]) for path, number in files.by_path.items()}

    def folders(self, repo: Repo) -> set[str]:
        """Return what stands in the generations folder of *repo*'s project."""
        return {path.name for path in self.paths.project(repo.project).generations.iterdir()}

    def store(self, repo: Repo) -> CodeStore:
        """Return a connection of its own to the project's store; close it."""
        return CodeStore(self.paths.project(repo.project))

    def close(self) -> None:
        self.indexer.close()
        self.generations.close()
        self.registry.close()


class QuickBench(IndexBench):
    """A bench that starts no program for small repositories."""

    indexing = QuickIndexer
    graphing = QuickGraphs
