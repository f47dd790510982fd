"""The table of targets: what is promised, what the best peer reaches, and what was measured in this run.

A benchmark makes the figure of a target by its key, so that name, unit and limit stand here alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tests.benchmarks.report import Figure

HARNESS: Final = "SKELLIG_TEST_HARNESS"
CHECKOUTS: Final = "SKELLIG_TEST_CHECKOUTS"
APPLICATIONS: Final = "SKELLIG_TEST_APPLICATIONS"


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the table. *known* is the best peer's figure as it was handed down, *needs* what must be set for it."""

    what: str
    benchmark: str
    limit: float
    unit: str
    better: Literal["lower", "higher"] = "lower"
    known: str = ""
    needs: tuple[str, ...] = ()


TARGETS: Final[Mapping[str, Target]] = {
    "index-rate": Target(
        "full index without vectors, share of the bare one-core parse rate, per core",
        "index",
        0.33,
        "x",
        "higher",
        "0.14 x without a graph, 0.06 x with one",
    ),
    "index-scaling": Target("full index by two processes beside one", "index", 1.7, "x", "higher"),
    "index-size": Target("index size without vectors, beside its source", "index", 2.0, "x", known="8 to 9.5 x"),
    "index-memory": Target("peak memory of the index of Python's library", "index", 400, "MB", known="1,280 MB"),
    "graph-memory": Target("peak memory of the program that makes its graph", "graph", 400, "MB", known="1,280 MB"),
    "edit-p50": Target(
        "edit one file of 10,000 -> the query sees it, p50", "edit", 150, "ms", known="3,960 ms at 1,800 files"
    ),
    "edit-p95": Target(
        "edit one file of 10,000 -> the query sees it, p95", "edit", 300, "ms", known="3,960 ms at 1,800 files"
    ),
    "branch-switch": Target("switch to a branch touching 200 files", "edit", 2.0, "s"),
    "branch-embedded": Target("known chunks embedded again after switching back", "edit", 0, "chunks"),
    "ndcg-words": Target(
        "NDCG@10 of seven repositories, without a model", "public", 0.83, "", "higher", "0.802", (HARNESS, CHECKOUTS)
    ),
    "ndcg-embedder": Target(
        "NDCG@10 with the default embedder", "public", 0.85, "", "higher", "0.802", (HARNESS, CHECKOUTS)
    ),
    "ndcg-symbols": Target("NDCG@10 of symbol queries", "public", 0.97, "", "higher", needs=(HARNESS, CHECKOUTS)),
    "pack-1600": Target("pack recall within 1,600 tokens", "answers", 0.80, "", "higher", "0.73 on 15 questions"),
    "pack-800": Target("pack recall within 800 tokens", "answers", 0.65, "", "higher", "0.53 on 15 questions"),
    "query-words-p50": Target("warm query, lexical and graph, p50", "search", 3, "ms", known="95 ms"),
    "query-words-p95": Target("warm query, lexical and graph, p95", "search", 10, "ms", known="217 ms"),
    "query-embedder-p50": Target("warm query with its embedding, p50", "search", 15, "ms", known="95 ms"),
    "query-embedder-p95": Target("warm query with its embedding, p95", "search", 40, "ms", known="217 ms"),
    "callers": Target("callers, p95", "graph", 1.0, "ms", known="400 to 950 ms"),
    "impact": Target("impact to depth 5, p95", "graph", 5.0, "ms", known="400 to 950 ms"),
    "closure": Target("closure on 1M edges, p95", "graph", 100, "ms", known="400 to 950 ms"),
    "pycg-precision": Target(
        "Python call graph, PyCG's micro-benchmark, precision", "public", 0.98, "", "higher", "0.976", (HARNESS, CHECKOUTS)
    ),
    "pycg-recall": Target(
        "Python call graph, PyCG's micro-benchmark, recall", "public", 0.95, "", "higher", "0.932", (HARNESS, CHECKOUTS)
    ),
    "applications-precision": Target(
        "call graph of real applications, edges inside the project, precision",
        "applications",
        0.95,
        "",
        "higher",
        "0.991 and 0.877",
        (APPLICATIONS,),
    ),
    "applications-recall": Target(
        "call graph of real applications, edges inside the project, recall",
        "applications",
        0.75,
        "",
        "higher",
        "0.603 and 0.610",
        (APPLICATIONS,),
    ),
    "get-style-found": Target(
        "who calls Console.get_style in rich 13.9.4, of 21 functions", "callers", 18, "", "higher", "3"
    ),
    "get-style-precision": Target("who calls Console.get_style, precision", "callers", 0.9, "", "higher"),
    "text-p95": Target("regular expression or text on Python's library, p95", "search", 20, "ms", known="23 ms"),
    "operator-commission": Target("what a commission costs besides its agent, of 2,000 in one turn", "operator", 1.0, "ms"),
    "operator-growth": Target("a commission of 2,000 in one turn beside one of 500", "operator", 1.3, "x"),
    "operator-snapshot": Target("a snapshot of 1,000 messages is written", "operator", 5.0, "ms"),
    "graph-steps": Target("steps of a graph in memory, a second", "framework", 5_000, "", "higher"),
    "graph-durable": Target("steps of a graph that are durable, a second", "framework", 500, "", "higher"),
    "graph-import": Target("`from appliance.framework import StateGraph`", "framework", 0.5, "s"),
    "agent-import": Target("`from appliance.framework import Agent`", "framework", 0.5, "s"),
}


def reached(target: str, value: float, *, load: str) -> Figure:
    """Return this project's figure for the *target*."""
    line = TARGETS[target]
    return Figure(line.what, value, line.unit, line.limit, line.better, load, target)


def peer(target: str, name: str, value: float, *, load: str = "") -> Figure:
    """Return what the peer *name* reaches in this run, by the same measure; it has no limit to hold."""
    line = TARGETS[target]
    return Figure(f"  {name}: {line.what}", value, line.unit, better=line.better, load=load, target=target, peer=name)


def lines(figures: Sequence[Figure], *, ran: Sequence[str], given: Mapping[str, str]) -> Sequence[Sequence[str]]:
    """Return the table, a line a target in their order: what, limit, this project, best peer, load and whether it held.

    Only the targets of the benchmarks that *ran* have a line. Of several figures for a target the worst counts; one without
    a figure says what is to be set for it beside the variables *given*.
    """
    table = []
    for key, target in ((key, target) for key, target in TARGETS.items() if target.benchmark in ran):
        own = [each for each in figures if each.target == key and not each.peer]
        peers = [f"{each.said} ({each.peer}, this run)" for each in figures if each.target == key and each.peer]
        known = [f"{target.known} (handed down)"] if target.known else []
        sign = "≤" if target.better == "lower" else "≥"
        limit = f"{sign} {target.limit:g} {target.unit}".rstrip()
        worst = sorted(own, key=lambda each: each.value, reverse=target.better == "lower")[:1]
        said, load = next(((each.said, each.load) for each in worst), (_missing(target, given), ""))
        held = "" if not own else "yes" if all(each.held for each in own) else "NO"
        table.append((target.what, limit, said, "\n".join(known + peers), load, held))
    return table


def unmeasured(figures: Sequence[Figure], *, ran: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """Return the targets that had to be measured and have no figure."""
    measured = {each.target for each in figures if not each.peer}
    return [
        target.what
        for key, target in TARGETS.items()
        if key not in measured and target.benchmark in ran and not _unset(target, given)
    ]


def _missing(target: Target, given: Mapping[str, str]) -> str:
    if unset := _unset(target, given):
        return f"not measured: set {' and '.join(unset)}"
    return "not measured"


def _unset(target: Target, given: Mapping[str, str]) -> list[str]:
    return [name for name in target.needs if not given.get(name)]
