"""Time, handed in through constructors so that tests never sleep."""

import time
from typing import Protocol


class Clock(Protocol):
    """What the time is, and how long things take."""

    def now(self) -> float:
        """Return seconds since the epoch, UTC. May jump when an administrator sets the clock."""

    def monotonic(self) -> float:
        """Return seconds that only grow, shared by all processes since the machine started."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> float:
        """Return seconds since the epoch, UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since the machine started (CLOCK_MONOTONIC)."""
        return time.monotonic()
