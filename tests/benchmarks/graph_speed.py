"""What the graph costs behind an index, and how soon it answers, on Python's own library, tests included."""

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.query.calls import callers
from appliance.codeintel.query.draft import Code, Found
from appliance.codeintel.query.impact import impact
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import CallGraph
from appliance.config import Index
from tests.benchmarks import closure_speed, targets
from tests.benchmarks.corpus import children, library, memory
from tests.benchmarks.report import Figure
from tests.support.indexing import IndexBench
from tests.support.repos import commit

_MEGABYTE = 1_000_000
_ASKED = 400  # definitions, drawn at random
_PAGE = 50
_KINDS = {"function", "method", "class"}


def run() -> Sequence[Figure]:
    """Index the standard library, make its graph, and ask it of definitions drawn at random."""
    with tempfile.TemporaryDirectory() as place:
        bench = IndexBench(Path(place) / "data", limits=Index())
        source = library(Path(place) / "library")
        repo = bench.add(source)
        bench.index(repo)
        graphs = GraphBuilder(bench.registry, paths=bench.paths, limits=bench.limits)
        whole = _Solving()
        start = time.monotonic()
        info = graphs.build(repo.id, progress=whole.progress, check=whole.check)
        seconds = time.monotonic() - start
        solving = whole.seconds
        generation = bench.generations.published(repo.id)
        bare = _bare(source, generation)
        load = f"{info.files:,} files, {generation.info.lines:,} lines, {sum(info.kinds.values()):,} edges"
        figures = [
            Figure("graph behind the index", seconds, "s", load=load),
            Figure("graph, share of the bare parse rate", bare / seconds, "x", load=load),
            targets.reached("graph-memory", whole.memory / _MEGABYTE, load=load),
            *_asked(generation, load),
            *_edited(bench, repo, source, graphs, load, whole=solving),
            *closure_speed.figures(),
        ]
        bench.close()
    return figures


class _Solving:
    """Looks on while a graph is made: at the time of all processors that the program takes, and at its memory."""

    def __init__(self) -> None:
        self.memory = 0  # bytes, at its peak
        self._before = _of_children()
        self._solving = False

    def progress(self, phase: str, done: int, total: int | None) -> None:
        del done, total
        if phase == "graph" and not self._solving:  # whatever found flows has ended
            self._before, self._solving = _of_children(), True

    def check(self) -> None:
        if self._solving:
            self.memory = max([self.memory, *(memory(pid, most=True) for pid in children(os.getpid()))])

    @property
    def seconds(self) -> float:
        return _of_children() - self._before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _edited(bench: IndexBench, repo: Repo, source: Path, graphs: GraphBuilder, load: str, *, whole: float) -> list[Figure]:
    """Return what a graph takes after an edit of one file, to what it takes whole."""
    found = []
    for what, text in (("comment", "# Edited.\n"), ("function", "def edited(parser):\n    return parser.parse_args()\n")):
        commit(source, {"argparse.py": (source / "argparse.py").read_text(encoding="utf-8") + text})
        bench.index(repo)
        again = _Solving()
        graphs.build(repo.id, progress=again.progress, check=again.check)
        found.append(Figure(f"graph after one more {what}, of a whole one", again.seconds / whole, "x", load=load))
    return found


def _bare(source: Path, generation: Generation) -> float:
    parser = grammar("python").parser
    contents = [(source / path).read_bytes() for path in generation.files.paths if path.endswith(".py")]
    start = time.monotonic()
    for content in contents:
        parser.parse(content)
    return time.monotonic() - start


def _asked(generation: Generation, load: str) -> list[Figure]:
    graph = generation.graph
    if graph is None:
        raise RuntimeError("there is no graph")
    chance = np.random.default_rng(7)
    drawn = chance.choice(generation.files.paths, min(_ASKED, len(generation.files)), replace=False)
    rows = [row for path in drawn for row in generation.symbols.in_file(str(path)) if row.kind in _KINDS]
    found = [Found(Code(generation, "library"), rows[number]) for number in chance.permutation(len(rows))[:_ASKED]]
    return [
        targets.reached("callers", _p95(lambda item: callers(item, graph), found), load=load),
        targets.reached("impact", _p95(lambda item: _impact(graph, item), found), load=load),
    ]


def _impact(graph: CallGraph, item: Found) -> tuple[object, int]:
    """Ask as a door does: for a page of it, and how much of all stands in tests."""
    reached = impact(item, graph)
    return reached.page(slice(_PAGE)), reached.tests


def _p95(work: Callable[[Found], object], items: Sequence[Found]) -> float:
    took = []
    for item in items:
        start = time.perf_counter()
        work(item)
        took.append((time.perf_counter() - start) * 1000)
    return float(np.percentile(took, 95))
