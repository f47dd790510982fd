"""Call graphs of real Python applications beside a truth that is given, by the edges inside each.

``SKELLIG_TEST_APPLICATIONS`` names a folder with the code of each application in ``NAME/``, and in ``NAME.json`` its truth:
``{caller: [callee, …]}`` in dotted names from ``NAME/`` on, as PyCG writes them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks import peers, targets
from tests.benchmarks.callgraph import call_graph
from tests.benchmarks.report import Figure

_WITHIN_S = 300.0

Edges = set[tuple[str, str, str]]  # application, caller, callee


def run() -> Sequence[Figure]:
    """Count the edges of all applications together, this project's and PyCG's."""
    given = os.environ.get(targets.APPLICATIONS)
    if given is None:
        sys.stderr.write(f"applications: not measured, {targets.APPLICATIONS} is not set\n")
        return []
    truth, ours, theirs = Edges(), Edges(), Edges()
    names = sorted(path.stem for path in Path(given).glob("*.json"))
    for name in names:
        package = Path(given) / name
        known = json.loads((Path(given) / f"{name}.json").read_text(encoding="utf-8"))
        truth |= _inside(name, known, package)
        ours |= _inside(name, call_graph(package), package)
        theirs |= _inside(name, _by_pycg(package), package)
    load = f"{', '.join(names)}: {len(truth):,} edges"
    figures = []
    for target, divisor in (("applications-precision", ours), ("applications-recall", truth)):
        figures.append(targets.reached(target, len(truth & ours) / max(1, len(divisor)), load=load))
    for target, divisor in (("applications-precision", theirs), ("applications-recall", truth)):
        figures.append(targets.peer(target, peers.PYCG, len(truth & theirs) / max(1, len(divisor))))
    return figures


def _inside(name: str, graph: Mapping[str, Sequence[str]], package: Path) -> Edges:
    """Return the edges of *graph* between what *package* defines."""
    own = {path.stem for path in package.iterdir()}
    return {
        (name, caller, callee)
        for caller, callees in graph.items()
        for callee in callees
        if caller.partition(".")[0] in own and callee.partition(".")[0] in own
    }


def _by_pycg(package: Path) -> Mapping[str, Sequence[str]]:
    """Return PyCG's graph; none where it breaks off or takes too long, as it does on some programs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "graph.json"
        argv = [str(peers.python()), str(peers.adapter("pycg")), "--package", str(package), "--out", str(out), "--entry"]
        try:
            subprocess.run([*argv, *sorted(map(str, package.rglob("*.py")))], check=True, timeout=_WITHIN_S)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as exc:
            sys.stderr.write(f"applications: PyCG gives nothing for {package.name}: {exc}\n")
            return {}
        graph: Mapping[str, Sequence[str]] = json.loads(out.read_text(encoding="utf-8"))
        return graph
