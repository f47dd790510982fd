"""Call graphs of small repositories that a test writes down."""

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from appliance.codeintel.parse.flow.python import python_flow
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.modules import Modules
from appliance.codeintel.resolve.solve import Solver


def python_solver(files: Mapping[str, str]) -> Solver:
    """Return the solver of *files*, source by path, when it has learnt all that it can."""
    paths = sorted(files)
    sources = [files[path].encode() for path in paths]
    flows = [python_flow(grammar("python").parser.parse(source).root_node, source) for source in sources]
    solver = Solver(flows, Modules(paths))
    solver.solve()
    return solver


def dotted(solver: Solver, scope: int) -> str:
    """Return the module of a scope, and behind it the names that it stands in."""
    values, parts, at = solver.values, [], scope
    file = values.scope_file[scope]
    while (one := values.scope(at)).kind != "module":
        parts.append(one.name)
        at = values.first_scope[file] + one.parent
    return ".".join([values.modules.dotted[file], *reversed(parts)])


def calls(files: Mapping[str, str], *, outside: bool = False) -> set[str]:
    """Return the calls in *files* as ``caller -> callee``; with *outside* those that lead out of the repository too.

    Candidates are no calls.
    """
    solver = python_solver(files)
    return {
        f"{dotted(solver, edge.caller)} -> {edge.external or dotted(solver, edge.target or 0)}"
        for edge in edges(solver)
        if edge.how != "candidate" and (outside or not edge.external)
    }


def edges(solver: Solver) -> list[Edge]:
    """Return every edge that *solver* knows."""
    read = Edges(solver)
    return [edge for file in range(len(solver.flows)) for edge in read.of(file) if isinstance(edge, Edge)]


def report(language: str, found: AbstractSet[str], truth: AbstractSet[str]) -> None:
    """Print how much of *truth* was *found*, and how much of that is true."""
    right = len(found & truth)
    said = f"{language}: {len(truth)} edges, precision {right / max(1, len(found)):.3f}, recall {right / len(truth):.3f}\n"
    sys.stdout.write(said)
