"""Login by one-time token, and logout."""

from litestar import Controller, Response, post
from litestar.params import JSONBody

from appliance import errors
from appliance.access import cookie
from appliance.access.desk import ADMINISTRATOR
from appliance.api.guards import Credentials
from appliance.api.problems import documented
from appliance.api.schemas import LoginIn, LoginOut
from appliance.web.requests import address_of
from appliance.web.wiring import Asked, Wired


class LoginController(Controller):
    """``/api/v1/login`` and ``/api/v1/logout``."""

    tags = ("access",)

    @post(
        "/login",
        status_code=200,
        summary="Log in with a one-time token",
        security=[],
        responses=documented(errors.Throttled),
        sync_to_thread=True,
    )
    def login(self, data: JSONBody[LoginIn], request: Asked, services: Wired) -> Response[LoginOut]:
        """Use up the token and set the session cookie. The id of the session is new, whatever was sent before."""
        address = address_of(request.scope)
        secret = services.access.login(data.token, address=address)
        before = Credentials.of(request.headers).session
        if before is not None:
            services.access.sessions.end(before)
        return Response(LoginOut(name=ADMINISTRATOR), headers={"set-cookie": cookie.granted(secret)})

    @post(
        "/logout",
        status_code=204,
        summary="End the session",
        responses=documented(),
        opt={"permission": "read"},
        sync_to_thread=True,
    )
    def logout(self, request: Asked, services: Wired) -> Response[None]:
        """End the session on the server and take the cookie back. Without a session nothing happens."""
        session = Credentials.of(request.headers).session
        if session is not None:
            services.access.logout(session, address=address_of(request.scope))
        return Response(None, headers={"set-cookie": cookie.withdrawn()})
