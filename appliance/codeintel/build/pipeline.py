"""From a repository to a published generation."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from appliance.base.clock import Clock
from appliance.base.durable import exclusive, storage_errors
from appliance.base.log import get
from appliance.base.paths import DataPaths, display
from appliance.codeintel.build import programs, running
from appliance.codeintel.build.changes import listed
from appliance.codeintel.build.counts import Counts
from appliance.codeintel.build.parsing import FactFinder, facts_recipe, tried_under
from appliance.codeintel.build.patching import Patcher, Work
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.build.staging import Listed, Staging
from appliance.codeintel.build.tidying import tidy_facts, tidy_mirrors, tidy_renewed
from appliance.codeintel.build.verbatim import write_texts
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.added import BUILT_IN, Languages
from appliance.codeintel.parse.languages import PARSER_VERSION
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.source.base import Changed, LeftOut, Snapshot, Source
from appliance.codeintel.source.filters import flags, hint_of
from appliance.codeintel.source.kept import KeptSources
from appliance.codeintel.source.rules import Rules, rules_of, selected
from appliance.codeintel.source.secrets import policy_of
from appliance.codeintel.source.walk import survey
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.matrix import VectorMatrix, matrix_folder
from appliance.config import Index
from appliance.errors import (
    ApplianceError,
    CallerError,
    Cancelled,
    ContentError,
    DeadlineExceeded,
    InvalidInput,
    LimitExceeded,
    MalformedContent,
    StorageFault,
    StoreCorrupt,
)
from appliance.ids import GenerationId, ProjectId, RepoId, new_id

_FORMAT = 10  # of a generation's files: raise it when they change, and every repo is finished anew from cached facts

MOST_BRANCHES = 50  # of one repository, beside its own

_WRITER = "appliance.codeintel.build.writer"
_TELL_EVERY = 1000  # files listed

_log = get("codeintel.index")


@dataclass(frozen=True, slots=True)
class _Place:
    """What a generation is published as: the *branch* of a repo, "" for its own."""

    repo: Repo
    branch: str


class Indexer:
    """Builds generations. One index of a project at a time: a second one raises `Conflict`."""

    def __init__(
        self, registry: Registry, *, paths: DataPaths, limits: Index, clock: Clock, languages: Languages = BUILT_IN
    ) -> None:
        self._registry = registry
        self._paths = paths
        self._limits = limits
        self._clock = clock
        self._languages = languages
        self._policy = policy_of(masked=limits.mask_secrets)
        self._facts_recipe = facts_recipe(limits)
        wanted = hashlib.sha256(limits.include_large.encode()).hexdigest()[:8] if limits.include_large else ""
        sizes = f"{limits.max_file_bytes}{wanted}" + (f"-{limits.max_large_bytes}" if wanted else "")
        self._recipe = f"{_FORMAT}/{self._facts_recipe}/{sizes}"
        self._trying = tried_under(limits, recipe=self._facts_recipe)
        self._patcher = Patcher(limits=limits, recipe=self._facts_recipe, clock=clock, languages=languages)
        self._sources = KeptSources()

    def close(self) -> None:
        """End the processes that are kept for the next index."""
        self._patcher.close()
        self._sources.close()

    def index(self, repo: RepoId, *, progress: Progress, check: Check, hint: Changed | None = None) -> GenerationInfo:
        """Publish a generation of the newest state of *repo*'s own branch and return what it holds; then of those tracked.

        *hint*, what somebody saw change, may make it faster, never different.

        Its generation of an unchanged tree is used again, and nothing is parsed. On any error, and when *check* raises,
        nothing is left behind but cached facts, and readers keep the former generation. How the attempt went is noted in
        the registry, also what kept a tracked branch from being indexed. A tree without one file to index raises
        `MalformedContent`: no empty generation is ever published.
        """
        known = self._registry.repo(repo)
        with self._noting(known.id):
            info, fault = self._attempt(known, hint=hint, progress=progress, check=check)
        self._registry.attempted(known.id, fault)
        return info

    def fetch(self, repo: RepoId, *, progress: Progress, check: Check) -> None:
        """Bring what is kept of *repo* to where it is now, if it is elsewhere: `index` reads no other machine.

        Nothing else waits for the other side meanwhile: several repos may be fetched at once, and others indexed. Raise what
        `Fetcher.fetch` raises, noted in the registry.
        """
        with self._noting(repo):
            self._registry.fetch(self._registry.repo(repo), progress=progress, check=check)

    def tidy(self, project: ProjectId) -> None:
        """Remove what removed repos and dead attempts left on the disk, but for vectors: `VectorFiller.tidy` has those.

        Raise `Conflict` while the project is indexed.
        """
        paths = self._paths.project(project)
        with closing(CodeStore(paths)) as store, exclusive(paths.root / "index.lock", what="this project's index"):
            self._sweep(store)
            tidy_mirrors(paths.mirrors, self._registry, project)
            tidy_renewed(paths.renewed, self._registry, project)
            tidy_facts(store, self._registry, project)

    @contextmanager
    def _noting(self, repo: RepoId) -> Iterator[None]:
        """Note in the registry what the block fails of, unless it was called off."""
        try:
            yield
        except Cancelled:
            raise
        except ApplianceError as exc:
            self._registry.attempted(repo, exc)
            raise

    def _attempt(
        self, repo: Repo, *, hint: Changed | None, progress: Progress, check: Check
    ) -> tuple[GenerationInfo, ApplianceError | None]:
        paths = self._paths.project(repo.project)
        with closing(CodeStore(paths)) as store, exclusive(paths.root / "index.lock", what="this project's index"):
            self._sweep(store)
            if store.forget_other_policies(self._policy):
                store.shrink()
            with self._sources.using(repo.id, self._registry.read_at(repo), partial(self._registry.open, repo)) as source:
                check()
                progress("list", 0, None)
                snapshot = source.snapshot(repo.branch, hint=hint)
                info = self._branch(store, source, _Place(repo, ""), snapshot, progress=progress, check=check)
                fault = self._others(store, source, repo, info.branch, progress=progress, check=check)
            self._sweep(store)
        return info, fault

    def _branch(
        self, store: CodeStore, source: Source, place: _Place, snapshot: Snapshot, *, progress: Progress, check: Check
    ) -> GenerationInfo:
        """Publish a generation of *snapshot* in its *place*."""
        recipe = self._recipe + selected(place.repo.settings) + self._beside(source.left_out(snapshot))
        info = self._reused(store, place, snapshot, recipe)
        if info is not None:
            return info
        rules = rules_of(source, snapshot, place.repo.settings)
        judging = partial(listed, limits=self._limits, rules=rules, languages=self._languages)
        work = Work(store, source, place.repo, place.branch, snapshot, recipe, judging)
        info = self._patcher.patch(work, progress=progress, check=check)
        return info or self._built(store, source, place, snapshot, recipe=recipe, progress=progress, check=check)

    def _others(
        self, store: CodeStore, source: Source, repo: Repo, own: str, *, progress: Progress, check: Check
    ) -> ApplianceError | None:
        """Publish a generation of each branch that is tracked beside the repo's *own*; those that are no more go.

        One that fails keeps what it had, and the others go on. Return what the first one failed of.
        """
        try:
            wanted = [branch for branch in source.fitting(repo.settings.branches) if branch != own]
        except (InvalidInput, ContentError, DeadlineExceeded) as exc:
            return exc
        branches, faults = wanted[:MOST_BRANCHES], list[ApplianceError]()
        for branch in branches:
            try:
                snapshot = source.snapshot(branch)
                self._branch(store, source, _Place(repo, branch), snapshot, progress=progress, check=check)
            except (CallerError, ContentError, DeadlineExceeded) as exc:
                faults.append(type(exc)(f"{display(branch)}: {exc.message}", remedy=exc.remedy, branch=display(branch)))
        store.keep_branches(repo.id, branches)
        if branches != wanted:
            said = f"{len(wanted)} branches fit; the {MOST_BRANCHES} with the newest commits are indexed."
            faults.append(LimitExceeded(said, remedy="Narrow the patterns: `skellig repo set --track`."))
        return next(iter(faults), None)

    def _sweep(self, store: CodeStore) -> None:
        store.retire(live={repo.id for repo in self._registry.repos()}, policy=self._policy)
        store.sweep()

    def _reused(self, store: CodeStore, place: _Place, snapshot: Snapshot, recipe: str) -> GenerationInfo | None:
        now = store.published(place.repo.id, place.branch)
        try:
            found = store.same_tree(snapshot.tree, repo=place.repo.id, recipe=recipe)
            if found is None:
                return None
            folder, like = found
            if self._may_go_better(store, Generation(store.paths.generations / folder, like)):
                return None
            current = store.info(now.generation) if now is not None and now.folder == folder else None
        except StoreCorrupt:
            return None
        _mend_vectors(store, folder, like)
        if current is not None and (current.commit, current.branch) == (snapshot.commit, snapshot.branch):
            return store.info(current.id)
        info = msgspec.structs.replace(
            like,
            id=self._new_id(),
            repo=place.repo.id,
            commit=snapshot.commit,
            branch=snapshot.branch,
            created_at=self._clock.now(),
        )
        return info if store.publish(info, folder=folder, recipe=recipe, adopt=True, branch=place.branch) else None

    def _may_go_better(self, store: CodeStore, generation: Generation) -> bool:
        """Return whether the same tree may give more now: a file could not be read, or is worth another try."""
        files, unsure = generation.files, store.unsure(limits=self._trying)
        return generation.lacks_blobs() or not unsure.isdisjoint(zip(files.blobs, files.hints, strict=True))

    def _built(
        self,
        store: CodeStore,
        source: Source,
        place: _Place,
        snapshot: Snapshot,
        *,
        recipe: str,
        progress: Progress,
        check: Check,
    ) -> GenerationInfo:
        identity = self._new_id()
        folder = store.paths.generations / identity
        try:
            with storage_errors(folder):
                folder.mkdir()
                counts = self._fill(folder, store, source, place.repo, snapshot, progress=progress, check=check)
            progress("publish", 0, None)
            check()
            info = self._info(identity, place.repo, snapshot, counts)
            store.publish(info, folder=folder.name, recipe=recipe, branch=place.branch)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _log.info(
            "index.published", repo=info.repo, generation=info.id, files=info.files, left_out=sum(info.left_out.values())
        )
        return info

    def _fill(
        self,
        folder: Path,
        store: CodeStore,
        source: Source,
        repo: Repo,
        snapshot: Snapshot,
        *,
        progress: Progress,
        check: Check,
    ) -> Counts:
        rules = rules_of(source, snapshot, repo.settings)
        with closing(Staging(folder, project_db=store.paths.db)) as staging:
            kept, left_out = staging.add(self._listed(source, snapshot, rules, progress=progress, check=check))
            self._finder(staging, store, source).run(progress=progress, check=check)
            _refuse_nothing(staging.refusals(recipe=self._facts_recipe))
            blobs = staging.blobs(recipe=self._facts_recipe)
        texts = partial(write_texts, folder, blobs, source, progress=progress, check=check)
        said = self._written(folder, store, texts, progress=progress, check=check)
        (folder / STAGING_NAME).unlink()
        return _held(said.counts, listed=kept + left_out)

    def _finder(self, staging: Staging, store: CodeStore, source: Source) -> FactFinder:
        return FactFinder(
            staging,
            store,
            source=source,
            limits=self._limits,
            recipe=self._facts_recipe,
            clock=self._clock,
            parsers=self._parsers,
        )

    def _parsers(self) -> AbstractContextManager[ParserPool]:
        return closing(ParserPool(programs.at_once(self._limits), self._limits, languages=self._languages))

    def _written(
        self, folder: Path, store: CodeStore, texts: Callable[[], int], *, progress: Progress, check: Check
    ) -> running.Said:
        """Write *texts* and the rest of what is staged in *folder*, side by side if there may be several processes."""
        processes = programs.at_once(self._limits)
        if processes == 1:
            texts()
        return running.run(
            _WRITER,
            *(str(store.paths.db), self._facts_recipe),
            folder=folder,
            phase="index",
            progress=progress,
            check=check,
            beside=texts if processes > 1 else None,
        )

    def _listed(
        self, source: Source, snapshot: Snapshot, rules: Rules, *, progress: Progress, check: Check
    ) -> Iterator[Listed | LeftOut]:
        for number, item in enumerate(survey(source, snapshot, limits=self._limits, rules=rules)):
            if number % _TELL_EVERY == 0:
                check()
                progress("list", number, None)
            if isinstance(item, LeftOut):
                yield item
            else:
                hint = hint_of(item.path, limits=self._limits, languages=self._languages)
                yield Listed(item, hint, flags(item.path))

    def _info(self, identity: GenerationId, repo: Repo, snapshot: Snapshot, counts: Counts) -> GenerationInfo:
        return GenerationInfo(
            id=identity,
            repo=repo.id,
            commit=snapshot.commit,
            branch=snapshot.branch,
            tree=snapshot.tree,
            created_at=self._clock.now(),
            files=counts.files,
            lines=counts.lines,
            chunks=counts.chunks,
            left_out=counts.left_out,
            encodings=counts.encodings,
            languages=counts.languages,
            problems=counts.problems,
            torn=counts.torn,
            secrets=counts.secrets,
            policy=self._policy,
            parser_version=PARSER_VERSION,
            added_languages=self._languages.fingerprint,
        )

    def _beside(self, left_out: Iterator[LeftOut]) -> str:
        """Return what tells apart two states of one tree beside it: what the source left out, and the languages added."""
        digest = hashlib.sha256(self._languages.fingerprint.encode())
        for item in left_out:
            digest.update(msgspec.msgpack.encode((item.path.encode("utf-8", "surrogateescape"), item.reason, item.detail)))
        return f"/{digest.hexdigest()[:16]}"

    @staticmethod
    def _new_id() -> GenerationId:
        return GenerationId(new_id("gen"))


def _mend_vectors(store: CodeStore, folder: str, like: GenerationInfo) -> None:
    """Forget the vector matrix of *folder* if it cannot be read: it is filled again from the vectors that are stored."""
    row = store.matrix(folder)
    if row is None:
        return
    try:
        matrix = VectorMatrix.open(matrix_folder(store.paths.generations / folder, row.serial), model=row.model)
        if like.patches or len(matrix.state) == like.chunks:
            return
    except StoreCorrupt:
        _log.warning("index.vectors_unreadable", folder=folder)
    store.forget_matrix(folder)


def _refuse_nothing(left_out: Mapping[str, int] | None) -> None:
    if left_out is None:
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items()))
    fetch = "Fetch what is missing, as of a partial clone, run `git fsck`, or let the account that runs Skellig read it."
    raise MalformedContent(
        f"There is no file to index: {reasons or 'the tree is empty'}.",
        remedy=fetch if left_out.get("unreadable") else "Check that this is the right folder and branch.",
        left_out=left_out,
    )


def _held(counts: Counts | None, *, listed: int) -> Counts:
    """Return *counts*; raise unless every file of the tree is either indexed or left out with a reason."""
    if counts is None:
        raise StorageFault("The writer of the index said nothing of what it wrote.")
    left_out = sum(counts.left_out.values())
    if counts.files + left_out != listed or not counts.files:
        raise StorageFault(f"Of {listed} files of the tree {counts.files} were indexed and {left_out} left out.")
    return counts
