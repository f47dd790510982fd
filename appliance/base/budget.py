"""Bounds on foreign content and on time: what is over a bound fails with the bound in the error."""

import time
from dataclasses import dataclass

from appliance.errors import DeadlineExceeded, LimitExceeded


@dataclass(slots=True)
class Budget:
    """An amount that may be spent once.

    *what* names it in the error ("bytes of the archive", "entries").
    """

    limit: int
    what: str
    spent: int = 0

    def spend(self, amount: int = 1) -> None:
        """Take *amount* off; raise `LimitExceeded` if it is not there."""
        self.spent += amount
        if self.spent > self.limit:
            raise LimitExceeded(f"More than {self.limit:,} {self.what}.", limit=self.limit, spent=self.spent)

    @property
    def left(self) -> int:
        """What can still be spent."""
        return max(0, self.limit - self.spent)


class Deadline:
    """A moment after which work must have ended."""

    def __init__(self, seconds: float, *, what: str) -> None:
        self.seconds = seconds
        self.what = what
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that remain, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise `DeadlineExceeded` once the moment has passed."""
        if not self.left:
            raise DeadlineExceeded(f"{self.what} took longer than {self.seconds:g} s.", seconds=self.seconds)
