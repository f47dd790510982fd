"""The call graph of a folder of Python, as ``shared/bench/callgraph/score.py`` and PyCG's suites write it.

python -m tests.benchmarks.callgraph --entry main.py --package DIR --out o.json

The entry is read also if its name does not end with ``.py``. What tests call is left out unless the entry is one, and so is
what is known by a name alone that several methods have. A folder that is a package itself knows its modules by its own
name too.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from appliance.codeintel.parse.flow.python import python_flow
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.values import External, Module, Package
from tests.support.graphs import dotted

_TESTS = {"test", "tests"}  # a package ``testing`` is for those who use it
_ALONE = 0.4  # the confidence in the only method that has a name
_TYPES = {"str": "PyStr", "dict": "PyDict", "list": "PyList", "int": "PyNum", "float": "PyNum", "tuple": "PyTuple"}


class _Modules(Modules):
    """Modules that a folder, if it is a package, has below its own name."""

    def __init__(self, paths: Sequence[str], name: str) -> None:
        super().__init__(paths)
        self._name = name if "__init__.py" in paths else ""

    def find(self, name: str, *, importer: int) -> Module | Package | External:
        found = super().find(name, importer=importer)
        own = self._name and name.partition(".")[0] == self._name
        return super().find(name.partition(".")[2], importer=importer) if own and isinstance(found, External) else found


def call_graph(package: Path, entry: Path | None = None) -> dict[str, list[str]]:
    """Return what each function below *package* calls, in dotted names."""
    package, entry = package.resolve(), entry and entry.resolve()
    files = set(package.rglob("*.py")) | {each for each in [entry] if each and each.is_relative_to(package)}
    paths = sorted(str(path.relative_to(package)) for path in files)
    tests = {place for place, path in enumerate(paths) if _is_test(path) and package / path != entry}
    flows = []
    for path in paths:
        source = (package / path).read_bytes()
        flows.append(python_flow(grammar("python").parser.parse(source).root_node, source))
    solver = Solver(flows, _Modules(paths, package.name))
    solver.solve()
    graph: dict[str, set[str]] = {}
    read = Edges(solver)
    for edge in (edge for file in range(len(flows)) if file not in tests for edge in read.of(file)):
        if isinstance(edge, Edge) and _is_told(edge) and (target := _target(solver, edge)) is not None:
            graph.setdefault(dotted(solver, edge.caller), set()).add(target)
    return {caller: sorted(callees) for caller, callees in sorted(graph.items())}


def _is_test(path: str) -> bool:
    parts = path.split("/")
    return bool(_TESTS & set(parts[:-1])) or parts[-1].startswith("test_") or parts[-1].endswith("_test.py")


def _is_told(edge: Edge) -> bool:
    return edge.how != "candidate" or edge.confidence >= _ALONE


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
    given.out.write_text(json.dumps(call_graph(given.package, given.entry), indent=1) + "\n")


if __name__ == "__main__":
    main()
