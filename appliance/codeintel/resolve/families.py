"""Which languages are solved together, and what each of these families has of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.c import C as CEvaluator
from appliance.codeintel.resolve.c_solve import CSolver
from appliance.codeintel.resolve.crates import Crates
from appliance.codeintel.resolve.csharp import CSharp, Namespaces
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.go import Go, GoUnits
from appliance.codeintel.resolve.includes import CUnits
from appliance.codeintel.resolve.javascript import JavaScript
from appliance.codeintel.resolve.jvm import Jvm
from appliance.codeintel.resolve.modules import Finder, Modules
from appliance.codeintel.resolve.modules_javascript import JavaScriptModules
from appliance.codeintel.resolve.rust import Rust
from appliance.codeintel.resolve.solve import Solver
from appliance.codeintel.resolve.typed_solve import TypedSolver
from appliance.codeintel.resolve.units import Units


@dataclass(frozen=True, slots=True)
class Family:
    """Languages that import one another."""

    languages: tuple[str, ...]
    modules: Callable[[Sequence[str], Sequence[Flow], Mapping[str, bytes]], Finder]
    evaluator: type[Evaluator]
    solver_as: type[Solver] = Solver

    def solver(self, paths: Sequence[str], flows: Sequence[Flow], settings: Mapping[str, bytes] | None = None) -> Solver:
        """Return the solver of the files at *paths*, whose flows are *flows*; *settings* say what names of modules mean."""
        return self.solver_as(flows, self.modules(paths, flows, settings or {}), self.evaluator)


PYTHON: Final = Family(("python",), lambda paths, _, __: Modules(paths), Evaluator)
JAVASCRIPT: Final = Family(
    ("javascript", "typescript", "tsx"), lambda paths, _, settings: JavaScriptModules(paths, settings), JavaScript
)
GO: Final = Family(("go",), GoUnits, Go, TypedSolver)
JVM: Final = Family(("java", "kotlin"), lambda paths, flows, _: Units(paths, flows), Jvm, TypedSolver)
C: Final = Family(("c", "cpp"), lambda paths, flows, _: CUnits(paths, flows), CEvaluator, CSolver)
RUST: Final = Family(("rust",), Crates, Rust, TypedSolver)
CSHARP: Final = Family(("csharp",), lambda paths, flows, _: Namespaces(paths, flows), CSharp, TypedSolver)
FAMILIES: Final = (PYTHON, JAVASCRIPT, GO, RUST, JVM, CSHARP, C)
FOLLOWED: Final = tuple(language for family in FAMILIES for language in family.languages)
