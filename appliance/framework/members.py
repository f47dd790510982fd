"""Members and coordinators of teams that work on an agent's model, within the agent's grants and never beyond."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Grants, Json, ToolContext, ToolSpec
from appliance.framework.making import Made
from appliance.framework.teams import TeamMember
from appliance.framework.turn import Stopping
from appliance.ids import new_id
from appliance.operator import AgentRequest, AgentResult, AgentRunner, StreamingCallback
from appliance.orchestrator.policy import narrow
from appliance.orchestrator.runners.completion import Completion
from appliance.orchestrator.runners.local import LocalCoordinatorRunner, LocalJuniorRunner
from appliance.orchestrator.runners.steps import Ask, Given
from appliance.orchestrator.services.recovery import RecoveryService
from appliance.orchestrator.services.tool import ToolService
from appliance.orchestrator.services.turn import given_by

_SKILL: Final = "You work in a team. Do what you are asked, and report what you found in a few sentences."


def member(made: Made, name: str, *, skill: str, description: str, tools: Collection[str] | None) -> TeamMember:
    """Return a member on the model of *made*; raise `NotGranted` for a tool that its agent has not."""
    grants = narrow(made.turns.grants, tools=tools)
    specs = made.place.specs
    grants = narrow(grants, effects=frozenset(specs[tool].effect for tool in grants.tools))
    runner = _Member(made, name, grants)
    return TeamMember(name, runner, description, skill or _SKILL, tools=grants.tools)


async def coordinator(made: Made) -> AgentRunner:
    """Return a coordinator on the model of *made*."""
    return LocalCoordinatorRunner(_ask(made), abilities=await made.turns.services.facade.provider_service.abilities())


@dataclass(frozen=True, slots=True)
class _Member:
    """Satisfies `AgentRunner`: each request is a run of its own."""

    made: Made
    name: str
    grants: Grants

    @property
    def granted_tools(self) -> Collection[str]:
        """What it may use, in whatever team."""
        return self.grants.tools

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer *request* by steps with the member's tools."""
        turns, stopping = self.made.turns, Stopping()
        context = ToolContext(
            new_id("run"),
            self.grants,
            stopping,
            workspace=turns.workspace,
            branches=turns.options.session.branches,
            agent=self.name,
        )
        turns.services.tools.open_run(context.run_id, grants=self.grants, calls=turns.options.session.tool_calls)
        try:
            runner = LocalJuniorRunner(
                _ask(self.made),
                _Calls(turns.services.facade.tool_service, turns.services.facade.recovery_service, context),
                abilities=await turns.services.facade.provider_service.abilities(),
                steps=turns.options.session.steps,
            )
            return await runner.run(request, streaming_callback=streaming_callback)
        finally:
            stopping.stop()
            turns.services.tools.close_run(context.run_id)


@dataclass(frozen=True, slots=True)
class _Calls:
    """Satisfies `steps.Caller`, by the tool service."""

    service: ToolService
    recovery: RecoveryService
    context: ToolContext

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What may be called."""
        return self.service.get_tool_schemas(self.context)

    async def call(self, tool: str, arguments: Mapping[str, Json]) -> Given:
        """Make the call, or say why not."""
        outcome = await self.service.execute_tool(tool, arguments, context=self.context)
        return given_by(outcome, recovery=self.recovery)


def _ask(made: Made) -> Ask:
    """Return what asks the model; an answer has the agent's temperature, a choice has none."""
    provider, options = made.turns.services.facade.provider_service, made.turns.options

    async def ask(request: ChatRequest) -> Completion:
        asked = request if request.schema is not None else replace(request, temperature=options.temperature)
        return await provider.complete(asked)

    return ask
