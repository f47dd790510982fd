"""The console as one router: every page, the console's own files, and errors as pages."""

from dataclasses import dataclass
from typing import Annotated, Final

from litestar import Response, Router, get, post
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.params import PathParameter, QueryParameter
from litestar.response import Redirect
from litestar.types import ExceptionHandlersMap

from appliance import errors
from appliance.base.clock import SystemClock
from appliance.console.assets import Assets
from appliance.console.pages import ask, file, login, repos, search, status
from appliance.console.render import Fault, Page, Renderer
from appliance.console.wiring import Asked, Files, Wired
from appliance.errors import ApplianceError
from appliance.ids import JobId

_STATUSES: Final[tuple[tuple[type[ApplianceError], int], ...]] = (
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.Unauthenticated, 401),
    (errors.AccessError, 403),
    (errors.CallerError, 400),
    (errors.ContentError, 422),
    (errors.Unavailable, 503),
    (errors.ApplianceError, 500),
)
_TITLES: Final = {400: "That cannot be done", 403: "Not allowed", 404: "Not found", 503: "Not available now"}
_YEAR: Final = 31_536_000


@dataclass(frozen=True, slots=True)
class ErrorView:
    """A page that has nothing but an error to show."""

    fault: Fault


def router() -> Router:
    """Return the console. The application that mounts it provides ``services`` and lets in who may come."""
    assets = Assets()
    pages = Renderer(assets=assets)
    return Router(
        "/",
        route_handlers=[
            home,
            static,
            cancel,
            login.show,
            login.enter,
            login.leave,
            ask.show,
            ask.answer_whole,
            search.show,
            repos.show_all,
            repos.add,
            repos.show_one,
            repos.refresh,
            repos.remove,
            file.show,
            file.show_lines,
            status.show,
        ],
        dependencies={
            "assets": Provide(lambda: assets, sync_to_thread=False),
            "pages": Provide(lambda: pages, sync_to_thread=False),
        },
        exception_handlers=_handlers(pages),
        include_in_schema=False,
    )


@get("/", sync_to_thread=False)
def home() -> Redirect:
    """Go to Ask."""
    return Redirect("/ask", status_code=303)


@get("/static/{name:path}", sync_to_thread=False)
def static(
    request: Asked,
    assets: Files,
    name: Annotated[str, PathParameter(max_length=200)],
    v: Annotated[str, QueryParameter(max_length=64)] = "",
) -> Response[bytes]:
    """Serve one of the console's files: for a year under its digest, else asked for again each time."""
    asset = assets.get(name.lstrip("/"))
    tag = f'"{asset.digest}"'
    lasting = v == asset.digest
    headers = {"etag": tag, "cache-control": f"public, max-age={_YEAR}, immutable" if lasting else "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers, media_type=asset.media_type)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


@post("/jobs/{job:str}/cancel", sync_to_thread=True)
def cancel(job: Annotated[str, PathParameter(max_length=100)], services: Wired) -> Redirect:
    """Ask the job to stop, and go back to the repository that it works on."""
    asked = services.jobs.cancel(JobId(job))
    return Redirect(f"/repos/{asked.key}", status_code=303)


def _handlers(pages: Renderer) -> ExceptionHandlersMap:
    clock = SystemClock()

    def refused(request: Asked, error: ApplianceError) -> Response[str]:
        del request
        code = next(code for kind, code in _STATUSES if isinstance(error, kind))
        page = Page(_TITLES.get(code, "Something went wrong"), "", clock.now())
        return pages.response("error.html", page=page, view=ErrorView(Fault.of(error)), status=code)

    def misread(request: Asked, error: HTTPException) -> Response[str]:
        if error.status_code >= 500:
            raise error
        missing = error.status_code == 404
        fault = (
            Fault("There is no page at this address.", "The rail on the left has all of them.", "not_found")
            if missing
            else Fault("The address or the form has a value that cannot be read.", "Go back and try again.", "invalid_input")
        )
        del request
        page = Page(_TITLES[404 if missing else 400], "", clock.now())
        return pages.response("error.html", page=page, view=ErrorView(fault), status=error.status_code)

    return {ApplianceError: refused, HTTPException: misread}
