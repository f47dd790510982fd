"""How the console writes numbers, sizes and times: with units, absolute on hover, relative in the text."""

from collections.abc import Callable
from datetime import UTC, datetime

from markupsafe import Markup, escape

Runs = tuple[tuple[str, bool], ...]

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def number(value: float) -> str:
    """Return a whole number with its thousands apart: ``12,345``."""
    return f"{value:,.0f}"


def count(value: int, noun: str) -> str:
    """Return the number and its noun: ``1 file``, ``3 repositories``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    return f"{value:,} {noun if value == 1 else plural}"


def percent(share: float) -> str:
    """Return a share of 0 to 1 in percent; 100 % only when nothing is missing, 0 % only when all is."""
    whole = round(share * 100)
    if whole == 100 and share < 1:
        whole = 99
    if whole == 0 and share > 0:
        whole = 1
    return f"{whole} %"


def size(value: float) -> str:
    """Return bytes in the unit that fits: ``1.1 GB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def milliseconds(value: float) -> str:
    """Return a short span of time: ``0.4 ms``, ``96 ms``, ``4.1 s``."""
    if value < 10:
        return f"{value:.1f} ms"
    return f"{value:.0f} ms" if value < 1000 else duration(value / 1000)


def duration(seconds: float) -> str:
    """Return a span of time in its two largest units: ``4.1 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"


def ago(at: float, now: float) -> str:
    """Return how long before *now* a moment was: ``just now``, ``3 min ago``, ``2 days ago``."""
    passed = now - at
    if passed < _MINUTE:
        return "just now" if passed > -_MINUTE else absolute(at)
    if passed < _HOUR:
        return f"{passed // _MINUTE:.0f} min ago"
    if passed < _DAY:
        return f"{passed // _HOUR:.0f} h ago"
    return f"{count(int(passed // _DAY), 'day')} ago"


def absolute(at: float) -> str:
    """Return a moment in full: ``2026-11-29 19:52:08 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def iso(at: float) -> str:
    """Return a moment for machines: ``2026-11-29T19:52:08Z``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def short(object_id: str) -> str:
    """Return the first 10 characters of a commit or blob id."""
    return object_id[:10]


def step(name: str) -> str:
    """Return the name of a timed step as a person reads it: ``first_token_ms`` is ``first token``."""
    return name.removesuffix("_ms").replace("_", " ")


def runs(text: str) -> Runs:
    """Part *text* at its backquotes: (run, whether it is code)."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return ((text, False),)
    return tuple((part, i % 2 == 1) for i, part in enumerate(parts) if part)


def coded(text: str) -> Markup:
    """Return *text* escaped, with what stands in backquotes as ``<code>``."""
    return Markup("").join(Markup("<code>{}</code>").format(run) if is_code else escape(run) for run, is_code in runs(text))


FILTERS: dict[str, Callable[..., str]] = {
    "absolute": absolute,
    "ago": ago,
    "bytes": size,
    "coded": coded,
    "count": count,
    "duration": duration,
    "iso": iso,
    "ms": milliseconds,
    "number": number,
    "percent": percent,
    "short": short,
    "step": step,
}
