"""Which languages are solved together, and what each of these families has of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from appliance.codeintel.flow import Flow
from appliance.codeintel.resolve.evaluate import Evaluator
from appliance.codeintel.resolve.javascript import JavaScript
from appliance.codeintel.resolve.modules import Finder, Modules
from appliance.codeintel.resolve.modules_javascript import JavaScriptModules
from appliance.codeintel.resolve.solve import Solver


@dataclass(frozen=True, slots=True)
class Family:
    """Languages that import one another."""

    languages: tuple[str, ...]
    modules: Callable[[Sequence[str]], Finder]
    evaluator: type[Evaluator]

    def solver(self, paths: Sequence[str], flows: Sequence[Flow]) -> Solver:
        """Return the solver of the files at *paths*, whose flows are *flows*."""
        return Solver(flows, self.modules(paths), self.evaluator)


PYTHON: Final = Family(("python",), Modules, Evaluator)
JAVASCRIPT: Final = Family(("javascript", "typescript", "tsx"), JavaScriptModules, JavaScript)
FAMILIES: Final = (PYTHON, JAVASCRIPT)
FOLLOWED: Final = tuple(language for family in FAMILIES for language in family.languages)
