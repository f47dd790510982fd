"""Builds generations whole, with their graph and their vectors, in this process: to start programs takes longer."""

from contextlib import closing, nullcontext
from pathlib import Path

import msgspec

from appliance.codeintel.build.grapher import build as build_graph
from appliance.codeintel.build.graphing import _missing, _settings, _tasks, usable
from appliance.codeintel.build.parsing import FactFinder, Parsers
from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.build.settings import SETTINGS, write_settings
from appliance.codeintel.build.staging import NAME as STAGING_NAME
from appliance.codeintel.build.staging import Staging
from appliance.codeintel.build.verbatim import write_texts
from appliance.codeintel.build.writer import build
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.registry import Repo
from appliance.codeintel.source.rules import rules_of
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import CallGraph
from tests.support.indexing import IndexBench, go_on, silent


def publish_whole(bench: IndexBench, repo: Repo, pool: ParserPool, branch: str = "") -> None:
    """Publish a first generation of *branch* of *repo* as an index would, and let patches use *pool* too."""
    generations = bench.paths.project(repo.project).generations
    generations.mkdir(parents=True, exist_ok=True)
    folder = generations / f"first-{branch}"
    first = whole(bench, repo, folder, pool=pool, branch=branch)
    with closing(bench.store(repo)) as store, closing(bench.registry.open(repo)) as source:
        recipe = bench.indexer._recipe + bench.indexer._beside(source.left_out(source.snapshot(branch or repo.branch)))
        store.publish(first.info, folder=folder.name, recipe=recipe, branch=branch)
    bench.indexer._patcher._pools[repo.id] = pool


def whole(
    bench: IndexBench, repo: Repo, folder: Path, *, graph: bool = False, pool: ParserPool | None = None, branch: str = ""
) -> Generation:
    """Build a generation of the newest state of *repo* whole, in *folder*, and publish nothing."""
    folder.mkdir()
    indexer: Indexer = bench.indexer
    with closing(bench.store(repo)) as store, closing(bench.registry.open(repo)) as source:
        snapshot = source.snapshot(branch or repo.branch)
        with closing(Staging(folder, project_db=store.paths.db)) as staging:
            rules = rules_of(source, snapshot, repo.settings)
            staging.add(indexer._listed(source, snapshot, rules, progress=silent, check=go_on))
            recipe = indexer._facts_recipe
            parsers: Parsers = indexer._parsers if pool is None else lambda: nullcontext(pool)
            finder = FactFinder(
                staging, store, source=source, limits=bench.limits, recipe=recipe, clock=bench.clock, parsers=parsers
            )
            finder.run(progress=silent, check=go_on)
            blobs = staging.blobs(recipe=recipe)
        counts = build(folder, project_db=store.paths.db, recipe=recipe, tell=_silent)
        write_texts(folder, blobs, source, progress=silent, check=go_on)
        (folder / STAGING_NAME).unlink()
        generation = Generation(folder, indexer._info(indexer._new_id(), repo, snapshot, counts))
        if graph:
            info = build_graph(folder, project_db=store.paths.db, seconds=60, tell=_silent)
            generation = generation.with_graph(CallGraph.open(folder, info, generation.gone))
    return generation


def publish_graphs(bench: IndexBench, repo: Repo, pool: ParserPool) -> None:
    """Give every published generation of *repo* its graph, as the job behind an index does."""
    with closing(bench.store(repo)) as store, closing(bench.registry.open(repo)) as source:
        for published in store.branches(repo.id).values():
            folder, info = store.paths.generations / published.folder, store.info(published.generation)
            generation = Generation(folder, info)
            with closing(FlowStore(store.paths.db)) as flows:
                while missing := _missing(generation, flows):
                    rows = [((blob, missing.pop(blob)[0]), flow) for blob, flow in pool.flows(_tasks(source, dict(missing)))]
                    flows.put([*rows, *(((blob, hint), b"") for blob, (hint, _) in missing.items())])
            write_settings(folder, _settings(generation, source))
            patch = usable(store, published.folder)
            made = build_graph(folder, project_db=store.paths.db, seconds=60, tell=_silent, patch=patch)
            (folder / SETTINGS).unlink()
            store.publish_graph(folder.name, msgspec.structs.replace(made, patch=info.patches))


def _silent(done: int, total: int) -> None:
    """Hear of progress and do nothing."""
