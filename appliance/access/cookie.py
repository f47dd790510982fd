"""The session cookie, as every door writes and reads it.

``__Host-`` ties it to this very origin, ``Secure`` keeps it off plain networks: browsers make an exception for loopback.
"""

from collections.abc import Iterable
from typing import Final

NAME: Final = "__Host-skellig"

_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Strict"


def granted(secret: str) -> str:
    """Return the ``Set-Cookie`` value that gives a browser the session *secret*, until the browser is closed."""
    return f"{NAME}={secret}; {_ATTRIBUTES}"


def withdrawn() -> str:
    """Return the ``Set-Cookie`` value that takes the session away."""
    return f"{NAME}=; Max-Age=0; {_ATTRIBUTES}"


def sent(headers: Iterable[str]) -> str | None:
    """Return the session secret in the ``Cookie`` *headers*, or None when they have none."""
    for header in headers:
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name == NAME and value:
                return value
    return None
