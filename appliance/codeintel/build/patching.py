"""From a published generation to the next one, by what changed alone: the way of an edit to what searches see."""

import shutil
import sqlite3
import weakref
from collections import OrderedDict
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from appliance.base.clock import Clock
from appliance.base.durable import storage_errors
from appliance.base.log import get
from appliance.codeintel.build.changes import Changes, Judge, compare, compare_beside, compare_languages
from appliance.codeintel.build.growing import states
from appliance.codeintel.build.laying import hold_to, lay, link
from appliance.codeintel.build.parsing import FactFinder, tried_under
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.build.staging import Staging
from appliance.codeintel.build.verbatim import keep_text
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.added import BUILT_IN, Languages
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.registry import Repo
from appliance.codeintel.source.base import Snapshot, Source
from appliance.codeintel.source.walk import beside
from appliance.codeintel.store.code import CodeStore, MatrixRow, Published
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.graph import GRAPH_NAME, GraphInfo
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder
from appliance.config import Index
from appliance.errors import LimitExceeded, MalformedContent, StoreCorrupt
from appliance.ids import GenerationId, RepoId, new_id

_MOST_SHARE: Final = 0.3  # of the files: to build all of it whole costs little more
_FEW: Final = 50  # files that are patched whatever their share
_WORN_SHARE: Final = 0.2  # of the chunks, that patches added or left dead
_WORN_OUT_SHARE: Final = 0.5
_FEW_CHUNKS: Final = 200  # that may be worn whatever their share
_WARM: Final = 3  # repositories of which processes and the last generation are kept
_PROCESSES: Final = 2  # of the parser, for one repository

K = TypeVar("K")
V = TypeVar("V")

_log = get("codeintel.patch")


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be indexed: *snapshot* of *source*, for those who read *branch* of *repo*."""

    store: CodeStore
    source: Source
    repo: Repo
    branch: str
    snapshot: Snapshot
    recipe: str
    judge: Judge


def is_worn(info: GenerationInfo) -> bool:
    """Return whether so much of a generation is patched that it should be built anew, as soon as there is time."""
    return info.worn > _FEW_CHUNKS + _WORN_SHARE * info.chunks


class Patcher:
    """Lays patches. What it needs again is kept: parser processes and the last generation of a few repositories."""

    def __init__(self, *, limits: Index, recipe: str, clock: Clock, languages: Languages = BUILT_IN) -> None:
        self._limits = limits
        self._languages = languages
        self._recipe = recipe
        self._trying = tried_under(limits, recipe=recipe)
        self._clock = clock
        self._pools: OrderedDict[RepoId, ParserPool] = OrderedDict()
        self._held: OrderedDict[tuple[RepoId, str], Generation] = OrderedDict()
        weakref.finalize(self, _end, self._pools)

    def patch(self, work: Work, *, progress: Progress, check: Check) -> GenerationInfo | None:
        """Publish what *work* says as a patch over what is published, and return what it holds.

        Return None where only the whole can be built: nothing is published, or it is of another make, damaged or worn out,
        or too much changed, or what changed cannot be told for sure.
        """
        try:
            return self._patch(work, progress=progress, check=check)
        except StoreCorrupt as exc:
            _log.warning("index.not_patched", repo=work.repo.id, reason=exc.message)
            return None

    def _patch(self, work: Work, *, progress: Progress, check: Check) -> GenerationInfo | None:
        over = self._over(work)
        if over is None:
            return None
        with closing(open_tables(over.folder)) as tables:
            changes = self._changes(work, over, tables)
            if changes is None or _worn_out(over, changes):
                return None
            if not changes:
                return self._adopted(work, over)
            return self._laid(work, over, tables, changes, progress=progress, check=check)

    def close(self) -> None:
        """End the processes, and let go of what is held."""
        _end(self._pools)
        self._held.clear()

    def _over(self, work: Work) -> Generation | None:
        """Return the generation to be patched: that of the branch, or else the repo's own."""
        store, repo = work.store, work.repo.id
        now = store.published(repo, work.branch) or store.published(repo)
        if now is None or _made(store.recipe(now.folder)) != _made(work.recipe):
            return None
        generation = self._opened(work, now)
        return None if "unsafe-path" in generation.info.left_out or generation.lacks_blobs() else generation

    def _opened(self, work: Work, now: Published) -> Generation:
        folder, info = work.store.paths.generations / now.folder, work.store.info(now.generation)
        held = self._held.get((info.repo, work.branch))
        if held is not None and held.folder == folder and held.is_intact():
            return held.with_vectors(None, info=info)
        return Generation(folder, info, like=held)

    def _changes(self, work: Work, over: Generation, tables: sqlite3.Connection) -> Changes | None:
        most = max(_FEW, int(len(over.files) * _MOST_SHARE))
        again = work.store.unsure(limits=self._trying)
        try:
            found = work.source.changes(over.info.tree, work.snapshot, most=most)
            changes = compare(found, over.files, tables, judge=work.judge, again=again)
        except (LimitExceeded, MalformedContent):
            return None
        if work.store.recipe(over.folder.name) != work.recipe:
            compare_beside(list(beside(work.source, work.snapshot)), tables, changes)
            compare_languages(over.files, changes, limits=self._limits, languages=self._languages)
        return changes

    def _adopted(self, work: Work, over: Generation) -> GenerationInfo | None:
        """Publish the very files of *over* for the new state: nothing that an index holds differs."""
        info = self._dated(work, over.info)
        done = work.store.publish(info, folder=over.folder.name, recipe=work.recipe, adopt=True, branch=work.branch)
        return work.store.info(info.id) if done else None

    def _laid(
        self,
        work: Work,
        over: Generation,
        tables: sqlite3.Connection,
        changes: Changes,
        *,
        progress: Progress,
        check: Check,
    ) -> GenerationInfo | None:
        store, folder = work.store, work.store.paths.generations / new_id("gen")
        matrix, graph = store.matrix(over.folder.name), store.graph(over.folder.name)  # before the files that they name
        try:
            with storage_errors(folder):
                folder.mkdir()
            try:
                link(over.folder, folder, also=() if matrix is None else (matrix_folder(folder, matrix.serial).name,))
            except OSError as exc:
                _log.warning("index.not_linked", repo=work.repo.id, reason=exc.strerror)
                return None
            self._find_facts(work, folder, changes, progress=progress, check=check)
            info = lay(folder, over, tables, changes, project_db=store.paths.db, recipe=self._recipe)
            hold_to(info, over.info, changes)
            keep_text(folder, work.source, progress=progress, check=check)
            (folder / STAGING_NAME).unlink()
            if not info.files:
                return None
            progress("publish", 0, None)
            check()
            return self._published(work, folder, self._dated(work, info), over=over, matrix=matrix, graph=graph)
        finally:
            if store.recipe(folder.name) == "":
                shutil.rmtree(folder, ignore_errors=True)

    def _find_facts(self, work: Work, folder: Path, changes: Changes, *, progress: Progress, check: Check) -> None:
        with closing(Staging(folder, project_db=work.store.paths.db)) as staging:
            staging.add(changes.listed)
            FactFinder(
                staging,
                work.store,
                source=work.source,
                limits=self._limits,
                recipe=self._recipe,
                clock=self._clock,
                parsers=lambda: nullcontext(self._pool(work.repo.id)),
            ).run(progress=progress, check=check)

    def _published(
        self,
        work: Work,
        folder: Path,
        info: GenerationInfo,
        *,
        over: Generation,
        matrix: MatrixRow | None,
        graph: GraphInfo | None,
    ) -> GenerationInfo:
        generation = Generation(folder, info, like=over)
        work.store.publish_patch(
            info,
            folder=folder.name,
            recipe=work.recipe,
            branch=work.branch,
            matrix=None if matrix is None else _counted(generation, matrix),
            graph=graph if (folder / GRAPH_NAME).is_file() else None,
        )
        _keep(self._held, (info.repo, work.branch), generation)
        _log.info("index.patched", repo=info.repo, generation=info.id, files=info.files, patches=info.patches)
        return work.store.info(info.id)

    def _pool(self, repo: RepoId) -> ParserPool:
        """Return the processes of *repo*, which read no other's files: what these do to them must not reach its facts."""
        most = min(_PROCESSES, self._limits.workers or _PROCESSES)
        pool = self._pools.pop(repo, None) or ParserPool(most, self._limits, languages=self._languages)
        for gone in _keep(self._pools, repo, pool):
            gone.close()
        return pool

    def _dated(self, work: Work, info: GenerationInfo) -> GenerationInfo:
        return msgspec.structs.replace(
            info,
            id=GenerationId(new_id("gen")),
            commit=work.snapshot.commit,
            branch=work.snapshot.branch,
            tree=work.snapshot.tree,
            created_at=self._clock.now(),
            added_languages=self._languages.fingerprint,
            vectors=0,
            vectors_skipped=0,
            vectors_failed=0,
        )


def _end(pools: "OrderedDict[RepoId, ParserPool]") -> None:
    while pools:
        pools.popitem()[1].close()


def _keep(kept: "OrderedDict[K, V]", key: K, value: V) -> list[V]:
    """Make *value* the youngest of *kept*, and return what it drives out."""
    kept[key] = value
    kept.move_to_end(key)
    return [kept.popitem(last=False)[1] for _ in range(len(kept) - _WARM)]


def _made(recipe: str) -> str:
    """Return how a generation was made: the last part of its recipe says what patches can change besides."""
    return recipe.rpartition("/")[0]


def _worn_out(over: Generation, changes: Changes) -> bool:
    bounds = over.files.first_chunk
    gone = sum(int(bounds[number + 1] - bounds[number]) for number in changes.files)
    return over.info.worn + gone > _FEW_CHUNKS + _WORN_OUT_SHARE * over.info.chunks


def _counted(generation: Generation, row: MatrixRow) -> MatrixRow | None:
    """Return what the vectors of *row*, made for a former generation, are for *generation*; None if it has them not."""
    try:
        state = states(generation, VectorMatrix.open(matrix_folder(generation.folder, row.serial), model=row.model))
    except StoreCorrupt:  # they are stored elsewhere too, and are filled in again
        return None
    embedded, skipped, failed = (
        int((state == each).sum()) for each in (VectorState.PRESENT, VectorState.SKIPPED, VectorState.FAILED)
    )
    return MatrixRow(serial=row.serial, model=row.model, embedded=embedded, skipped=skipped, failed=failed)
