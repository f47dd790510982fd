"""The call graph of a folder of Python, as ``shared/bench/callgraph/score.py`` and PyCG's suites write it.

python -m tests.benchmarks.callgraph --entry main.py --package DIR --out o.json
"""

import argparse
import json
from pathlib import Path

from appliance.codeintel.parse.flow.python import python_flow
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.solve import Solver
from tests.support.graphs import dotted

_TYPES = {"str": "PyStr", "dict": "PyDict", "list": "PyList", "int": "PyNum", "float": "PyNum", "tuple": "PyTuple"}


def call_graph(package: Path) -> dict[str, list[str]]:
    """Return what each function below *package* calls, in dotted names."""
    paths = sorted(str(path.relative_to(package)) for path in package.rglob("*.py"))
    flows = []
    for path in paths:
        source = (package / path).read_bytes()
        flows.append(python_flow(grammar("python").parser.parse(source).root_node, source))
    modules = Modules(paths)
    solver = Solver(flows, modules)
    solver.solve()
    graph: dict[str, set[str]] = {}
    read = Edges(solver)
    for edge in (edge for file in range(len(flows)) for edge in read.of(file)):
        if isinstance(edge, Edge) and (target := _target(solver, edge)) is not None:
            graph.setdefault(dotted(solver, edge.caller), set()).add(target)
    return {caller: sorted(callees) for caller, callees in sorted(graph.items())}


def _target(solver: Solver, edge: Edge) -> str | None:
    if edge.target is not None:
        return None if solver.values.scope(edge.target).kind == "class" else dotted(solver, edge.target)
    name = edge.external
    if not name.startswith("builtins."):
        return name
    kind, _, method = name.removeprefix("builtins.").partition(".")
    return f"<**{_TYPES.get(kind, kind)}**>.{method}" if method else f"<builtin>.{kind}"


def main() -> None:
    """Write the graph that the arguments ask for."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--entry", type=Path, required=True)
    arguments.add_argument("--package", type=Path, required=True)
    arguments.add_argument("--out", type=Path, required=True)
    given = arguments.parse_args()
    given.out.write_text(json.dumps(call_graph(given.package), indent=1) + "\n")


if __name__ == "__main__":
    main()
