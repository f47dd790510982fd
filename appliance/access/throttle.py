"""A brake on guessing: each failure makes the next try wait longer, for that address and, mildly, for all."""

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from appliance.base.clock import Clock
from appliance.errors import Throttled

_FREE: Final = 3  # failures that cost nothing: people mistype
_LONGEST_S: Final = 60.0
_FORGET_S: Final = 900.0
_ADDRESSES: Final = 10_000
_GLOBAL_PER_MINUTE: Final = 100


@dataclass(slots=True)
class _Record:
    failures: int
    until: float  # no try before
    at: float


class Throttle:
    """Failures per address, in memory of the one process that listens. Safe for threads."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._all: deque[float] = deque(maxlen=_GLOBAL_PER_MINUTE)

    def check(self, address: str) -> None:
        """Return if *address* may try now; raise `Throttled` with the seconds to wait."""
        now = self._clock.monotonic()
        with self._lock:
            record = self._records.get(address)
            wait = record.until - now if record else 0.0
            if len(self._all) == _GLOBAL_PER_MINUTE:
                wait = max(wait, self._all[0] + 60 - now)
        if wait > 0:
            raise Throttled(
                "Too many failed tries.", remedy=f"Wait {wait:.0f} s, then try again.", retry_after=max(1, round(wait + 0.5))
            )

    def failed(self, address: str) -> None:
        """Count a failure of *address*: 1 s after the fourth, then twice as long each time, at most a minute."""
        now = self._clock.monotonic()
        with self._lock:
            record = self._records.pop(address, None)
            failures = 1 if record is None or now - record.at > _FORGET_S else record.failures + 1
            pause = min(2.0 ** (failures - _FREE - 1), _LONGEST_S) if failures > _FREE else 0.0
            self._records[address] = _Record(failures, now + pause, now)
            self._all.append(now)
            while len(self._records) > _ADDRESSES:
                self._records.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the failures of *address*."""
        with self._lock:
            self._records.pop(address, None)
