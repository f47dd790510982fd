"""What an orchestrator offers, in one place: six services that have effects, and four coordinators that only decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from appliance.orchestrator.services.chat import ChatService
from appliance.orchestrator.services.context import ContextService
from appliance.orchestrator.services.provider import ProviderService
from appliance.orchestrator.services.recovery import RecoveryService
from appliance.orchestrator.services.session import SessionService
from appliance.orchestrator.services.tool import ToolService
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult


class Explores(Protocol):
    """Looks at the code for a question."""

    async def explore(
        self,
        context: ContextSnapshot,
        user_message: str,
        *,
        project_root: Path | str | None = None,
        max_results: int | None = None,
    ) -> CoordinatorResult:
        """Return transitions that set what was found."""


class Classifies(Protocol):
    """Tells what kind of task a message is."""

    async def classify(self, context: ContextSnapshot, user_message: str) -> CoordinatorResult:
        """Return transitions that set the task's type, complexity and keywords."""


class Checks(Protocol):
    """Judges a call of a tool before it is made."""

    async def check(
        self,
        context: ContextSnapshot,
        tool_name: str,
        tool_args: Mapping[str, object] | Sequence[object] | str | None = None,
    ) -> CoordinatorResult:
        """Return transitions that set the verdict; it does not continue where the call must not be made."""


class Suggests(Protocol):
    """Says who should do a task."""

    async def suggest(
        self, context: ContextSnapshot, *, task_type: str, complexity: str | None = None, mode: str = "build"
    ) -> CoordinatorResult:
        """Return transitions that set the suggested team and workflow."""


@dataclass(frozen=True, kw_only=True)
class OrchestrationFacade:
    """The services, every one of them there, and the coordinators that this orchestrator has; it does nothing itself."""

    chat_service: ChatService
    tool_service: ToolService
    session_service: SessionService
    context_service: ContextService
    provider_service: ProviderService
    recovery_service: RecoveryService
    exploration_state_passed: Explores | None = None
    system_prompt_state_passed: Classifies | None = None
    safety_state_passed: Checks | None = None
    coordination_state_passed: Suggests | None = None
