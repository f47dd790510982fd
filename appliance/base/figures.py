"""How shares are written where people read them."""

import math


def percent(share: float) -> str:
    """Return a *share* of 0 to 1 in percent, rounded down to a tenth: ``98.7%``. It is 100% only when nothing is missing."""
    return f"{math.floor(share * 1000 + 1e-6) / 10:g}%"
