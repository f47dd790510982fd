"""Login with a one-time token, and logout."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Final

from litestar import Response, get, post
from litestar.params import QueryParameter, URLEncodedBody
from litestar.response import Redirect

from appliance.access import cookie
from appliance.console.render import Fault, Page
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError
from appliance.web.requests import address_of
from appliance.web.wiring import Asked, Wired

HOME: Final = "/ask"
COMMAND: Final = "skellig up"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The form: the token, and the page that was wanted before."""

    token: str = ""
    next: str = HOME


@dataclass(frozen=True, slots=True)
class LoginView:
    """The page."""

    next: str
    command: str = COMMAND
    fault: Fault | None = None


@get("/login")
async def show(
    services: Wired,
    pages: Pages,
    next: Annotated[str, QueryParameter(max_length=4000)] = HOME,  # noqa: A002 - in the address
) -> Response[str]:
    """Show the form."""
    return pages.response("login.html", page=Page("Log in", "", services.clock.now()), view=LoginView(local(next)))


@post("/login")
async def enter(
    data: URLEncodedBody[Credentials],
    request: Asked,
    services: Wired,
    pages: Pages,
) -> Response[str] | Redirect:
    """Exchange the token for a session; a wrong or used one brings the form back with the reason."""
    try:
        secret = await asyncio.to_thread(services.access.login, data.token.strip(), address=address_of(request.scope))
    except ApplianceError as exc:
        fault = Fault.told(exc, request=request)
        view = LoginView(local(data.next), fault=fault)
        page = Page("Log in", "", services.clock.now())
        return pages.response("login.html", page=page, view=view, fault=fault)
    return Redirect(local(data.next), status_code=303, headers={"set-cookie": cookie.granted(secret)})


@post("/logout", opt={"permission": "read"})
async def leave(request: Asked, services: Wired) -> Redirect:
    """End the session on the server, and take its cookie back."""
    secret = cookie.sent(request.headers.getall("cookie", []))
    if secret is not None:
        await asyncio.to_thread(services.access.logout, secret, address=address_of(request.scope))
    return Redirect("/login", status_code=303, headers={"set-cookie": cookie.withdrawn()})


def local(address: str) -> str:
    """Return *address* if it is a page of ours, else the home page: a login never leads to another site."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if plain and not address.startswith(("/login", "/logout")) else HOME
