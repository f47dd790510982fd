"""The runtime: one session with the services around it. Snapshots are taken of it, and transitions applied to it."""

import json
import sqlite3
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass

from appliance.base.clock import Clock
from appliance.base.metrics import Metrics
from appliance.contracts.tools import ToolContext, ToolOutput
from appliance.errors import EngineUnavailable, InvalidInput
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.facade import Checks, Classifies, Explores, OrchestrationFacade, Suggests
from appliance.orchestrator.services.audit import ToolAudit
from appliance.orchestrator.services.chat import Cites, LocalChatService
from appliance.orchestrator.services.context import LocalContextService
from appliance.orchestrator.services.provider import PROVIDER, LocalProviderService, Models, Probe
from appliance.orchestrator.services.recovery import LocalRecoveryService
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.session import LocalSessionService, Session, SessionContents
from appliance.orchestrator.services.tool import CALLS, LocalToolService, Repositories
from appliance.orchestrator.services.turn import ChatOptions, ChatReply
from appliance.orchestrator.state.host import Staged


class Runtime:
    """A session as it was when the runtime last looked, which `refresh` and every change of its own do again.

    Satisfies `Host` and `CommitsStaged`: a batch is one transaction of the database, refused where the session was changed
    by anybody else meanwhile. *context* says for which run tools are called, and within what; *settings* are only shown.
    """

    messages: MutableSequence[object]
    conversation_state: MutableMapping[str, object]
    session_state: MutableMapping[str, object]
    _capabilities: MutableMapping[str, object]
    observed_files: Sequence[str]
    conversation_stage: str
    model: str
    state_version: int

    def __init__(
        self,
        session_id: str,
        *,
        facade: OrchestrationFacade,
        contents: SessionContents,
        context: ToolContext,
        options: ChatOptions | None = None,
        settings: object = None,
    ) -> None:
        self.facade = facade
        self.session_id = session_id
        self.context = context
        self.options = options or ChatOptions()
        self.settings = settings
        self.provider_name = PROVIDER
        self.max_tokens = self.options.max_tokens
        self.temperature = self.options.temperature
        self._contents = contents
        self._seen: list[str] = []
        self.refresh()

    def refresh(self) -> None:
        """Look at the session again; raise `NotFound` where it is gone."""
        content, version = self._contents.content(self.session_id)
        self.messages = [message.to_json() for message in content.messages]
        self.conversation_state = json.loads(content.conversation_state)
        self.session_state = json.loads(content.session_state)
        self._capabilities = json.loads(content.capabilities)
        self.observed_files = json.loads(content.observed_files)
        self.conversation_stage = content.stage
        self.state_version = version
        try:
            self.model = self.facade.provider_service.get_current_provider_info().model
        except EngineUnavailable:
            self.model = ""

    def add_message(self, message: object) -> None:
        """Append *message* to the conversation; raise `InvalidInput` for what is none."""
        self.commit(Staged(messages=(message,)))

    def add_messages(self, messages: Sequence[object]) -> None:
        """Append *messages*, all in one step."""
        self.commit(Staged(messages=tuple(messages)))

    def commit(self, staged: Staged) -> None:
        """Make all of *staged* the session's state, in one transaction, or raise and change nothing.

        Raise `Conflict` where somebody else changed the session since `refresh`, `InvalidInput` for what is no message or
        no JSON, and `LimitExceeded`.
        """
        self._contents.write(self.session_id, staged, observed=self._seen, expected=self.state_version)
        self._seen.clear()
        self.refresh()

    async def execute_tool(self, name: str, arguments: Mapping[str, object]) -> ToolOutput:
        """Return what the tool gives; raise why the call was not made, or failed.

        The files that it shows count as observed from the session's next change on.
        """
        outcome = await self.facade.tool_service.execute_tool(name, arguments, context=self.context)
        output = outcome.unwrap()
        self._seen += [piece.path for piece in output.evidence if piece.path not in self._seen]
        return output

    def create_session(self, **kwargs: object) -> Session:
        """Open another session, with ``session_id``, ``project`` and ``title`` where they are given."""
        unknown = sorted(set(kwargs) - {"session_id", "project", "title"})
        texts = {name: str(value) for name, value in kwargs.items() if value is not None}
        if unknown:
            raise InvalidInput(
                f"A session is not opened with {', '.join(unknown)[:200]}.", remedy="It has session_id, project and title."
            )
        return self.facade.session_service.create_session(**texts)

    def close_session(self, **kwargs: object) -> Session:
        """Close the session ``session_id``, this one if it is not given."""
        return self.facade.session_service.close_session(str(kwargs.get("session_id") or self.session_id))

    async def chat(self, text: str) -> ChatReply:
        """Return the answer to *text*, which is then in the conversation; raise what the chat service raises."""
        reply = await self.facade.chat_service.chat(self.session_id, text, context=self.context, options=self.options)
        self.refresh()
        return reply


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an orchestrator is made of. *connect* opens the global database, once for each that writes there."""

    connect: Callable[[], sqlite3.Connection]
    clock: Clock
    models: Models
    probe: Probe
    tools: ToolRegistry
    repositories: Repositories
    patience_s: float = 600.0
    metrics: Metrics | None = None
    cites: Cites | None = None
    exploration: Explores | None = None
    system_prompt: Classifies | None = None
    safety: Checks | None = None
    coordination: Suggests | None = None


@dataclass(frozen=True, kw_only=True)
class Orchestrator:
    """The services of one process, wired, and what they keep."""

    facade: OrchestrationFacade
    sessions: LocalSessionService
    tools: LocalToolService

    def runtime(
        self,
        session_id: str,
        *,
        context: ToolContext,
        calls: int = CALLS,
        options: ChatOptions | None = None,
        settings: object = None,
    ) -> Runtime:
        """Return the runtime of an open session. The run of *context* is opened with its grants unless it is open."""
        if context.grants.tools and not self.tools.is_open(context.run_id):
            self.tools.open_run(context.run_id, grants=context.grants, calls=calls)
        return Runtime(
            session_id, facade=self.facade, contents=self.sessions, context=context, options=options, settings=settings
        )

    def close(self) -> None:
        """Close the connections."""
        self.sessions.close()
        self.tools.approvals.close()
        self.tools.audit.close()


def orchestrator(parts: Parts) -> Orchestrator:
    """Return the services over *parts*; nothing is asked of an engine before a service is."""
    sessions = LocalSessionService(parts.connect(), clock=parts.clock)
    provider = LocalProviderService(parts.models, probe=parts.probe)
    context, recovery = LocalContextService(sessions, provider.current), LocalRecoveryService()
    tools = LocalToolService(
        registry=parts.tools,
        approvals=Approvals(parts.connect(), clock=parts.clock),
        audit=ToolAudit(parts.connect(), clock=parts.clock),
        repositories=parts.repositories,
        patience_s=parts.patience_s,
        metrics=parts.metrics,
    )
    chat = LocalChatService(
        context_service=context,
        tool_service=tools,
        session_service=sessions,
        provider_service=provider,
        recovery_service=recovery,
        cites=parts.cites,
    )
    facade = OrchestrationFacade(
        chat_service=chat,
        tool_service=tools,
        session_service=sessions,
        context_service=context,
        provider_service=provider,
        recovery_service=recovery,
        exploration_state_passed=parts.exploration,
        system_prompt_state_passed=parts.system_prompt,
        safety_state_passed=parts.safety,
        coordination_state_passed=parts.coordination,
    )
    return Orchestrator(facade=facade, sessions=sessions, tools=tools)
