"""What the operator costs besides its agents, beside operator-architecture in the same run."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks import peers, targets
from tests.benchmarks.report import Figure

_TARGETS = {"operator-commission": "commission_ms", "operator-growth": "growth", "operator-snapshot": "save_ms"}


def run() -> Sequence[Figure]:
    """Measure both in processes of their own, one after the other."""
    ours, theirs = _measured(Path(sys.executable), "appliance.operator"), _measured(peers.python(), "operator_architecture")
    load = f"processor time, best of 5 rounds, load {os.getloadavg()[0]:.1f}"
    reached = [targets.reached(target, ours[key], load=load) for target, key in _TARGETS.items()]
    beside = [targets.peer(target, peers.OPERATOR, theirs[key], load=load) for target, key in _TARGETS.items()]
    return [
        *reached,
        *beside,
        Figure("a commission with the turn log, in which each step is synced", ours["logged_ms"], "ms", load=load),
        Figure("a snapshot of 1,000 messages is read", ours["load_ms"], "ms", load=load),
        Figure(f"  {peers.OPERATOR}: a snapshot of 1,000 messages is read", theirs["load_ms"], "ms", load=load),
    ]


def _measured(python: Path, module: str) -> Mapping[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        root = str(Path(__file__).parents[2])
        argv = [str(python), str(peers.adapter("operator")), module, "--out", str(out)]
        subprocess.run(argv, check=True, env={**os.environ, "PYTHONPATH": root})
        found: dict[str, float] = json.loads(out.read_text(encoding="utf-8"))
        return found
