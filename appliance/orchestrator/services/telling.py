"""What a model is told in a turn of chat, and how its choice is read."""

from collections.abc import Sequence
from dataclasses import replace

from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import ToolSpec
from appliance.errors import InvalidInput, LimitExceeded, MalformedContent
from appliance.orchestrator.calls import canonical
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners import native
from appliance.orchestrator.runners.completion import Completion, parsed
from appliance.orchestrator.runners.envelope import Choice, chosen, envelope, require_small
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.prompts import Taken, decision
from appliance.orchestrator.services.conversation import ConversationMessage


def useful(taken: Sequence[Taken]) -> list[Taken]:
    """Return the steps that an answer is made from: those that gave something, each once, and headed."""
    return [_headed(step) for number, step in enumerate(taken) if not (step.failed or step in taken[:number])]


def _headed(step: Taken) -> Taken:
    """Return *step* with the call in front of its result: who calls and who is called look alike without it."""
    given = ", ".join(str(value) for value in step.choice.arguments.values())
    return replace(step, text=f"{step.choice.tool}({given}):\n{step.text}")


def worth_telling(history: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return what of *history* a later turn is told: neither the system message, which it has, nor calls that failed."""
    failed = {each.call for each in history if each.failed}
    return [
        each
        for each in history
        if each.role != "system" and not each.failed and not any(use.id in failed for use in each.uses)
    ]


def choosing(
    task: str, specs: Sequence[ToolSpec], taken: Sequence[Taken], *, abilities: Abilities, system: str
) -> ChatRequest:
    """Return the request for the next step, in our form, or in the model's own where it keeps to that alone."""
    if abilities.envelope:
        return decision(task, specs, taken, skill=system)
    request = decision(task, specs, taken)
    offers = f"{system}\n{RULE}\n{native.instructions(specs)}".lstrip()
    require_small(offers, what="The prompt with its tools")
    offering = replace(request.messages[0], content=offers)
    return replace(request, messages=(offering, *request.messages[1:]), schema=None)


def read_choice(completion: Completion, specs: Sequence[ToolSpec], *, abilities: Abilities) -> Choice | None:
    """Return the choice that *completion* is, None where it makes none; raise `MalformedContent` for what cannot be read."""
    choice = chosen(parsed(completion, envelope(specs))) if abilities.envelope else native.call(completion.text)
    if choice is not None:
        try:
            canonical(choice.arguments)
        except (InvalidInput, LimitExceeded) as exc:
            raise MalformedContent(f"The model's arguments cannot be read: {exc.message}") from exc
    return choice
