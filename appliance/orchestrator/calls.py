"""What is kept of a call: a digest that binds a decision to it, and its arguments, bounded and without secrets."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from appliance.codeintel.source.secrets import masked
from appliance.contracts.tools import Json
from appliance.errors import InvalidInput, LimitExceeded
from appliance.orchestrator.fence import visible

MOST_BYTES: Final = 262_144  # of the arguments of one call
MOST_DEPTH: Final = 32
SHOWN_CHARACTERS: Final = 20_000


def canonical(arguments: Mapping[str, Json]) -> str:
    """Return *arguments* as the one JSON text that they have: sorted, ASCII, without spaces.

    Raise `InvalidInput` for what JSON cannot say, and `LimitExceeded` for what is larger than `MOST_BYTES` or too deep.
    """
    _bound_depth(arguments)
    try:
        text = json.dumps(
            arguments, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_plain
        )
    except (TypeError, ValueError) as exc:
        raise InvalidInput("The arguments are not JSON.", remedy="Send one JSON object, without NaN or Infinity.") from exc
    if len(text) > MOST_BYTES:
        raise LimitExceeded(
            f"The arguments are {len(text):,} bytes of JSON; {MOST_BYTES:,} are taken.",
            remedy="Send less in one call.",
            limit=MOST_BYTES,
            size=len(text),
        )
    return text


def digest_of(what: str, arguments: Mapping[str, Json]) -> str:
    """Return the SHA-256 of a call of *what* with exactly *arguments*; the order of keys does not matter."""
    return hashlib.sha256(f"{what}\n{canonical(arguments)}".encode("ascii", "backslashreplace")).hexdigest()


def shown(arguments: Mapping[str, Json], *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return *arguments* as people and records may see them, cut after *limit* characters, which is then said.

    It is JSON with every secret masked; signs that cannot be seen, or that turn text around, stand as escapes.
    """
    text = json.dumps(_clean(arguments), sort_keys=True, ensure_ascii=False, default=_plain)
    clean = visible(without_secrets(text))
    return clean if len(clean) <= limit else f"{clean[:limit]}… ({len(clean) - limit:,} more characters)"


def without_secrets(text: str) -> str:
    """Return *text* with a mask over each secret in it; it can be stored."""
    return masked(text.encode("utf-8", "backslashreplace"))[0].decode()


def storable(text: str) -> str:
    """Return *text* with escapes for the halves of signs that JSON can hold, and neither SQLite nor a hash can."""
    return text.encode("utf-8", "backslashreplace").decode()


def _clean(value: Json) -> Json:
    """Mask each text by itself: forms that go by lines are not seen once its line ends are escaped."""
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {without_secrets(str(key)): _clean(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


def _bound_depth(arguments: Mapping[str, Json]) -> None:
    level: list[Json] = [arguments]
    for _ in range(MOST_DEPTH):
        level = list(islice((inner for value in level for inner in _inside(value)), MOST_BYTES + 1))
        if not level:
            return
        if len(level) > MOST_BYTES:  # what holds one thing many times over can be small, and endless as a text
            break
    raise LimitExceeded(
        f"The arguments are nested more than {MOST_DEPTH} deep, or too many.",
        remedy="Send flat arguments.",
        limit=MOST_DEPTH,
    )


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
