"""Builds a generation anew that is worn by patches: whole, aside, while patches go on; then the patches since go over it.

Nothing is read or parsed: what the generation holds is listed from its tables, and its facts are cached.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.clock import Clock
from appliance.base.durable import exclusive, make_directory, storage_errors, sync_own
from appliance.base.log import get
from appliance.base.paths import DataPaths
from appliance.codeintel.build import running
from appliance.codeintel.build.changes import Changes
from appliance.codeintel.build.laying import lay, link
from appliance.codeintel.build.moving import moved_graph, moved_vectors
from appliance.codeintel.build.parsing import facts_recipe
from appliance.codeintel.build.patching import is_worn
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.build.staging import Listed, Staging
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.registry import Registry
from appliance.codeintel.source.base import Entry, FileFlags, LeftOut
from appliance.codeintel.store.code import CodeStore, Published
from appliance.codeintel.store.generation import Generation, GenerationInfo
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.text import text_files
from appliance.config import Index
from appliance.errors import StorageFault, StoreCorrupt
from appliance.ids import GenerationId, RepoId, new_id

_WRITER: Final = "appliance.codeintel.build.writer"
_INFO: Final = ".info"
_DECODER: Final = msgspec.msgpack.Decoder(GenerationInfo)

_log = get("codeintel.renewal")


class Renewal:
    """Builds aside with `build`, and puts what that built into its place with `adopt`."""

    def __init__(self, registry: Registry, *, paths: DataPaths, limits: Index, clock: Clock) -> None:
        self._registry = registry
        self._paths = paths
        self._clock = clock
        self._recipe = facts_recipe(limits)

    def is_due(self, repo: RepoId) -> bool:
        """Return whether a published generation of *repo* is worn."""
        with closing(CodeStore(self._paths.project(self._registry.repo(repo).project))) as store:
            return any(is_worn(store.info(each.generation)) for each in store.branches(repo).values())

    def build(self, repo: RepoId, *, progress: Progress, check: Check) -> bool:
        """Build aside every published generation of *repo* that is worn; return whether there was one.

        Patches may be laid meanwhile; one `build` of a project at a time.
        """
        paths = self._paths.project(self._registry.repo(repo).project)
        built = False
        with closing(CodeStore(paths)) as store, exclusive(paths.root / "renew.lock", what="this project's renewal"):
            for branch, published in store.branches(repo).items():
                info = store.info(published.generation)
                if not is_worn(info) or f"/{self._recipe}/" not in store.recipe(published.folder):
                    continue  # what is of another make is built anew by its next index
                folder = make_directory(paths.renewed) / _name(repo, branch)
                shutil.rmtree(folder, ignore_errors=True)
                try:
                    self._build(folder, store, published, info, progress=progress, check=check)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
                built = True
        return built

    def adopt(self, repo: RepoId) -> int:
        """Publish what `build` built of *repo*, with what changed since as a patch over it; return of how many branches.

        Not while the repo is indexed: raise `Conflict`. On any error readers keep the worn one.
        """
        paths = self._paths.project(self._registry.repo(repo).project)
        adopted = 0
        with closing(CodeStore(paths)) as store, exclusive(paths.root / "index.lock", what="this project's index"):
            for branch, published in store.branches(repo).items():
                aside = paths.renewed / _name(repo, branch)
                if (aside / _INFO).is_file():
                    self._adopt(aside, store, published, branch)
                    adopted += 1
        return adopted

    def _build(
        self,
        folder: Path,
        store: CodeStore,
        published: Published,
        info: GenerationInfo,
        *,
        progress: Progress,
        check: Check,
    ) -> None:
        generation = Generation(store.paths.generations / published.folder, info)
        with storage_errors(folder):
            folder.mkdir()
        with closing(Staging(folder, project_db=store.paths.db)) as staging:
            staging.add(_content(generation))
        arguments = (str(store.paths.db), self._recipe, "1")  # nobody waits for it
        said = running.run(_WRITER, *arguments, folder=folder, phase="renew", progress=progress, check=check)
        if said.counts is None or (said.counts.files, said.counts.left_out) != (info.files, info.left_out):
            raise StorageFault("A generation that was built anew does not hold what it held before.", path=str(folder))
        (folder / STAGING_NAME).unlink()
        whole = msgspec.structs.replace(info, chunks=said.counts.chunks, patches=0, worn=0)
        with storage_errors(folder):
            (folder / _INFO).write_bytes(msgspec.msgpack.encode(whole))
        sync_own(folder)  # patches may link to it

    def _adopt(self, aside: Path, store: CodeStore, published: Published, branch: str) -> None:
        made: list[Path] = [aside]
        try:
            now = store.info(published.generation)
            current = Generation(store.paths.generations / published.folder, now)
            renewed, folder = self._brought_up_to(current, aside, store, made)
            matrix = moved_vectors(store, current, renewed)
            graph = moved_graph(store, current, renewed)
            store.publish_patch(
                renewed.info,
                folder=folder.name,
                recipe=store.recipe(published.folder),
                branch=branch,
                matrix=matrix,
                graph=graph,
            )
            made.remove(folder)
            _log.info("index.renewed", repo=now.repo, generation=renewed.info.id, patches=now.patches)
        finally:
            for each in made:
                shutil.rmtree(each, ignore_errors=True)

    def _brought_up_to(
        self, current: Generation, aside: Path, store: CodeStore, made: list[Path]
    ) -> tuple[Generation, Path]:
        """Return a generation of what *current* holds that rests on what stands *aside*, and its folder; *made* grows."""
        folder = store.paths.generations / new_id("gen")
        whole = _read_info(aside)
        aside.rename(folder)
        made.append(folder)
        changes = _between(Generation(folder, whole), current)
        info = whole
        if changes:
            below, folder = folder, store.paths.generations / new_id("gen")
            folder.mkdir()
            made.append(folder)
            link(below, folder, also=())
            with closing(Staging(folder, project_db=store.paths.db)) as staging:
                staging.add(changes.listed)
            with closing(open_tables(below)) as tables:
                info = lay(folder, Generation(below, whole), tables, changes, project_db=store.paths.db, recipe=self._recipe)
            (folder / STAGING_NAME).unlink()
        for path in text_files(current.folder):  # of its blobs; what is written anew goes by them too
            (folder / path.name).hardlink_to(path)
        info = msgspec.structs.replace(
            info,
            id=GenerationId(new_id("gen")),
            commit=current.info.commit,
            branch=current.info.branch,
            tree=current.info.tree,
            created_at=self._clock.now(),
            added_languages=current.info.added_languages,
        )
        if (info.files, info.chunks, info.left_out) != (current.info.files, current.info.chunks, current.info.left_out):
            raise StoreCorrupt("A generation that was built anew does not hold what the index holds.")
        return Generation(folder, info), folder


def _name(repo: RepoId, branch: str) -> str:
    return f"{repo}.{hashlib.sha256(os.fsencode(branch)).hexdigest()[:16]}"


def _read_info(folder: Path) -> GenerationInfo:
    try:
        return _DECODER.decode((folder / _INFO).read_bytes())
    except (OSError, msgspec.DecodeError) as exc:
        raise StoreCorrupt("A generation that was built anew cannot be read.", path=str(folder)) from exc


def _content(generation: Generation) -> Iterator[Listed | LeftOut]:
    """Yield all that *generation* holds and leaves out."""
    with closing(open_tables(generation.folder)) as tables:
        rows = tables.execute("SELECT path, reason, detail, beside FROM left_out ORDER BY path")
        for path, reason, detail, beside in rows:
            yield LeftOut(os.fsdecode(path), reason, detail, bool(beside))
    for number in generation.files.numbers:
        yield _listed(generation, number)


def _listed(generation: Generation, number: int) -> Listed:
    files = generation.files
    entry = Entry(files.paths[number], files.blobs[number], 0, "100644")
    return Listed(entry, files.hints[number], FileFlags(int(files.flags[number])))


def _between(before: Generation, now: Generation) -> Changes:
    """Return what *now* has otherwise than *before*."""
    changes = Changes()
    for path, number in now.files.by_path.items():
        former = before.files.number(path)
        if former is not None and _told(before, former) == _told(now, number):
            continue
        if former is not None:
            changes.files.append(former)
        changes.listed.append(_listed(now, number))
    changes.files.extend(number for path, number in before.files.by_path.items() if now.files.number(path) is None)
    with closing(open_tables(before.folder)) as old, closing(open_tables(now.folder)) as new:
        query = "SELECT path, reason, detail, beside, id FROM left_out"
        former_rows, rows = ({tuple(row)[:4]: row[4] for row in tables.execute(query)} for tables in (old, new))
    changes.left_out.extend(number for key, number in former_rows.items() if key not in rows)
    changes.listed.extend(
        LeftOut(os.fsdecode(key[0]), key[1], key[2], bool(key[3])) for key in rows if key not in former_rows
    )
    return changes


def _told(generation: Generation, number: int) -> tuple[str, str, str, int]:
    """Return what tells one state of a file from another: its facts may have been found anew, too."""
    files = generation.files
    chunks = int(files.first_chunk[number + 1] - files.first_chunk[number])
    return files.blobs[number], files.hints[number], files.languages[number], chunks
