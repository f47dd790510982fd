"""The console as one router: every page, the console's own files, and errors as pages."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

from litestar import Response, Router, get, post
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.params import PathParameter, QueryParameter
from litestar.response import Redirect

from appliance.base.clock import SystemClock
from appliance.console.assets import Assets
from appliance.console.pages import ask, file, login, missions, repos, search, status, symbol, tree
from appliance.console.render import Fault, Page, Renderer
from appliance.console.wiring import Files
from appliance.ids import JobId
from appliance.web.problems import TITLES
from appliance.web.wiring import Asked, Wired

_YEAR: Final = 31_536_000


@dataclass(frozen=True, slots=True)
class ErrorView:
    """A page that has nothing but an error to show."""

    fault: Fault


def renderer() -> Renderer:
    """Return what renders the console's pages."""
    return Renderer(assets=Assets())


def router(pages: Renderer) -> Router:
    """Return the console. The application that mounts it provides ``services`` and lets in who may come."""

    def refused(request: Asked, error: Exception) -> Response[str]:
        return refusal(request, error, pages=pages)

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
            repos.keep,
            repos.remove,
            file.show,
            file.show_lines,
            tree.show,
            symbol.show,
            *missions.ROUTES,
            status.show,
        ],
        dependencies={
            "assets": Provide(lambda: pages.assets, sync_to_thread=False),
            "pages": Provide(lambda: pages, sync_to_thread=False),
        },
        exception_handlers={Exception: refused, HTTPException: refused},
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


def refusal(request: Asked, error: Exception, *, pages: Renderer) -> Response[str]:
    """Return the page that says *error*; it offers the console only to those who are logged in."""
    fault = Fault.told(error, request=request)
    if isinstance(error, HTTPException) and fault.status < 500:
        fault = _misread(fault)
    page = Page(TITLES.get(fault.status, TITLES[400]), "", SystemClock().now())
    known = request.scope.get("user") is not None
    return pages.response("error.html" if known else "refused.html", page=page, view=ErrorView(fault), fault=fault)


def _misread(fault: Fault) -> Fault:
    """Return what the framework refused in words for people: it speaks of parameters."""
    if fault.status == 404:
        return replace(fault, message="There is no page at this address.", remedy="The rail on the left has all of them.")
    if fault.status == 400:
        message = "The address or the form has a value that cannot be read."
        return replace(fault, message=message, remedy="Go back and try again.")
    return fault
