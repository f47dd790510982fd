"""Call graphs of small repositories that a test writes down."""

import sys
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from appliance.codeintel.flow import Flow
from appliance.codeintel.parse.flow.languages import FRONT_ENDS
from appliance.codeintel.parse.grammars import grammar
from appliance.codeintel.parse.languages import language_of
from appliance.codeintel.resolve.edges import Edge, Edges
from appliance.codeintel.resolve.families import PYTHON, Family
from appliance.codeintel.resolve.packages import is_settings
from appliance.codeintel.resolve.solve import Solver


def solved(files: Mapping[str, str], family: Family = PYTHON) -> Solver:
    """Return the solver of *files*, source by path, when it has learnt all that it can."""
    paths = sorted(path for path in files if not is_settings(path))
    settings = {path: source.encode() for path, source in files.items() if is_settings(path)}
    made = family.solver(paths, [_flow(path, files[path].encode()) for path in paths], settings)
    made.solve()
    return made


def _flow(path: str, source: bytes) -> Flow:
    language = language_of(path, source)
    return FRONT_ENDS[language](grammar(language).tree(source).root_node, source)


def dotted(solver: Solver, scope: int) -> str:
    """Return the module of a scope, and behind it the names that it stands in."""
    values, parts, at = solver.values, [], scope
    file = values.scope_file[scope]
    while (one := values.scope(at)).parent >= 0:
        parts.append(one.name)
        at = values.first_scope[file] + one.parent
    return ".".join([values.modules.dotted[file], *reversed(parts)])


def calls(files: Mapping[str, str], family: Family = PYTHON, *, outside: bool = False) -> set[str]:
    """Return the calls in *files* as ``caller -> callee``; with *outside* those that lead out of the repository too.

    Candidates are no calls.
    """
    solver = solved(files, family)
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
