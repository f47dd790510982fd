"""A tool of ours: what is known of it, and a function that does it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from appliance.contracts.chat import JsonSchema
from appliance.contracts.tools import Effect, Json, ToolContext, ToolOutput, ToolSpec
from appliance.errors import ApplianceError, NotGranted
from appliance.orchestrator.fence import visible
from appliance.orchestrator.tools.arguments import Given

Work = Callable[[Given, ToolContext], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """Implements `Tool`."""

    spec: ToolSpec
    work: Work

    async def run(self, arguments: Mapping[str, Json], *, context: ToolContext) -> ToolOutput:
        """Do it. Raise `NotGranted` for an effect that was not granted; errors hold no token of an engine."""
        context.cancellation.check()
        if self.spec.effect not in context.grants.effects:
            raise NotGranted(f"This run may not use {self.spec.name}: it may not {self.spec.effect}.")
        try:
            return await self.work(Given(arguments), context)
        except ApplianceError as exc:
            raise type(exc)(visible(exc.message), remedy=visible(exc.remedy), **exc.context) from exc


def tool(
    name: str,
    description: str,
    parameters: JsonSchema,
    work: Work,
    *,
    category: str,
    effect: Effect = "read",
    timeout_s: float = 60.0,
) -> BuiltIn:
    """Return the tool *name* that *work* does."""
    return BuiltIn(ToolSpec(name, description, parameters, category=category, effect=effect, timeout_s=timeout_s), work)
