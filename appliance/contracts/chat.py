"""What is said to a chat model and what comes back, in the shape that every engine speaks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

JsonSchema = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for one completion. With *schema* the output is JSON of that schema, by constrained sampling.

    *top* asks for that many candidates of each token with their probabilities before the constraint.
    """

    messages: Sequence[Message]
    max_tokens: int = 512
    temperature: float = 0.0
    schema: JsonSchema | None = None
    top: int = 0
    seed: int = 0
    stop: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that could have stood here, and its natural log probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """A piece of a streamed completion. The last one has *finish*, and the counts."""

    text: str
    top: tuple[Candidate, ...] = ()
    finish: Literal["", "stop", "length", "cancelled"] = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
