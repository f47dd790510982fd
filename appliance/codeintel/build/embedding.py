"""Fills the vectors of a published generation in behind it, small batch by small batch."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np

from appliance.base.clock import Clock
from appliance.base.log import get
from appliance.base.paths import DataPaths
from appliance.codeintel.build.growing import GrowingMatrix
from appliance.codeintel.build.patience import PatientEmbedder
from appliance.codeintel.build.texts import ChunkText, chunk_texts
from appliance.codeintel.build.tidying import tidy_vectors
from appliance.codeintel.needs import Check, Embedder, Progress
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.code import CodeStore, Published
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder, quantise
from appliance.codeintel.store.vectors import VectorStore
from appliance.errors import NotFound, StoreCorrupt
from appliance.ids import ProjectId, RepoId

_BATCH = 16  # texts: somebody who waits for an answer waits for one batch at most
_PUBLISH_CHUNKS = 2_000
_PUBLISH_S = 60.0

_log = get("codeintel.embed")


@dataclass(frozen=True, slots=True)
class _Work:
    """What one fill works with."""

    repo: Repo
    branch: str
    store: CodeStore
    source: Source
    engine: PatientEmbedder
    progress: Progress
    check: Check

    def published(self) -> Published:
        published = self.store.published(self.repo.id, self.branch)
        if published is None:
            raise NotFound(
                f"The repository {self.repo.name!r} is not indexed yet.", remedy="Index it first.", repo=self.repo.id
            )
        return published


class VectorFiller:
    """Embeds what has no vector yet. One `fill` at a time in an appliance."""

    def __init__(
        self, registry: Registry, *, paths: DataPaths, clock: Clock, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._registry = registry
        self._paths = paths
        self._clock = clock
        self._pause = pause

    def fill(self, repo: RepoId, embedder: Embedder, *, progress: Progress, check: Check) -> int:
        """Give every chunk of *repo*'s published generations its vector, and return how many texts were embedded now.

        Vectors of blobs that were embedded before, in any generation or repo of the project, are used again. A text that
        the engine refuses is tried alone, then counted as failed and left for the next call. When the engine answers
        nothing at all `EngineUnavailable` is raised; what was embedded until then is kept and published. A generation that
        is published meanwhile is filled instead.
        """
        known = self._registry.repo(repo)
        with (
            closing(CodeStore(self._paths.project(known.project))) as store,
            closing(self._registry.open(known)) as source,
            closing(PatientEmbedder(embedder, pause=self._pause, check=check)) as engine,
        ):
            vectors = VectorStore(store, model=embedder.model, dimensions=embedder.dimensions)
            embedded = 0
            for branch in store.branches(known.id) or [""]:
                embedded += self._fill(_Work(known, branch, store, source, engine, progress, check), vectors, embedder)
            vectors.compact()
        return embedded

    def tidy(self, project: ProjectId) -> None:
        """Remove the vectors that no generation of *project* uses; not while a `fill` is under way."""
        with closing(CodeStore(self._paths.project(project))) as store:
            tidy_vectors(store)

    def _fill(self, work: _Work, vectors: VectorStore, embedder: Embedder) -> int:
        embedded, filled, store = 0, "", work.store
        while (published := work.published()).folder != filled:
            filled = published.folder
            generation = Generation(store.paths.generations / filled, store.info(published.generation))
            model, dimensions = embedder.model, embedder.dimensions
            former = _former(store, generation, model=model, dimensions=dimensions)
            matrix = GrowingMatrix(generation, vectors, store, model=model, dimensions=dimensions, former=former)
            matrix.reuse()
            matrix.save()
            embedded += self._grow(matrix, generation, work)
            failed = matrix.count(VectorState.FAILED)
            _log.info("embed.filled", repo=work.repo.id, generation=published.generation, embedded=embedded, failed=failed)
        return embedded

    def _grow(self, matrix: GrowingMatrix, generation: Generation, work: _Work) -> int:
        """Embed what is pending, until nothing is or the generation is not the published one any more."""
        texts = chunk_texts(generation, work.source, matrix.pending())
        embedded, saved = 0, self._clock.monotonic()
        try:
            while batch := list(islice(texts, _BATCH)):
                work.check()
                embedded += _embed(matrix, batch, work.engine)
                work.progress("embed", matrix.count(VectorState.PRESENT), matrix.wanted)
                if matrix.unstored >= _PUBLISH_CHUNKS or self._clock.monotonic() - saved >= _PUBLISH_S:
                    matrix.save()
                    saved = self._clock.monotonic()
                    if work.published().folder != generation.folder.name:
                        return embedded
        finally:
            matrix.save()
        return embedded


def _former(store: CodeStore, generation: Generation, *, model: str, dimensions: int) -> VectorMatrix | None:
    """Return the vectors that *generation* has by now, None if it has none that can be used."""
    row = store.matrix(generation.folder.name)
    if row is None or row.model != model:
        return None
    try:
        matrix = VectorMatrix.open(matrix_folder(generation.folder, row.serial), model=model)
    except StoreCorrupt:  # they are stored elsewhere too
        return None
    fits = matrix.rows.shape[1] == dimensions and len(matrix.state) <= len(generation.chunk_file)
    return matrix if fits else None


def _embed(matrix: GrowingMatrix, batch: list[ChunkText], engine: PatientEmbedder) -> int:
    readable = [item for item in batch if item.text]
    for item in batch:
        if not item.text:
            matrix.fail(item.chunk)
    if not readable:
        return 0
    vectors = engine.embed([item.text for item in readable])
    good = [bool(np.isfinite(vector).all()) for vector in vectors]
    rows, scales = quantise(np.nan_to_num(vectors, posinf=0, neginf=0))
    for index, item in enumerate(readable):
        if good[index]:
            matrix.put(item.chunk, rows[index], float(scales[index]))
        else:
            matrix.fail(item.chunk)
    return sum(good)
