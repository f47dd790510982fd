"""What a model can do, found out by asking it, never by its name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.codeintel import prose
from appliance.codeintel.needs import ChatModel
from appliance.codeintel.query.context import Block
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
READINGS: Final = (  # lines, a question that they answer, and one that they have nothing to do with
    (
        Block(
            1,
            "conf/limits.py:10-15 (read_limit)",
            'def read_limit(settings, default=40):\n    value = settings.get("jobs.waiting")\n    if value is None:\n'
            "        return default\n    return max(1, int(value))",
        ),
        "What does read_limit return when the setting is missing?",
        "Which class draws the border of the window?",
    ),
    (
        Block(
            1,
            "net/retry.py:3-9 (Retrier.send)",
            "def send(self, message):\n    for attempt in range(self.attempts):\n        try:\n"
            "            return self.link.post(message)\n        except LinkBroken:\n"
            "            self.clock.sleep(2 ** attempt)\n    raise GaveUp(message)",
        ),
        "What does Retrier.send raise after the last attempt?",
        "How is the price of an order rounded?",
    ),
    (
        Block(
            1,
            "auth/token.py:20-24 (TokenBook.open)",
            "def open(self, token):\n    row = self.rows.get(digest(token))\n"
            '    if row is None or row.expires < self.clock.now():\n        raise Refused("unknown or expired")\n'
            "    return Session(row.user)",
        ),
        "What does TokenBook.open return for a valid token?",
        "How are tiles of the map loaded?",
    ),
    (
        Block(
            1,
            "text/wrap.py:5-8 (shorten)",
            "def shorten(text, width=80):\n    if len(text) <= width:\n        return text\n"
            "    return text[: width - 1] + marker",
        ),
        "What does shorten do with a text that is longer than width?",
        "Where is the password of a user hashed?",
    ),
)
_VERDICT_TOKENS: Final = 10


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model was seen to do. ``schema``: its engine holds it to one."""

    schema: bool = False
    envelope: bool = False  # it chooses the right tool, with the right argument, in our form
    choice: bool = False  # it chooses the right one of few options
    reading: bool = False  # it tells lines that answer a question from others: one that cannot is let write no prose
    native: bool = False  # it makes the tool calls that its own template promises
    said: tuple[str, ...] = ()  # what was seen, one sentence each


async def probe(chat: ChatModel) -> Abilities:
    """Return all that *chat* can do, by short tasks; raise `EngineUnavailable` where its engine cannot be asked."""
    calls = [await _keeps_envelope(chat, *task) for task in _TASKS]
    natives = [await _calls_natively(chat, task, tool) for task, tool, _ in _TASKS]
    right, held = calls.count(True), [call for call in calls if call is not None]
    reads = await probe_reading(chat)
    return replace(
        reads,
        envelope=right == len(calls) == len(held),
        native=all(natives),
        said=(
            f"{right} of {len(calls)} tool calls were right in our form.",
            f"{sum(natives)} of {len(natives)} tool calls were made in the model's own form.",
            *reads.said,
        ),
    )


async def probe_reading(chat: ChatModel) -> Abilities:
    """Return whether *chat* can choose among few options, and read: what missions need. Raise as `probe` does."""
    choices = [await _chooses(chat, task, options, right) for task, options, right in _CHOICES]
    reads = [await _tells_apart(chat, *each) for each in READINGS]
    right = choices.count(True)
    return Abilities(
        schema=None not in choices,
        choice=right == len(choices),
        reading=all(reads),
        said=(
            f"{right} of {len(choices)} choices were right when the model was tried.",
            f"Of {len(reads)} questions it told {sum(reads)} from one that the lines do not answer.",
        ),
    )


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


async def _tells_apart(chat: ChatModel, lines: Block, question: str, foreign: str) -> bool:
    """Return whether *lines* seem to answer *question* more than *foreign*, as the model's verdict on evidence has it."""
    own, other = await _verdict(chat, question, lines), await _verdict(chat, foreign, lines)
    return own > other


async def _verdict(chat: ChatModel, question: str, lines: Block) -> float:
    """Return P(true) at the verdict, or, of an engine without candidates, 1 or 0 by the word; 0 for no verdict."""
    request = replace(prose.request(question, [lines]), max_tokens=_VERDICT_TOKENS)
    try:
        completion = await complete(chat, request)
    except InvalidInput:
        return 0.0
    given = prose.probability_of_true(completion.marks[0].top) if completion.marks else None
    return float("true" in completion.text) if given is None else given


async def _calls_natively(chat: ChatModel, task: str, tool: str) -> bool:
    request = ChatRequest((Message("system", native.instructions(_TOOLS)), Message("user", task)), max_tokens=80)
    try:
        call = native.call((await complete(chat, request)).text)
    except (ContentError, InvalidInput):
        return False
    return call is not None and call.tool == tool
