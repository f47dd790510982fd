"""Gives a published generation its graph, behind it."""

from contextlib import closing

from appliance.base.log import get
from appliance.base.paths import DataPaths
from appliance.codeintel.build import running
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.registry import Registry
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.graph import GRAPH_ASIDE, GRAPH_NAME, GraphInfo, graph_recipe
from appliance.errors import NotFound, StorageFault
from appliance.ids import RepoId

_PROGRAM = "appliance.codeintel.build.grapher"

_log = get("codeintel.graph")


class GraphBuilder:
    """Makes graphs. One `build` of a repo at a time."""

    def __init__(self, registry: Registry, *, paths: DataPaths, facts_recipe: str) -> None:
        self._registry = registry
        self._paths = paths
        self._facts_recipe = facts_recipe
        self._recipe = graph_recipe(facts_recipe)

    def build(self, repo: RepoId, *, progress: Progress, check: Check) -> GraphInfo:
        """Give the published generation of *repo* its graph, unless it has one of this recipe, and return what that holds.

        A generation that is published meanwhile gets its own. On any error readers keep what they have.
        """
        known = self._registry.repo(repo)
        with closing(CodeStore(self._paths.project(known.project))) as store:
            while True:
                published = store.published(known.id)
                if published is None:
                    raise NotFound(f"The repository {known.name!r} is not indexed yet.", remedy="Index it first.", repo=repo)
                info = store.graph(published.folder)
                there = (store.paths.generations / published.folder / GRAPH_NAME).is_file()
                if info is not None and there and info.recipe == self._recipe:
                    return info
                made = self._made(store, published.folder, progress=progress, check=check)
                if store.publish_graph(published.folder, made):
                    _log.info("graph.published", repo=known.id, generation=published.generation, edges=made.edges)

    def _made(self, store: CodeStore, folder: str, *, progress: Progress, check: Check) -> GraphInfo:
        place = store.paths.generations / folder
        arguments = (str(store.paths.db), self._facts_recipe)
        try:
            said = running.run(_PROGRAM, *arguments, folder=place, phase="graph", progress=progress, check=check)
        finally:
            (place / GRAPH_ASIDE).unlink(missing_ok=True)
        if said.graph is None:
            raise StorageFault("The program that makes a graph said nothing of what it made.")
        return said.graph
