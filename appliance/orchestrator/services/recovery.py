"""The recovery service: what went wrong, what to do about it, how often, and when to stop and ask a person."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeVar

from appliance.contracts.tools import Cancellation
from appliance.errors import (
    AccessError,
    ApplianceError,
    BudgetExhausted,
    CallerError,
    Cancelled,
    ContentError,
    PromptTooLong,
    Throttled,
    ToolFailed,
)

Fault = Literal[
    "transient",  # the same request may succeed later
    "overflow",  # the prompt does not fit the model
    "cut_off",  # the model reached its limit of tokens
    "malformed",  # the model wrote what is not of its form
    "mistaken",  # whoever asked can mend it: a wrong argument, an unknown name
    "denied",  # grants, rules or a person say no
    "exhausted",  # a budget is used up
    "stuck",  # the same steps again and again
    "cancelled",
    "broken",  # anything else
]
Action = Literal["retry", "compact", "shorten", "ask_again", "tell_model", "answer_now", "pause", "stop"]

ATTEMPTS: Final = 4
REPEATS: Final = 3
LONGEST_PATTERN: Final = 3  # steps after which a loop begins anew: A A A, A B A B A B, A B C A B C A B C

_FIRST_S: Final = 0.5
_LONGEST_S: Final = 30.0
_TOTAL_S: Final = 120.0
_Result = TypeVar("_Result")
_FAULTS: Final[Sequence[tuple[type[ApplianceError], Fault]]] = (
    (Cancelled, "cancelled"),
    (PromptTooLong, "overflow"),
    (BudgetExhausted, "exhausted"),
    (AccessError, "denied"),
    (ContentError, "malformed"),
    (ToolFailed, "mistaken"),
    (CallerError, "mistaken"),
)
"""The first that fits is taken."""


@dataclass(frozen=True, slots=True)
class RecoveryAction:
    """What to do now. ``wait_s`` is before it is done."""

    action: Action
    reason: str
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One action of an agent and what it saw then, each by a digest or another text that is equal for equal ones."""

    action: str
    observation: str


@dataclass(frozen=True, slots=True)
class StuckLoop:
    """The same ``length`` steps, made ``repeats`` times one after the other."""

    length: int
    repeats: int

    @property
    def sentence(self) -> str:
        """What is said to people."""
        what = "step was" if self.length == 1 else f"{self.length} steps were"
        return f"The same {what} made {self.repeats} times with the same result, so the work is paused."


class RecoveryService(Protocol):
    """What decides after a failure."""

    def classify_error(self, error: BaseException | str) -> Fault:
        """Return what kind of fault *error* is: an exception, or a completion's finish reason."""

    def select_recovery_action(self, fault: Fault, *, attempt: int) -> RecoveryAction:
        """Return what to do after *fault* has happened *attempt* times, from 1."""

    async def retry_with_exponential_backoff(
        self, work: Callable[[], Awaitable[_Result]], *, cancellation: Cancellation | None = None
    ) -> _Result:
        """Return what *work* gives, tried again while its faults may pass; raise the last one."""

    def detect_stuck_loop(self, steps: Sequence[Step]) -> StuckLoop | None:
        """Return the loop that *steps* end in, None if they go somewhere."""


@dataclass(frozen=True, kw_only=True)
class LocalRecoveryService:
    """Bounded in attempts and in time. *chance* gives numbers from 0 to 1, *sleep* waits."""

    attempts: int = ATTEMPTS
    repeats: int = REPEATS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)

    def classify_error(self, error: BaseException | str) -> Fault:
        """Return what kind of fault *error* is: an exception, or a completion's finish reason."""
        if isinstance(error, str):
            finishes: dict[str, Fault] = {"length": "cut_off", "cancelled": "cancelled"}
            return finishes.get(error, "broken")
        if isinstance(error, asyncio.CancelledError):
            return "cancelled"
        if not isinstance(error, ApplianceError):
            return "broken"
        if error.retryable:
            return "transient"
        return next((fault for kind, fault in _FAULTS if isinstance(error, kind)), "broken")

    def select_recovery_action(self, fault: Fault, *, attempt: int) -> RecoveryAction:
        """Return what to do after *fault* has happened *attempt* times, from 1; after the last attempt it is to stop."""
        if fault == "cancelled":
            return RecoveryAction("stop", "The run was asked to stop.")
        if fault == "stuck":
            return RecoveryAction("pause", "The same steps led to the same results; a person's instruction goes on.")
        if fault == "exhausted":
            return RecoveryAction("answer_now", "The budget is used up: answer from what was found.")
        if fault == "broken" or attempt >= self.attempts:
            return RecoveryAction("stop", f"It failed {attempt} times." if attempt > 1 else "It cannot be mended here.")
        actions: dict[Fault, RecoveryAction] = {
            "transient": RecoveryAction("retry", "It may succeed later.", self._pause(attempt)),
            "overflow": RecoveryAction("compact", "The oldest messages must go."),
            "cut_off": RecoveryAction("shorten", "The answer must be shorter."),
            "malformed": RecoveryAction("ask_again", "What the model wrote could not be read."),
        }
        return actions.get(fault, RecoveryAction("tell_model", "The model can mend it, once it is told."))

    async def retry_with_exponential_backoff(
        self, work: Callable[[], Awaitable[_Result]], *, cancellation: Cancellation | None = None
    ) -> _Result:
        """Return what *work* gives, tried again while its faults may pass; raise the last one.

        The pauses grow by two, each by chance up to a half shorter so that many do not come back at once; a `Throttled` says
        itself how long to wait. There are at most *attempts* tries and 120 s of pauses. Raise `Cancelled` between two tries
        once *cancellation* says so.
        """
        waited = 0.0
        for attempt in range(1, self.attempts):
            try:
                return await work()
            except ApplianceError as exc:
                chosen = self.select_recovery_action(self.classify_error(exc), attempt=attempt)
                pause = max(chosen.wait_s, _asked_for(exc))
                if chosen.action != "retry" or waited + pause > _TOTAL_S:
                    raise
            await self.sleep(pause)
            waited += pause
            if cancellation is not None:
                cancellation.check()
        return await work()

    def detect_stuck_loop(self, steps: Sequence[Step]) -> StuckLoop | None:
        """Return the shortest loop that *steps* end in, made *repeats* times; None if they go somewhere.

        A step is the same where both action and observation are: to look again at what changes is no loop.
        """
        for length in range(1, LONGEST_PATTERN + 1):
            needed = length * self.repeats
            tail = list(steps[-needed:])
            if len(tail) == needed and all(tail[number] == tail[number % length] for number in range(needed)):
                return StuckLoop(length, self.repeats)
        return None

    def _pause(self, attempt: int) -> float:
        return float(min(_LONGEST_S, _FIRST_S * 2 ** (attempt - 1)) * (1 - self.chance() / 2))


def _asked_for(error: ApplianceError) -> float:
    seconds = error.context.get("retry_after") if isinstance(error, Throttled) else None
    return float(seconds) if isinstance(seconds, int | float) else 0.0
