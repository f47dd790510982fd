"""The tools over the services: called by name, counted, and never without a reply."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from appliance.mcp import catalogue
from appliance.mcp.replies import Progress, Reply, failed
from appliance.mcp.tools import files, graph, overview, questions, search
from appliance.services import Services
from appliance.web.problems import log_failure, problem_of

Run = Callable[[Services, Mapping[str, object], Progress], Awaitable[Reply]]

RUNS: Final[Mapping[str, Run]] = {
    "search_code": search.search_code,
    "read_lines": files.lines,
    "definition": graph.definition,
    "references": graph.references,
    "callers": graph.callers,
    "callees": graph.callees,
    "impact": graph.impact,
    "outline": files.outline,
    "repomap": overview.repomap,
    "ask": questions.ask,
}
"""What each tool of the catalogue does."""


class Toolbox:
    """The tools over *services*."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, name: str, arguments: Mapping[str, object], progress: Progress) -> Reply:
        """Call the tool *name*; whatever goes wrong is a reply that says so. A call that is cancelled has none."""
        metrics, clock = self._services.metrics, self._services.clock
        counted = name if name in RUNS else "unknown"
        started = clock.monotonic()
        outcome = "cancelled"
        try:
            catalogue.known(name)
            reply = await RUNS[name](self._services, arguments, progress)
            outcome = "ok"
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a tool call
            problem = problem_of(exc)
            log_failure("tool.failed", exc, problem)
            outcome = problem.code
            reply = failed(problem.code, problem.detail, remedy=problem.remedy, retryable=problem.retryable)
        finally:
            metrics.tools.labels(counted, outcome).inc()
            metrics.tool_seconds.labels(counted).observe(clock.monotonic() - started)
        return reply
