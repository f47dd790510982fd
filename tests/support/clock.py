"""Time that moves when a test says so."""


class FakeClock:
    """Both clocks at once; `set` moves only the one that an administrator can set."""

    def __init__(self, *, now: float = 1_800_000_000.0, monotonic: float = 1_000.0) -> None:
        self._now = now
        self._monotonic = monotonic

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def set(self, seconds: float) -> None:
        """Move the wall clock alone."""
        self._now += seconds

    def reboot(self) -> None:
        """Start the monotonic clock anew."""
        self._monotonic = 1.0
