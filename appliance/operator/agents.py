"""Agents: what one is, what it is asked, and what it answers."""

from typing import Annotated, Any, Final, Protocol, Self, runtime_checkable

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from appliance.operator.events import StreamingCallback
from appliance.operator.plain import copied

COORDINATOR: Final = "coordinator"

DEFAULT_COORDINATOR_SKILL: Final = """\
You are the coordinator. The user talks to you alone, and you leave the work to the agents that you can commission.

How to work:
1. `list_agents()` tells which agents there are and what each is good for.
2. `commission(agent, objective, checklist=None, agent_props=None)` has one work. Its report is staged and returned to you. \
Write the objective so that it can be understood alone: the agent sees nothing else of this conversation.
3. Read the report. `accept_agent_result(agent, index)` takes it over; `instruct_agent(agent, index, message)` has the agent\
 go on with what is missing; `get_agent_message(agent, index)` shows the report again.
4. `list_objectives(agent=None)` tells how each objective stands.
5. Answer the user in your own words, from accepted reports only. If something failed or is not known, say so.
"""


class AgentRequest(BaseModel):
    """What a runner is asked: the thread so far, and what it is about. It is a copy, and the runner's to change."""

    agent: str
    objective: str
    skill: str
    messages: list[dict[str, Any]]
    checklist: list[str] | None = None
    agent_props: dict[str, Any] | None = None
    model: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class AgentResult(BaseModel):
    """What a runner answers. *messages*, if there are any, replace the thread; *raw* is the host's and never stored."""

    content: str
    messages: list[dict[str, Any]] | None = None
    usage: dict[str, Any] | None = None
    raw: Any = Field(default=None, exclude=True)


@runtime_checkable
class AgentRunner(Protocol):
    """Whatever answers requests: a model with its tools, a service, a function in `callable_agent`."""

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        """Answer *request*; events given to *streaming_callback* reach whoever listens to the turn."""
        ...


def _runs(runner: AgentRunner) -> AgentRunner:
    if isinstance(runner, type):
        raise ValueError("a runner is an object, not its class: write Runner() instead of Runner")  # noqa: TRY004 - for pydantic
    if not callable(runner.run):
        raise ValueError("a runner has a method run(request, *, streaming_callback=None)")  # noqa: TRY004 - for pydantic
    return runner


Runner = Annotated[AgentRunner, AfterValidator(_runs)]
Metadata = Annotated[dict[str, Any], BeforeValidator(copied)]


class AgentSpec(BaseModel):
    """One junior. *runner_id* is how a snapshot names its runner; by default the agent's name."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    description: str
    skill: str
    runner: Runner = Field(exclude=True, repr=False)
    runner_id: str | None = None
    model: str | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> Self:
        self.runner_id = self.runner_id or self.name
        return self


class Coordinator(BaseModel):
    """The agent that the user talks to. Without a *runner* a machine holds state, and `run` refuses."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    skill: str = DEFAULT_COORDINATOR_SKILL
    runner: Runner | None = Field(default=None, exclude=True, repr=False)
    runner_id: str | None = None
    model: str | None = None
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.runner is not None:
            self.runner_id = self.runner_id or COORDINATOR
        return self
