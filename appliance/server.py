"""The ASGI application: the doors over the services, behind one gate, in one envelope."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from litestar import Litestar, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from appliance import __version__
from appliance.access import cookie
from appliance.api import problems
from appliance.api.envelope import Envelope, Refused
from appliance.api.guards import Gate, permitted
from appliance.api.v1.routes import PREFIX, routes
from appliance.base import log
from appliance.config import load
from appliance.console.render import Renderer
from appliance.console.site import refusal, renderer, router
from appliance.mcp.door import Door
from appliance.services import CLI_KEY, Services, build
from appliance.web.requests import request_id_of, wants_page
from appliance.web.wiring import Asked

MAX_BODY: Final = 1_000_000

_THREADS: Final = 32


def create_app(services: Services | None = None) -> Litestar:
    """Return the application over *services*, or over those that the environment's settings say.

    At its start it leaves a key for the command line in the run directory. Services that were built here are closed at
    its end; those that were handed in are not.
    """
    own = services is None
    served = _from_environment() if services is None else services

    async def ready() -> None:
        # Each request looks up who asks, and reads files, in a thread: the default is six of them on two cores.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="web"))
        served.access.keys.ensure_local(served.paths.run / CLI_KEY)
        app.state.warming = asyncio.create_task(served.warm())

    async def done() -> None:
        app.state.warming.cancel()
        await asyncio.wait([app.state.warming])
        await asyncio.gather(door.close(), served.agents.close())
        if own:
            served.close()

    pages, door = renderer(), Door(served)
    refused = _refused(pages)
    app = Litestar(
        [*routes(), router(pages), door.route()],
        dependencies={"services": Provide(lambda: served, sync_to_thread=False)},
        guards=[permitted],
        exception_handlers={Exception: refused, RecursionError: refused, HTTPException: refused},
        openapi_config=_openapi(),
        request_max_body_size=MAX_BODY,
        logging_config=None,
        on_startup=[ready],
        on_shutdown=[done],
        debug=False,
    )
    app.state.leave = door.leave  # the server waits for whoever is being answered, and some listen for ever
    app.asgi_handler = Envelope(_gated(app, served), refused=refused, metrics=served.metrics)
    return app


def _gated(app: Litestar, served: Services) -> Gate:
    return Gate(app.asgi_handler, access=served.access, web=served.settings.web)


def _from_environment() -> Services:
    loaded = load(environ=os.environ)
    log.configure(level=loaded.settings.log.level, json=loaded.settings.log.format == "json")
    return build(loaded)


def _refused(pages: Renderer) -> Refused:
    """Return what tells errors outside every door, an unknown address first: pages to browsers, problems to programs."""

    def refused(request: Asked, error: Exception) -> Response[bytes] | Response[str]:
        if wants_page(request.scope["path"], request.headers):
            return refusal(request, error, pages=pages)
        return problems.response_to(error, request_id=request_id_of(request.scope))

    return refused


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Skellig",
        version=__version__,
        description="Search code and ask about it: evidence first, each citation exact at its commit.",
        path=f"{PREFIX}/openapi.json",  # the framework answers everything below this path itself
        render_plugins=[JsonRenderPlugin(path="/")],
        components=Components(
            security_schemes={
                "key": SecurityScheme(type="http", scheme="bearer", description="An API key."),
                "session": SecurityScheme(type="apiKey", name=cookie.NAME, security_scheme_in="cookie"),
            }
        ),
        security=[{"key": []}, {"session": []}],
        use_handler_docstrings=True,
    )
