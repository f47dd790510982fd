"""What an engine is: one model, loaded once, asked many times. Everything that speaks to a model speaks to this."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

from appliance.contracts.chat import ChatDelta, ChatRequest, Message

if TYPE_CHECKING:  # every command reads the catalog, which names roles: a third of a command's start would be numpy's
    import numpy as np
    import numpy.typing as npt

Role = Literal["chat", "embed"]
Priority = Literal["interactive", "background"]  # somebody waits for it, or nobody does
State = Literal["ready", "loading", "down", "failed", "off"]
LOAD_SECONDS: Final = 300.0  # after that an engine that still loads its model gives up
COMPILE_SECONDS: Final = 900.0  # likewise, for one that compiles its model for the card
PROBE: Final = ChatRequest([Message("user", "Say yes.")], max_tokens=8, schema={"enum": ["yes"]}, top=2)
_IMPOSSIBLE: Final = -1000.0  # what engines write for minus infinity lies below


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What is loaded. *context* is in tokens; *dimensions* is 0 for an engine that makes no vectors."""

    role: Role
    model: str
    context: int
    dimensions: int = 0


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """Whether an engine can be asked now, and if not, why, in a sentence."""

    state: State
    detail: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine was seen to do when it started; its name or version is never asked."""

    chat: bool = False
    schema: bool = False
    candidates: bool = False
    embed: bool = False


class Engine(Protocol):
    """One model behind one interface.

    An engine refuses what it cannot do with `InvalidInput`; it never does something else instead.
    """

    @property
    def info(self) -> EngineInfo:
        """What is loaded, or about to be."""

    @property
    def capabilities(self) -> Capabilities:
        """What the probe at the start found; all false before the engine is ready."""

    @property
    def health(self) -> EngineHealth:
        """``loading`` until `start` has returned, ``failed`` if it or the engine broke, else ``ready``."""

    async def start(self) -> None:
        """Load the model, warm it up and probe it. Raise `EngineUnavailable` with the reason when it cannot be loaded."""

    def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion; the last delta has *finish* and the counts.

        Closing the iterator ends the work and frees its slot, also while the prompt is being read. A prompt that does not
        fit raises `PromptTooLong` before the first delta; it is never cut.
        """

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> "npt.NDArray[np.float32]":
        """Return one unit vector a text, shape (len(texts), dimensions). Text beyond the model's window has no influence.

        What is asked in the background never delays what is not, by more than the machine itself does.
        """

    async def tokenize(self, text: str) -> list[int]:
        """Return the model's token ids for *text*, without a beginning or end mark."""

    async def broken(self) -> str:
        """Wait until the engine can work no more, and return why. Most engines never do."""

    async def close(self) -> None:
        """Give back everything; the engine cannot be started again."""


class Stated:
    """What every engine of ours tells of itself; whoever is one sets it as it learns it."""

    def __init__(self, info: EngineInfo) -> None:
        self._info = info
        self._health = EngineHealth("loading", "The model is being loaded.", info.model)
        self._capabilities = Capabilities()

    @property
    def info(self) -> EngineInfo:
        """What is loaded, or about to be."""
        return self._info

    @property
    def capabilities(self) -> Capabilities:
        """What the probe at the start found."""
        return self._capabilities

    @property
    def health(self) -> EngineHealth:
        """``loading``, ``ready`` or ``failed``."""
        return self._health


def seen(deltas: Sequence[ChatDelta]) -> Capabilities:
    """Return what a chat engine can do, by what it answered to `PROBE`.

    The second-best candidate of a forced token has a probability only where it was taken before the constraint.
    """
    text = "".join(delta.text for delta in deltas)
    return Capabilities(
        chat=bool(text),
        schema=text.strip() == '"yes"',
        candidates=any(len(delta.top) > 1 and delta.top[1].logprob > _IMPOSSIBLE for delta in deltas),
    )
