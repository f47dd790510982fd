"""What both doors read from a request, in one way."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from litestar.datastructures import Headers

from appliance.web.wiring import Asked

COMMIT: Final = r"^[0-9a-f]{40}([0-9a-f]{24})?$"
"""A whole commit id: git's sha1 or sha256."""

_PROGRAMS: Final = ("/api/", "/v1/", "/mcp")


def address_of(scope: Mapping[str, object]) -> str:
    """Return the client's address; requests over a unix socket have none and share one name."""
    client = scope.get("client")
    return str(client[0]) if isinstance(client, tuple | list) and client and client[0] else "local"


def caller_of(request: Asked) -> str:
    """Return the name of who asks, as the audit log has it."""
    return request.user.name if request.user is not None else ""


def request_id_of(scope: Mapping[str, object]) -> str:
    """Return the id that the request was given at the door, or nothing."""
    state = scope.get("state")
    found = state.get("request_id", "") if isinstance(state, dict) else ""
    return found if isinstance(found, str) else ""


def exact_path(query: bytes) -> str:
    """Return what *query* calls ``path``, with the very bytes that were sent; "" if it has none.

    The framework replaces those that are not UTF-8, and names that are not UTF-8 are names all the same.
    """
    try:
        sent = parse_qs(query.decode("ascii", "surrogateescape"), errors="surrogateescape", max_num_fields=100)
    except ValueError:  # more fields than any page of ours sends
        return ""
    path = sent.get("path", [""])[-1]
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def wants_page(path: str, headers: Headers) -> bool:
    """Return whether a browser wants to show what stands at *path*: what is for programs is never a page."""
    return not path.startswith(_PROGRAMS) and "text/html" in headers.get("accept", "")
