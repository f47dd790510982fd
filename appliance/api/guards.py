"""What stands before every route: the right host, somebody known, no other site's hand on a browser's session.

Everything is refused that is not let in here, addresses that do not exist among it.
"""

import asyncio
import re
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import quote

from litestar.connection import ASGIConnection
from litestar.datastructures import Headers, State
from litestar.enums import ScopeType
from litestar.exceptions import NotAuthorizedException
from litestar.handlers import BaseRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Receive, Scope, Send

from appliance.access import cookie
from appliance.access.desk import Access
from appliance.access.principal import Permission, Principal
from appliance.base.paths import display
from appliance.config import Web
from appliance.errors import Forbidden, InvalidInput, Unauthenticated, WrongHost
from appliance.web.origins import check_origin
from appliance.web.requests import address_of, wants_page

_HOST: Final = re.compile(r"(?:\[(?P<literal>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]*)?")

PUBLIC: Final = frozenset(
    {
        ("GET", "/api/v1/health"),
        ("GET", "/api/v1/identity"),
        ("POST", "/api/v1/login"),
        ("GET", "/login"),
        ("POST", "/login"),
    },
)
"""What needs no login: whether the appliance is up, which one it is, and the login itself."""

PUBLIC_FOLDER: Final = "/static/"

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN: Final = 60  # characters of a name that is none
_NO_PARAMETERS: Final = frozenset({"self", "data", "request"})  # what Litestar gives by these names
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


def public(method: str, path: str) -> bool:
    """Return whether *method* on *path* needs no login."""
    return (method, path) in PUBLIC or (method in {"GET", "HEAD"} and path.startswith(PUBLIC_FOLDER))


def hosts_of(web: Web) -> frozenset[str] | None:
    """Return the host names that requests may name, or None for any.

    On loopback a page of another site could otherwise make its own name resolve to this machine and talk to us. Behind a
    unix socket, or bound to every address, we cannot know our names; there, nothing but a login lets anybody in.
    """
    if web.socket is not None or web.host in _EVERYWHERE:
        return None
    return _LOOPBACK | {web.host.lower()}


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request brings: the session's secret, a key."""

    session: str | None
    bearer: str | None

    @classmethod
    def of(cls, headers: Headers) -> "Credentials":
        """Return the credentials in *headers*."""
        scheme, _, key = headers.get("authorization", "").partition(" ")
        bearer = key.strip() if scheme.lower() == "bearer" else None
        return cls(cookie.sent(headers.getall("cookie", [])), bearer)


class Gate:
    """The ASGI layer that lets requests through to *app* with ``scope["user"]`` set: a principal, or None where public."""

    def __init__(self, app: ASGIApp, *, access: Access, web: Web) -> None:
        self._app = app
        self._access = access
        self._hosts = hosts_of(web)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, send a browser to the login page, or raise `Forbidden` or `Unauthenticated`."""
        if scope["type"] != ScopeType.HTTP:
            raise Forbidden("Only plain HTTP is spoken here.")
        headers = Headers.from_scope(scope)
        method, path = scope["method"], scope["path"]
        if not path.startswith(PUBLIC_FOLDER):  # what a refusal is shown with; there is nothing to learn or change
            self._check_host(headers)
        credentials = Credentials.of(headers)
        if method not in _SAFE and credentials.bearer is None:
            check_origin(headers, with_session=credentials.session is not None)
        try:
            principal: Principal | None = await asyncio.to_thread(
                self._access.authenticate,
                session=credentials.session,
                bearer=credentials.bearer,
                address=address_of(scope),
            )
        except Unauthenticated:
            if not public(method, path):
                if method == "GET" and wants_page(path, headers):
                    await _to_login(path, scope["query_string"])(scope, receive, send)
                    return
                raise
            principal = None
        scope["user"] = principal
        scope["auth"] = principal.kind if principal else ""
        await self._app(scope, receive, send)

    def _check_host(self, headers: Headers) -> None:
        if self._hosts is None:
            return
        if _host_name(headers.get("host", "")) not in self._hosts:
            raise WrongHost(
                "This is not the name of this appliance.",
                remedy="Use the address that `skellig status` shows, or localhost.",
            )


def permitted(connection: ASGIConnection[BaseRouteHandler, Principal | None, str, State], handler: BaseRouteHandler) -> None:
    """Guard of every route: raise `Forbidden` unless the caller has the permission that the route needs.

    That is the route's ``permission`` option; without one, ``read`` for safe methods and ``manage`` for the others.
    """
    method = str(connection.scope.get("method", ""))
    principal = connection.scope.get("user")
    if not isinstance(principal, Principal):
        if not public(method, connection.scope["path"]):
            raise NotAuthorizedException
        return
    default: Permission = "read" if method in _SAFE else "manage"
    principal.require(handler.opt.get("permission", default))


def named_right(
    connection: ASGIConnection[BaseRouteHandler, Principal | None, str, State], handler: BaseRouteHandler
) -> None:
    """Guard of the API's routes: raise `InvalidInput` for a parameter in the address that the route does not have.

    One that is spelled wrong would else be as good as left out, and another question answered than was asked.
    """
    known = _parameters(handler) - connection.path_params.keys()
    for name in connection.query_params:
        if name not in known:
            there = ", ".join(sorted(known))
            said = f"There is no parameter {display(name[:_SHOWN])!r} here."
            raise InvalidInput(said, remedy=f"There are: {there}." if there else "There are none.")


@cache
def _parameters(handler: BaseRouteHandler) -> frozenset[str]:
    """Return what the function of *handler*, and what it is given by others, take from the address."""
    given = handler.resolve_dependencies()
    functions = (handler.parsed_fn_signature, *(each.parsed_fn_signature for each in given.values()))
    taken = {name for function in functions for name in function.parameters}
    return frozenset(taken - given.keys() - _NO_PARAMETERS)


def _host_name(host: str) -> str:
    """Return the name in a ``Host`` header, or "" for one that is no name with at most a port."""
    match = _HOST.fullmatch(host)
    return (match["literal"] or match["name"]).lower() if match else ""


def _to_login(path: str, query: bytes) -> ASGIResponse:
    wanted = path + (f"?{query.decode('latin-1')}" if query else "")
    location = "/login" if wanted == "/" else f"/login?next={quote(wanted, safe='/')}"
    return ASGIResponse(
        status_code=303, headers={"location": location, "cache-control": "no-store"}, media_type="text/plain"
    )
