"""Gives a published generation its graph, behind it: first the flows of blobs that were never followed, then the graph."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing
from typing import Final

import msgspec

from appliance.base.log import get
from appliance.base.paths import DataPaths
from appliance.codeintel.build import programs, running
from appliance.codeintel.build.settings import SETTINGS, write_settings
from appliance.codeintel.facts import BlobTask
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.flow.languages import FRONT_ENDS
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.resolve.packages import is_settings
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.code import CodeStore, Published
from appliance.codeintel.store.flows import FlowStore, Key
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import GRAPH_ASIDE, GRAPH_NAME, GRAPH_RECIPE, GraphInfo
from appliance.config import Index
from appliance.errors import NotFound, StorageFault
from appliance.ids import BlobId, RepoId

_PROGRAM: Final = "appliance.codeintel.build.grapher"
_MOST_SETTINGS: Final = 5_000  # files that say what names of modules mean
_COMMIT_ROWS: Final = 200  # a killed process loses at most these

_log = get("codeintel.graph")


class GraphBuilder:
    """Makes graphs. One `build` of a repo at a time."""

    def __init__(self, registry: Registry, *, paths: DataPaths, limits: Index) -> None:
        self._registry = registry
        self._paths = paths
        self._limits = limits

    def build(self, repo: RepoId, *, progress: Progress, check: Check) -> GraphInfo:
        """Give every published generation of *repo* its graph, unless it has one as it is made now.

        Return what that of its own branch holds. A generation that is published meanwhile gets its own. On any error readers
        keep what they have; flows that were found stay found.
        """
        known = self._registry.repo(repo)
        with closing(CodeStore(self._paths.project(known.project))) as store:
            own = self._build(store, known, "", progress=progress, check=check)
            for branch in store.branches(known.id):
                self._build(store, known, branch, progress=progress, check=check)
        return own

    def _build(self, store: CodeStore, repo: Repo, branch: str, *, progress: Progress, check: Check) -> GraphInfo:
        while True:
            published = _published(store, repo, branch)
            info, patches = store.graph(published.folder), store.info(published.generation).patches
            there = (store.paths.generations / published.folder / GRAPH_NAME).is_file()
            if info is not None and there and (info.recipe, info.patch) == (GRAPH_RECIPE, patches):
                return info
            generation = Generation(store.paths.generations / published.folder, store.info(published.generation))
            with closing(self._registry.open(repo)) as source:
                while self._follow(generation, store, source, progress=progress, check=check):
                    check()
                write_settings(store.paths.generations / published.folder, _settings(generation, source))
            made = self._made(store, published.folder, progress=progress, check=check)
            made = msgspec.structs.replace(made, patch=patches)
            if store.publish_graph(published.folder, made):
                _log.info(
                    "graph.published", repo=repo.id, generation=published.generation, edges=made.edges, solved=made.solved
                )
                if _published(store, repo, branch) == published:  # also where the program that made it is of another version
                    return made

    def _follow(self, generation: Generation, store: CodeStore, source: Source, *, progress: Progress, check: Check) -> bool:
        """Find the flows of blobs of *generation* that have none yet; return whether there were any.

        One that cannot be read any more has none. One that stands under names of several languages is followed as one of
        them a call: call again until there are no more.
        """
        with closing(FlowStore(store.paths.db)) as flows:
            missing = _missing(generation, flows)
            if not missing:
                return False
            rows: list[tuple[Key, bytes]] = []
            done = 0
            with self._parsers() as pool:
                for blob, flow in pool.flows(_tasks(source, missing)):
                    rows.append(((blob, missing.pop(blob)[0]), flow))
                    done += 1
                    if len(rows) >= _COMMIT_ROWS:
                        flows.put(rows)
                        rows.clear()
                        check()
                        progress("follow", done, done + len(missing))
            flows.put([*rows, *(((blob, hint), b"") for blob, (hint, _) in missing.items())])
        return True

    def _parsers(self) -> AbstractContextManager[ParserPool]:
        return closing(ParserPool(programs.at_once(self._limits), self._limits))

    def _made(self, store: CodeStore, folder: str, *, progress: Progress, check: Check) -> GraphInfo:
        place = store.paths.generations / folder
        limits = (str(self._limits.graph_memory), str(self._limits.graph_seconds))
        arguments = (str(store.paths.db), *limits, str(usable(store, folder)))
        try:
            said = running.run(_PROGRAM, *arguments, folder=place, phase="graph", progress=progress, check=check)
        finally:
            for left in (GRAPH_ASIDE, SETTINGS):
                (place / left).unlink(missing_ok=True)
        if said.graph is None:
            raise StorageFault("The program that makes a graph said nothing of what it made.")
        return said.graph


def usable(store: CodeStore, folder: str) -> int:
    """Return how many patches the generation in *folder* had when the graph was made that it holds; -1 for none of today."""
    info = store.graph(folder)
    there = (store.paths.generations / folder / GRAPH_NAME).is_file()
    return info.patch if info is not None and there and info.recipe == GRAPH_RECIPE else -1


def _published(store: CodeStore, repo: Repo, branch: str) -> Published:
    published = store.published(repo.id, branch)
    if published is None:
        raise NotFound(f"The repository {repo.name!r} is not indexed yet.", remedy="Index it first.", repo=repo.id)
    return published


def _missing(generation: Generation, flows: FlowStore) -> dict[BlobId, tuple[str, str]]:
    """Return the blobs that nobody has followed yet, each with the language that its path suggests, and that path."""
    files, known = generation.files, flows.known()
    followed = (number for number in files.numbers if files.languages[number] in FRONT_ENDS)
    return {
        files.blobs[number]: (files.hints[number], files.paths[number])
        for number in followed
        if (files.blobs[number], files.hints[number]) not in known
    }


def _settings(generation: Generation, source: Source) -> dict[str, bytes]:
    """Return the files of *generation* that say what names of modules mean, by their paths."""
    files = generation.files
    numbers = [number for number in files.numbers if is_settings(files.paths[number])][:_MOST_SETTINGS]
    contents = dict(source.read([files.blobs[number] for number in numbers]))
    return {files.paths[number]: contents[files.blobs[number]] for number in numbers if files.blobs[number] in contents}


def _tasks(source: Source, missing: Mapping[BlobId, tuple[str, str]]) -> Iterator[BlobTask]:
    for blob, content in source.read(list(missing)):
        yield BlobTask(blob, missing[blob][1], content)
