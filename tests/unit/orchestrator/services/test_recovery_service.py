import asyncio
from collections.abc import Sequence

import pytest

from appliance.errors import (
    ApplianceError,
    Blocked,
    BudgetExhausted,
    Cancelled,
    Conflict,
    DeadlineExceeded,
    EngineUnavailable,
    InvalidInput,
    MalformedContent,
    NotFound,
    NotGranted,
    PromptTooLong,
    StoreCorrupt,
    Throttled,
    ToolFailed,
)
from appliance.orchestrator.services.recovery import Fault, LocalRecoveryService, Step, StuckLoop
from tests.support.calls import Stop


class Pauses:
    """A sleep that takes no time and remembers how long it would have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def recovery(pauses: Pauses | None = None, *, chance: float = 0.0, attempts: int = 4) -> LocalRecoveryService:
    return LocalRecoveryService(sleep=pauses or Pauses(), chance=lambda: chance, attempts=attempts)


@pytest.mark.parametrize(
    ("error", "fault", "action"),
    [
        (EngineUnavailable("x"), "transient", "retry"),
        (DeadlineExceeded("x"), "transient", "retry"),
        (Throttled("x"), "transient", "retry"),
        (PromptTooLong("x"), "overflow", "compact"),
        ("length", "cut_off", "shorten"),
        (MalformedContent("x"), "malformed", "ask_again"),
        (InvalidInput("x"), "mistaken", "tell_model"),
        (NotFound("x"), "mistaken", "tell_model"),
        (Conflict("x"), "mistaken", "tell_model"),
        (ToolFailed("x"), "mistaken", "tell_model"),
        (NotGranted("x"), "denied", "tell_model"),
        (Blocked("x"), "denied", "tell_model"),
        (BudgetExhausted("x"), "exhausted", "answer_now"),
        (Cancelled("x"), "cancelled", "stop"),
        (asyncio.CancelledError(), "cancelled", "stop"),
        ("cancelled", "cancelled", "stop"),
        (StoreCorrupt("x"), "broken", "stop"),
        (RuntimeError("x"), "broken", "stop"),
        ("", "broken", "stop"),
    ],
)
def test_each_fault_has_its_class_and_what_to_do_about_it(error: BaseException | str, fault: Fault, action: str) -> None:
    service = recovery()
    assert service.classify_error(error) == fault
    assert service.select_recovery_action(fault, attempt=1).action == action


@pytest.mark.parametrize("fault", ["transient", "overflow", "cut_off", "malformed", "mistaken", "denied", "broken"])
def test_nothing_is_tried_for_ever(fault: Fault) -> None:
    assert recovery().select_recovery_action(fault, attempt=4).action == "stop"


def failing(*errors: ApplianceError) -> tuple[list[int], "Work"]:
    tries: list[int] = []
    return tries, Work(tries, list(errors))


class Work:
    def __init__(self, tries: list[int], errors: list[ApplianceError]) -> None:
        self.tries = tries
        self.errors = errors

    async def __call__(self) -> str:
        self.tries.append(len(self.tries) + 1)
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def test_what_may_pass_is_tried_again_after_growing_pauses() -> None:
    pauses = Pauses()
    tries, work = failing(*(EngineUnavailable("down") for _ in range(3)))
    assert asyncio.run(recovery(pauses).retry_with_exponential_backoff(work)) == "done"
    assert (len(tries), pauses.seconds) == (4, [0.5, 1.0, 2.0])


def test_chance_makes_pauses_shorter_by_at_most_a_half() -> None:
    pauses = Pauses()
    _, work = failing(EngineUnavailable("down"), EngineUnavailable("down"))
    asyncio.run(recovery(pauses, chance=1.0).retry_with_exponential_backoff(work))
    assert pauses.seconds == [0.25, 0.5]


def test_after_the_last_try_the_last_error_is_raised() -> None:
    last = EngineUnavailable("the fourth")
    tries, work = failing(*(EngineUnavailable("down") for _ in range(3)), last)
    with pytest.raises(EngineUnavailable) as raised:
        asyncio.run(recovery().retry_with_exponential_backoff(work))
    assert raised.value is last
    assert len(tries) == 4


@pytest.mark.parametrize(
    "error", [InvalidInput("x"), NotGranted("x"), StoreCorrupt("x"), Cancelled("x"), PromptTooLong("x")]
)
def test_what_will_not_pass_is_not_tried_again(error: ApplianceError) -> None:
    tries, work = failing(error)
    with pytest.raises(type(error)):
        asyncio.run(recovery().retry_with_exponential_backoff(work))
    assert len(tries) == 1


def test_whoever_says_how_long_to_wait_is_waited_for_within_reason() -> None:
    pauses = Pauses()
    _, work = failing(Throttled("busy", retry_after=7))
    asyncio.run(recovery(pauses).retry_with_exponential_backoff(work))
    assert pauses.seconds == [7.0]
    tries, work = failing(Throttled("busy", retry_after=100_000))
    with pytest.raises(Throttled):
        asyncio.run(recovery(pauses).retry_with_exponential_backoff(work))
    assert len(tries) == 1


def test_a_run_that_was_stopped_is_not_tried_again() -> None:
    tries, work = failing(*(EngineUnavailable("down") for _ in range(3)))
    with pytest.raises(Cancelled):
        asyncio.run(recovery().retry_with_exponential_backoff(work, cancellation=Stop(stopped=True)))
    assert len(tries) == 1


def steps(names: str) -> Sequence[Step]:
    return [Step(name.lower(), name) for name in names]


@pytest.mark.parametrize(
    ("made", "loop"),
    [
        ("AAA", StuckLoop(1, 3)),
        ("XYAAA", StuckLoop(1, 3)),
        ("ABABAB", StuckLoop(2, 3)),
        ("XABABAB", StuckLoop(2, 3)),
        ("ABCABCABC", StuckLoop(3, 3)),
        ("", None),
        ("AA", None),
        ("ABAB", None),
        ("AAAB", None),
        ("ABABAC", None),
        ("ABCDABCDABCD", None),
        ("AaA", None),  # the same action, and it saw something else
    ],
)
def test_a_loop_is_the_same_steps_with_the_same_results_again_and_again(made: str, loop: StuckLoop | None) -> None:
    found = recovery().detect_stuck_loop(steps(made))
    assert found == loop
    if found is not None:
        assert "paused" in found.sentence
        assert recovery().select_recovery_action("stuck", attempt=1).action == "pause"
