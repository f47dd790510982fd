"""The call graph of a folder of Python, as ``shared/bench/callgraph/score.py`` and PyCG's suites write it.

python -m tests.benchmarks.callgraph --entry main.py --package DIR --out o.json
"""

import argparse
import json
from pathlib import Path

from appliance.codeintel.parse.flow.python import python_flow
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.solve import Solver, Target

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
    for edge in solver.edges():
        if (target := _target(solver, edge.target)) is not None:
            graph.setdefault(_named(solver, edge.caller), set()).add(target)
    return {caller: sorted(callees) for caller, callees in sorted(graph.items())}


def _named(solver: Solver, number: int) -> str:
    values = solver.values
    file, parts = values.scope_file[number], []
    at = number
    while (scope := values.scope(at)).kind != "module":
        parts.append(scope.name)
        at = values.first_scope[file] + scope.parent
    return ".".join([values.modules.dotted[file], *reversed(parts)])


def _target(solver: Solver, target: Target) -> str | None:
    if target.scope is not None:
        return None if solver.values.scope(target.scope).kind == "class" else _named(solver, target.scope)
    name = target.external
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
