"""An agent on the appliance's own model: it reads code within what it was granted, and answers."""

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput
from appliance.framework.chat import ChatSession
from appliance.framework.conversation import Conversation, Decision, Waiting
from appliance.framework.events import AgentEvent
from appliance.framework.results import SessionMetrics, TaskResult

if TYPE_CHECKING:
    from pathlib import Path

    from appliance.framework.making import Made
    from appliance.framework.options import Config, SessionConfig, Tools
    from appliance.framework.plugins import PluginStatus
    from appliance.framework.teams import TeamMember
    from appliance.framework.toolset import Catalogue, ToolSet
    from appliance.operator import AgentRunner

Context = str | Mapping[str, Json] | None


class Agent:
    """Made by `create`, and used as an async context manager, in one event loop.

    `run` and `stream` go on with one conversation, the agent's own; `chat` begins another. Turns of one conversation follow
    each other. Of the arguments of `create`:

    - *provider* is ``local`` or the engine that runs the model, *model* the one that is served;
    - *temperature* and *max_tokens* are of answers; at most a half of the model's context is for one;
    - *tools* are a `ToolSet` or names, by default `ToolSet.default` with those of plugins; *airgapped* leaves these out;
    - with *thinking* the model first makes notes, which are streamed and not kept;
    - *profile* is an agent that a plugin registered: its skill and its tools;
    - *workspace* is a repository by name or path, or a project; by default the whole project ``default``;
    - *vertical* is refused: there are none;
    - *enable_observability* keeps with the session what turns cost, and logs them; calls of tools are on record in any case;
    - with *session_id* it goes on with that session, or begins it; *session_config* takes what `SessionConfig` has.
    """

    def __init__(self, made: "Made", *, owned: bool = True) -> None:
        self._made = made
        self._owned = owned
        self._waiting = Waiting()
        self._own = Conversation(made, self._waiting, session=made.session)

    @classmethod
    async def create(  # noqa: PLR0913 - the arguments are what an author of agents decides
        cls,
        provider: str | None = None,
        model: str | None = None,
        *,
        temperature: float = 0.7,
        max_tokens: int = 4096,
        tools: "Tools" = None,
        thinking: bool = False,
        airgapped: bool = False,
        profile: str | None = None,
        workspace: "Path | str | None" = None,
        config: "Config" = None,
        vertical: str | None = None,
        enable_observability: bool = True,
        session_id: str | None = None,
        session_config: "Mapping[str, object] | SessionConfig | None" = None,
    ) -> Self:
        """Return an agent on the appliance of *config*: settings, their file, or with None those of the environment.

        Raise `InvalidInput`, `NotFound` or `LimitExceeded` for what cannot be honoured, `HostUnfit` where there is no
        appliance, `EngineUnavailable` where it has no chat model.
        """
        making = importlib.import_module("appliance.framework.making")  # half the appliance: it waits until it is needed
        wanted = making.Wanted(
            provider, model, temperature, max_tokens, tools, thinking, airgapped, profile, workspace, config, vertical,
            enable_observability, session_id, session_config,
        )  # fmt: skip
        return cls(await making.make(wanted))

    @property
    def model(self) -> str:
        """The model that answers, by its catalogue name."""
        return self._made.turns.options.model

    @property
    def tools(self) -> "ToolSet":
        """The tools that it may use."""
        return self._made.turns.options.tools

    @property
    def catalogue(self) -> "Catalogue":
        """All tools there are, those of plugins too, to make sets of."""
        return self._made.place.specs

    @property
    def plugins(self) -> "Sequence[PluginStatus]":
        """How every plugin is."""
        return self._made.place.plugins.statuses

    @property
    def session_id(self) -> str | None:
        """The session of `run` and `stream`, None before the first of them."""
        return self._own.session_id

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said in its own conversation, the system prompt first; calls of tools and their results are left out."""
        return self._own.history

    @property
    def busy(self) -> bool:
        """Whether a run waits for a person, or a turn is at work."""
        return self._waiting.busy

    def waits(self, run_id: str) -> bool:
        """Return whether the run *run_id* waits for a person."""
        return self._waiting.waits(run_id)

    async def run(self, prompt: str, *, context: Context = None) -> TaskResult:
        """Return what came of *prompt*, which *context* stands behind in the same message.

        What goes wrong in the turn is a result that failed, with why; only an empty prompt raises, `InvalidInput`. Where a
        call waits for a person's yes the result says so, and the turn goes on in `resume`.
        """
        return await self._own.run(_text(prompt, context))

    async def stream(self, prompt: str, *, context: Context = None) -> AsyncGenerator[AgentEvent, None]:
        """Give what happens as it happens, token by token: the pieces of exactly one answer, and last the end of the stream.

        Closing the generator cancels the turn, and the conversation keeps nothing of it.
        """
        async with aclosing(self._own.stream(_text(prompt, context))) as events:
            async for event in events:
                yield event

    def chat(self, opening: str | None = None) -> ChatSession:
        """Return a new conversation; *opening* is sent as a turn of its own, before whatever is sent first."""
        return ChatSession(Conversation(self._made, self._waiting), opening)

    async def resume(self, run_id: str, decision: Decision, *, by: str = "agent", note: str = "") -> TaskResult:
        """Decide on what the last result of the run *run_id* asked a person, and return what then comes of it.

        Where somebody else has decided the same, or nobody in time and this is a no, it returns what came of that. Raise
        `Conflict` where it was decided otherwise, `NotFound` for a run whose last result did not ask.
        """
        return await self._own.resume(run_id, decision, by=by, note=note)

    async def metrics(self) -> SessionMetrics:
        """Return what its own conversation has cost so far: zeros before the first turn, and without observability."""
        session = self._own.session_id
        if session is None:
            return SessionMetrics("")
        return await asyncio.to_thread(self._made.turns.ledger.metrics, session)

    def member(
        self, name: str, *, skill: str = "", description: str = "", tools: Collection[str] | None = None
    ) -> "TeamMember":
        """Return a member for a `Team` that works on this agent's model with *tools*, or all of the agent's.

        Raise `NotGranted` for a tool that the agent has not.
        """
        members = importlib.import_module("appliance.framework.members")
        made: TeamMember = members.member(self._made, name, skill=skill, description=description, tools=tools)
        return made

    async def coordinator(self) -> "AgentRunner":
        """Return a coordinator on this agent's model, for a team that is hierarchical."""
        members = importlib.import_module("appliance.framework.members")
        made: AgentRunner = await members.coordinator(self._made)
        return made

    async def close(self) -> None:
        """Cancel what still waits, and close what was opened. The session stays, to go on with by its id."""
        await self._waiting.close()
        await asyncio.to_thread(self._made.scratch.close)
        if self._owned:
            self._owned = False
            await asyncio.to_thread(self._made.place.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        await self.close()


def _text(prompt: str, context: Context) -> str:
    """Return *prompt* with *context* behind it; raise `InvalidInput` for what is neither text nor JSON."""
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidInput("The prompt says nothing.", remedy="Write what you want to know.")
    if context is None:
        return prompt
    if isinstance(context, str):
        return f"{prompt}\n\nContext:\n{context}"
    if not isinstance(context, Mapping):
        raise InvalidInput(f"The context is a {type(context).__name__}.", remedy="Pass text, or a mapping of JSON.")
    try:
        return f"{prompt}\n\nContext:\n{json.dumps(context, ensure_ascii=False, allow_nan=False, default=dict)}"
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidInput("The context is not JSON.", remedy="Pass text, or a mapping of JSON.") from exc
