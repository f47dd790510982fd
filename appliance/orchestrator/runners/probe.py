"""What a model can do, found out by asking it, never by its name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatRequest, Message
from appliance.contracts.tools import ToolSpec
from appliance.errors import ContentError, InvalidInput
from appliance.orchestrator.runners import choosing, native
from appliance.orchestrator.runners.completion import complete, parsed
from appliance.orchestrator.runners.envelope import chosen, envelope
from appliance.orchestrator.runners.prompts import decision

_TOOLS: Final = (
    ToolSpec(
        "read_file",
        "Show the lines of a file.",
        {
            "type": "object",
            "properties": {"path": {"type": "string", "maxLength": 120}},
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
    ToolSpec(
        "find_callers",
        "List who calls a function.",
        {
            "type": "object",
            "properties": {"name": {"type": "string", "maxLength": 80}},
            "required": ["name"],
            "additionalProperties": False,
        },
    ),
)
_TASKS: Final = (
    ("Which functions call parse_header?", "find_callers", "parse_header"),
    ("Show me the file src/limits.py.", "read_file", "src/limits.py"),
    ("Who calls close_socket?", "find_callers", "close_socket"),
)
_CHOICES: Final = (
    ("Where is the port of the server read?", ("ServerSettings.port in settings.py", "Circle.area in shapes.py"), 0),
    ("How is a password hashed?", ("render_menu in menu.py", "hash_password in accounts.py"), 1),
    ("What draws the chart?", ("send_mail in mail.py", "draw_chart in charts.py"), 1),
    ("Which code retries a request?", ("retry_request in client.py", "sort_names in names.py"), 0),
)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model was seen to do. ``schema``: its engine holds it to one."""

    schema: bool = False
    envelope: bool = False  # it chooses the right tool, with the right argument, in our form
    choice: bool = False  # it chooses the right one of few options
    native: bool = False  # it makes the tool calls that its own template promises
    said: tuple[str, ...] = ()  # what was seen, one sentence each


async def probe(chat: ChatModel) -> Abilities:
    """Return all that *chat* can do, by ten short tasks; raise `EngineUnavailable` where its engine cannot be asked."""
    calls = [await _keeps_envelope(chat, *task) for task in _TASKS]
    natives = [await _calls_natively(chat, task, tool) for task, tool, _ in _TASKS]
    right, held = calls.count(True), [call for call in calls if call is not None]
    choices = await probe_choices(chat)
    return replace(
        choices,
        envelope=right == len(calls) == len(held),
        native=all(natives),
        said=(
            f"{right} of {len(calls)} tool calls were right in our form.",
            f"{sum(natives)} of {len(natives)} tool calls were made in the model's own form.",
            *choices.said,
        ),
    )


async def probe_choices(chat: ChatModel) -> Abilities:
    """Return whether *chat* can choose among few options, by four of the tasks; raise as `probe` does."""
    choices = [await _chooses(chat, task, options, right) for task, options, right in _CHOICES]
    right = choices.count(True)
    said = f"{right} of {len(choices)} choices were right when the model was tried."
    return Abilities(schema=None not in choices, choice=right == len(choices), said=(said,))


async def _keeps_envelope(chat: ChatModel, task: str, tool: str, argument: str) -> bool | None:
    """Return whether the call was right, or None where the engine did not hold the model to the schema."""
    schema = envelope(_TOOLS)
    try:
        completion = await complete(chat, decision(task, _TOOLS, ()))
        choice = chosen(parsed(completion, schema))
    except (ContentError, InvalidInput):
        return None
    return choice.tool == tool and argument in map(str, choice.arguments.values())


async def _chooses(chat: ChatModel, task: str, options: Sequence[str], right: int) -> bool | None:
    """Return whether the choice was right, or None where the engine did not hold the model to the schema."""
    try:
        completion = await complete(chat, choosing.question(task, options))
        return choosing.answer(completion, len(options)).place == right
    except (ContentError, InvalidInput):
        return None


async def _calls_natively(chat: ChatModel, task: str, tool: str) -> bool:
    request = ChatRequest((Message("system", native.instructions(_TOOLS)), Message("user", task)), max_tokens=80)
    try:
        call = native.call((await complete(chat, request)).text)
    except (ContentError, InvalidInput):
        return False
    return call is not None and call.tool == tool
