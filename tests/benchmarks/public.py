"""Quality on public code, beside peers: rankings by NDCG@10, and call graphs by precision and recall.

The code and the judgements are not kept here. ``SKELLIG_TEST_HARNESS`` names a folder with ``retrieval/score.py`` and
``callgraph/score.py``; ``SKELLIG_TEST_CHECKOUTS`` one with PyCG's ``micro-benchmark/snippets`` and, under ``repos``, a
checkout of each repository that the first harness names. Without them nothing is measured here, and that is said.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks import peers, targets
from tests.benchmarks.report import Figure
from tests.support.models import store_root


def run() -> Sequence[Figure]:
    """Score this project, then the peers that pip installs."""
    harness, checkouts = os.environ.get(targets.HARNESS), os.environ.get(targets.CHECKOUTS)
    if harness is None or checkouts is None:
        sys.stderr.write(f"public: not measured, {targets.HARNESS} and {targets.CHECKOUTS} are not both set\n")
        return []
    peer = peers.python()
    return [*_graphs(Path(harness), Path(checkouts), peer), *_rankings(Path(harness), Path(checkouts), peer)]


def _graphs(harness: Path, checkouts: Path, peer: Path) -> list[Figure]:
    scorer = [sys.executable, str(harness / "callgraph" / "score.py")]
    scorer += ["--suite", str(checkouts / "micro-benchmark" / "snippets")]
    ours = _scored([*scorer, "--", sys.executable, "-m", "tests.benchmarks.callgraph"])
    theirs = _scored([*scorer, "--", str(peer), str(peers.adapter("pycg"))])
    load = f"PyCG's micro-benchmark, {ours['cases']} cases"
    return [
        targets.reached("pycg-precision", _number(ours, "precision"), load=load),
        targets.reached("pycg-recall", _number(ours, "recall"), load=load),
        targets.peer("pycg-precision", "PyCG 0.0.8", _number(theirs, "precision")),
        targets.peer("pycg-recall", "PyCG 0.0.8", _number(theirs, "recall")),
    ]


def _rankings(harness: Path, checkouts: Path, peer: Path) -> list[Figure]:
    scorer = [sys.executable, str(harness / "retrieval" / "score.py"), "--repos", str(checkouts / "repos"), "--"]
    own = [*scorer, sys.executable, "-m", "tests.benchmarks.retrieval", "--models", str(store_root())]
    meaning, words = _scored(own), _scored([*own, "--words-alone"])
    theirs = _scored([*scorer, str(peer), str(peers.adapter("semble"))])
    symbols = meaning["by_category"]
    assert isinstance(symbols, dict)
    load = f"{meaning['queries']} queries"
    return [
        targets.reached("ndcg-words", _number(words, "ndcg10_repo_mean"), load=load),
        targets.reached("ndcg-embedder", _number(meaning, "ndcg10_repo_mean"), load=load),
        targets.reached("ndcg-symbols", float(symbols["symbol"]), load=load),
        targets.peer("ndcg-words", "semble 0.7.0 without its model", _number(theirs, "ndcg10_repo_mean")),
    ]


def _scored(argv: Sequence[str]) -> Mapping[str, object]:
    """Return what the harness prints at its end, which is JSON."""
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    scores: Mapping[str, object] = json.loads(done.stdout[done.stdout.index("{\n") :])
    return scores


def _number(scores: Mapping[str, object], name: str) -> float:
    return float(str(scores[name]))
