"""How far something is, in lines, where no bar can move: in a pipe, or in the log of a build."""

import time
from collections.abc import Callable
from typing import Final

_FIRST_S: Final = 5.0  # what is done by then needs no line
_EVERY_S: Final = 15.0


class Lines:
    """Says a line once something has taken 5 seconds, and from then on at each new phase and every 15 seconds."""

    def __init__(self, say: Callable[[str], None], *, now: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._now = now
        self._due = now() + _FIRST_S
        self._phase: str | None = None

    def tell(self, phase: str, how_far: str = "") -> None:
        """Take note of where it is."""
        now = self._now()
        if now < self._due and (self._phase is None or phase == self._phase):
            return
        self._due, self._phase = now + _EVERY_S, phase
        self._say(f"{phase}: {how_far}" if how_far else phase)
