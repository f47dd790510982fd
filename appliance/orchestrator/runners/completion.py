"""One completion, whole: under its schema or not at all."""

import json
import math
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest, JsonSchema
from appliance.contracts.tools import Json
from appliance.errors import MalformedContent

MOST_CHARACTERS: Final = 64_000  # far above what max_tokens lets through: a bound for an engine that ignores it


@dataclass(frozen=True, slots=True)
class Mark:
    """What could have stood at one place of a text: the token that begins at the character ``at``."""

    at: int
    token: str
    top: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote. ``marks`` are the first places where a value of JSON begins, if candidates were asked for."""

    text: str
    finish: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    marks: tuple[Mark, ...] = ()

    def deltas(self) -> list[ChatDelta]:
        """Return the completion as an engine would have streamed it, with the candidates where they were kept."""
        pieces: list[ChatDelta] = []
        at = 0
        for mark in self.marks:
            pieces += [ChatDelta(self.text[at : mark.at]), ChatDelta(mark.token, mark.top)]
            at = mark.at + len(mark.token)
        finish = "length" if self.finish == "length" else "stop"
        last = ChatDelta(self.text[at:], (), finish, self.prompt_tokens, self.completion_tokens)  # type: ignore[arg-type]
        return [*(piece for piece in pieces if piece.text), last]


_MARKS: Final = 3


async def complete(chat: ChatModel, request: ChatRequest) -> Completion:
    """Return what *chat* writes to *request*, whole; raise what the engine raises. Cancelled, it lets the engine go."""
    text, finish, counts, marks = "", "", (0, 0), list[Mark]()
    stream = chat.chat(request)
    try:
        async for delta in stream:
            if delta.top and len(marks) < _MARKS and _begins_value(text, delta.text):
                marks.append(Mark(len(text), delta.text, tuple(each for each in delta.top if math.isfinite(each.logprob))))
            text += delta.text
            finish = delta.finish or finish
            if delta.finish:
                counts = (delta.prompt_tokens, delta.completion_tokens)
            if len(text) > MOST_CHARACTERS:
                raise MalformedContent("The model wrote more than it was asked for.", characters=len(text))
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
    return Completion(text, finish, *counts, tuple(marks))


def parsed(completion: Completion, schema: JsonSchema) -> Mapping[str, Json]:
    """Return the object that *completion* is; raise `MalformedContent` where it is unfinished, or is not of *schema*.

    An engine that could not hold to the schema is found out here: what it wrote is never used.
    """
    if completion.finish == "length":
        raise MalformedContent("The model reached its limit of tokens before its end.", tokens=completion.completion_tokens)
    try:
        value: object = json.loads(completion.text)
    except (ValueError, RecursionError) as exc:
        raise MalformedContent("The model did not write JSON, though it was held to a schema.") from exc
    try:
        Draft202012Validator(dict(schema)).validate(value)
    except (ValidationError, RecursionError) as exc:
        raise MalformedContent("What the model wrote is not of the schema that it was held to.") from exc
    if not isinstance(value, dict):
        raise MalformedContent("What the model wrote is no JSON object.")
    return cast("Mapping[str, Json]", value)


def _begins_value(text: str, token: str) -> bool:
    before = text.rstrip()
    return bool(token.strip()) and before.endswith((":", ':"'))
