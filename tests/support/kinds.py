"""The edges of small repositories, from a real index and its graph, as text."""

from collections.abc import Mapping
from pathlib import Path

from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.graph import CallGraph
from tests.support.indexing import QuickBench
from tests.support.repos import make_repo


def graphed(place: Path, files: Mapping[str, str]) -> tuple[QuickBench, Generation]:
    """Index *files* in the folder *place* and make their graph. Close the bench."""
    bench = QuickBench(place / "data")
    repo = bench.add(make_repo(place, dict(files)))
    bench.index(repo)
    bench.graph(repo)
    return bench, bench.generation(repo)


def edges(generation: Generation, *kinds: str, candidates: bool = False) -> set[str]:
    """Return the edges of *kinds* as ``kind line source -> target``; a file is called by its path."""
    rows = {row.id: row.qualname for path in generation.files.by_path for row in generation.symbols.in_file(path)}
    where = {row.id: row.path for path in generation.files.by_path for row in generation.symbols.in_file(path)}

    def called(number: int) -> str:
        return generation.files.paths[-1 - number] if number < 0 else f"{where[number]}:{rows[number]}"

    return {
        f"{edge.kind} {edge.line} {called(edge.source)} -> {called(edge.target)}"
        for edge in graph_of(generation).uses([*rows, *(-1 - number for number in generation.files.numbers)])
        if edge.kind in kinds and (edge.how == "candidate") == candidates
    }


def graph_of(generation: Generation) -> CallGraph:
    """Return the graph of *generation*."""
    if generation.graph is None:
        raise AssertionError("there is no graph")
    return generation.graph
