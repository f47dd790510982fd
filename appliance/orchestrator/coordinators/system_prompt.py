"""Which kind of task the user has set, decided from a snapshot alone."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.orchestrator.coordinators.tasks import Analyzes
from appliance.orchestrator.state import ContextSnapshot, CoordinatorResult, TransitionBatch

HISTORY: Final = 10  # messages


class SystemPromptStatePassedCoordinator:
    """Has *task_analyzer* say what a message asks for, in the light of the messages before it."""

    def __init__(self, task_analyzer: Analyzes) -> None:
        self._analyzer = task_analyzer

    async def classify(self, context: ContextSnapshot, user_message: str) -> CoordinatorResult:
        """Return transitions that set ``task_type``, ``task_complexity`` and, if there are any, ``task_keywords``.

        Of the last ten messages those of the user count, as mappings, objects with ``role`` and ``content``, or text. The
        confidence is that of the analysis. A blank message changes nothing.
        """
        if not user_message.strip():
            return CoordinatorResult.no_op("The message is blank.")
        analysis = self._analyzer.analyze(user_message, history=said_by_user(context.messages[-HISTORY:]))
        batch = TransitionBatch()
        batch.update_state("task_type", analysis.task_type).update_state("task_complexity", analysis.complexity)
        if analysis.keywords:
            batch.update_state("task_keywords", list(analysis.keywords))
        return CoordinatorResult(
            batch,
            reasoning=f"The message asks for {analysis.task_type}, which is {analysis.complexity} here.",
            confidence=analysis.confidence,
        )


def said_by_user(messages: Sequence[object]) -> tuple[str, ...]:
    """Return the text of those *messages* that are the user's, oldest first."""
    return tuple(text for text in map(_of_user, messages) if text.strip())


def _of_user(message: object) -> str:
    if isinstance(message, str):
        return message
    role, content = (_part(message, name) for name in ("role", "content"))
    if str(getattr(role, "value", role)) != "user":
        return ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    return " ".join(text for text in (_part(part, "text") for part in parts) if isinstance(text, str))


def _part(message: object, name: str) -> object:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)
