"""An appliance's index without its doors: real registry, indexer, vectors and searcher on one data directory."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.base.clock import SystemClock
from appliance.base.paths import DataPaths
from appliance.base.sqlite import connect
from appliance.codeintel.build.embedding import VectorFiller
from appliance.codeintel.needs import Embedder
from appliance.codeintel.query.gather import Patience
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.schema import MIGRATIONS
from appliance.codeintel.store.generation import GenerationInfo
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.graph import GraphInfo
from appliance.config import Index
from appliance.errors import EngineUnavailable
from appliance.ids import ProjectId
from tests.support.quick import QuickGraphs, QuickIndexer


class Indexed:
    """One project. Close it when done."""

    def __init__(self, root: Path, *, limits: Index | None = None, migrations: Sequence[str] = MIGRATIONS) -> None:
        self.paths = DataPaths(root)
        self.clock = SystemClock()
        self.limits = limits or Index(workers=1)
        self.registry = Registry(
            connect(self.paths.global_db, migrations=migrations), paths=self.paths, limits=self.limits, clock=self.clock
        )
        self.generations = Generations(self.registry, paths=self.paths, clock=self.clock)
        self._indexer = QuickIndexer(self.registry, paths=self.paths, limits=self.limits, clock=self.clock)
        known = {project.name: project for project in self.registry.projects()}
        self.project: ProjectId = (known.get("default") or self.registry.add_project("default")).id

    @property
    def scope(self) -> Scope:
        """All of the project."""
        return Scope(self.project)

    def add(self, source: Path, *, name: str | None = None, embedder: Embedder | None = None) -> Repo:
        """Add the repository or folder at *source*, index it, and with *embedder* give its chunks their vectors.

        A repo called *name* that is there already is indexed again.
        """
        known = {repo.name: repo for repo in self.registry.repos(self.project)}
        repo = known.get(name or "") or self.registry.add_repo(self.project, source, name=name)
        self.index(repo)
        if embedder is not None:
            self.embed(repo, embedder)
        return repo

    def index(self, repo: Repo) -> GenerationInfo:
        """Index the newest state of *repo*."""
        return self._indexer.index(repo.id, progress=_silent, check=_go_on)

    def graph(self, repo: Repo) -> GraphInfo:
        """Give *repo*'s generation its graph."""
        builder = QuickGraphs(self.registry, paths=self.paths, limits=self.limits)
        return builder.build(repo.id, progress=_silent, check=_go_on)

    def embed(self, repo: Repo, embedder: Embedder) -> int:
        """Fill the vectors of *repo*'s generation; not from within an event loop."""
        filler = VectorFiller(self.registry, paths=self.paths, clock=self.clock)
        return filler.fill(repo.id, embedder, progress=_silent, check=_go_on)

    def searcher(self, embedder: Embedder | None = None, *, patience: Patience | None = None) -> Searcher:
        """Return a searcher; it has more patience than the product's, for busy machines."""
        return Searcher(self.generations, embedder, self.clock, patience=patience or Patience(vector=10.0, behind=10.0))

    def close(self) -> None:
        """Close databases and sources."""
        self._indexer.close()
        self.generations.close()
        self.registry.close()


class WordEmbedder:
    """Texts that share words get near vectors. Deterministic, and needs no model."""

    model = "words"
    dimensions = 32

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector a text."""
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            vectors[number, 0] = 1e-6  # a text without words has a direction too
            for word in re.findall(r"[a-z]{3,}", text.lower()):
                digest = hashlib.blake2b(word.encode(), digest_size=self.dimensions).digest()
                vectors[number] += np.frombuffer(digest, np.int8)
        unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


class DeadEmbedder(WordEmbedder):
    """An engine that is not there."""

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Refuse."""
        raise EngineUnavailable("No engine listens.", texts=len(texts))


def _silent(phase: str, done: int, total: int | None) -> None:
    del phase, done, total


def _go_on() -> None:
    return
