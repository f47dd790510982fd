"""Indexing and making graphs in this process, with parsers that were started before.

To start programs takes longer than all that they have to do in a small repository. Tests of the programs themselves, of what
kills them and of limits take `Indexer` and `GraphBuilder` as they are.
"""

import atexit
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path

from appliance.codeintel.build.grapher import build as build_graph
from appliance.codeintel.build.graphing import GraphBuilder, usable
from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.build.running import Said
from appliance.codeintel.build.settings import SETTINGS
from appliance.codeintel.build.writer import build
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.graph import GRAPH_ASIDE, GraphInfo
from appliance.config import Index

LIMITS = Index(workers=1)


@cache
def _pool() -> ParserPool:
    pool = ParserPool(1, LIMITS)
    atexit.register(pool.close)
    return pool


def _ready(limits: Index) -> ParserPool | None:
    """Return parsers that run, where they obey *limits* and this thread may use them."""
    return _pool() if limits == LIMITS and threading.current_thread() is threading.main_thread() else None


@contextmanager
def _as_a_program() -> Iterator[None]:
    """Search for no garbage meanwhile, as the programs of an index do not either."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _telling(phase: str, progress: Progress, check: Check) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        check()
        progress(phase, done, total)

    return tell


class QuickIndexer(Indexer):
    """Publishes what an `Indexer` publishes."""

    def _parsers(self) -> AbstractContextManager[ParserPool]:
        pool = None if self._languages.added else _ready(self._limits)
        return super()._parsers() if pool is None else nullcontext(pool)

    def _written(
        self, folder: Path, store: CodeStore, texts: Callable[[], int], *, progress: Progress, check: Check
    ) -> Said:
        texts()
        check()
        tell = _telling("index", progress, check)
        with _as_a_program():
            return Said(counts=build(folder, project_db=store.paths.db, recipe=self._facts_recipe, tell=tell))


class QuickGraphs(GraphBuilder):
    """Publishes the graphs that a `GraphBuilder` publishes."""

    def _parsers(self) -> AbstractContextManager[ParserPool]:
        pool = _ready(self._limits)
        return super()._parsers() if pool is None else nullcontext(pool)

    def _made(self, store: CodeStore, folder: str, *, progress: Progress, check: Check) -> GraphInfo:
        place = store.paths.generations / folder
        make = partial(build_graph, place, project_db=store.paths.db, seconds=self._limits.graph_seconds)
        try:
            check()
            with _as_a_program():
                return make(tell=_telling("graph", progress, check), patch=usable(store, folder))
        finally:
            for left in (GRAPH_ASIDE, SETTINGS):
                (place / left).unlink(missing_ok=True)
