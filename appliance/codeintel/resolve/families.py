"""Which languages are solved together, and what each of these families has of its own."""

from collections.abc import Callable, Mapping, Sequence
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
    modules: Callable[[Sequence[str], Mapping[str, bytes]], Finder]
    evaluator: type[Evaluator]

    def solver(self, paths: Sequence[str], flows: Sequence[Flow], settings: Mapping[str, bytes] | None = None) -> Solver:
        """Return the solver of the files at *paths*, whose flows are *flows*; *settings* say what names of modules mean."""
        return Solver(flows, self.modules(paths, settings or {}), self.evaluator)


PYTHON: Final = Family(("python",), lambda paths, _: Modules(paths), Evaluator)
JAVASCRIPT: Final = Family(("javascript", "typescript", "tsx"), JavaScriptModules, JavaScript)
FAMILIES: Final = (PYTHON, JAVASCRIPT)
FOLLOWED: Final = tuple(language for family in FAMILIES for language in family.languages)
