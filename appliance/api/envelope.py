"""The outermost layer: each response leaves with an id and the security headers, counted and logged; no error gets by."""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Final

from litestar import Request, Response
from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.exceptions import ClientException
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, HTTPReceiveMessage, Message, Receive, Scope, Send

from appliance.access.principal import Principal
from appliance.base import log
from appliance.base.metrics import Metrics
from appliance.base.paths import display
from appliance.web.wiring import Asked

_log = log.get("http")

BODY_S: Final = 10.0

Refused = Callable[[Asked, Exception], Response[bytes] | Response[str]]

SECURITY_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}


class Envelope:
    """Wraps *app*; *refused* says an error that comes from outside the routes.

    *body_seconds* is how long a client may take to send a request's body.
    """

    def __init__(self, app: ASGIApp, *, refused: Refused, metrics: Metrics, body_seconds: float = BODY_S) -> None:
        self._app = app
        self._refused = refused
        self._metrics = metrics
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, whatever happens below."""
        started = time.monotonic()
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])  # some send an enum
                headers = MutableScopeHeaders.from_message(message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers["x-request-id"] = request_id
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._app(scope, self._in_time(scope, receive), send_on)
        except Exception as exc:  # noqa: BLE001 - the outermost loop of a request
            if status:
                _log.error("request.broke_off", request=request_id, exc_info=exc)
            else:
                await _sent(self._refused(Request(scope), exc))(scope, receive, send_on)
        finally:
            self._record(scope, status, request_id=request_id, seconds=time.monotonic() - started)

    def _in_time(self, scope: Scope, receive: Receive) -> Receive:
        headers = Headers.from_scope(scope)
        if "transfer-encoding" not in headers and headers.get("content-length", "0") == "0":
            return receive
        deadline = asyncio.get_running_loop().time() + self._body_seconds
        whole = False

        async def receive_in_time() -> HTTPReceiveMessage:
            nonlocal whole
            if whole:
                return await receive()  # type: ignore[return-value]
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as exc:
                raise ClientException("The body came too slowly.", status_code=408) from exc
            if message["type"] == "http.disconnect":
                raise ClientException("The body broke off.")
            whole = not message.get("more_body")
            return message  # type: ignore[return-value]

        return receive_in_time

    def _record(self, scope: Scope, status: int, *, request_id: str, seconds: float) -> None:
        method: str = scope["method"] if scope["type"] == ScopeType.HTTP else ""
        method = method if method in {"GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"} else "other"
        self._metrics.http.labels(method, str(status)).inc()
        user = scope.get("user")
        _log.info(
            "http.request",
            request=request_id,
            method=method,
            path=display(scope["path"])[:300],
            status=status,
            ms=round(seconds * 1000, 1),
            user=user.name if isinstance(user, Principal) else "",
        )


def _sent(response: Response[bytes] | Response[str]) -> ASGIResponse:
    """Return *response* for a request that no application has taken up."""
    return ASGIResponse(
        body=response.content,
        status_code=response.status_code or 500,
        media_type=response.media_type or "",
        headers=response.headers,
    )
