"""Templates to pages: everything that comes from outside is escaped, a name that a template lacks is an error."""

from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import MediaType, Response

from appliance.console.assets import Assets
from appliance.console.text import FILTERS
from appliance.web.problems import log_failure, problem_of
from appliance.web.requests import request_id_of
from appliance.web.wiring import Asked


@dataclass(frozen=True, slots=True)
class Page:
    """What every page says about itself. ``now`` is the moment that relative times are counted from."""

    title: str
    active: str
    now: float


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as one line: what happened, the next step, its code; and the status of the page that says so."""

    message: str
    remedy: str
    code: str
    status: int = 400

    @classmethod
    def told(cls, error: Exception, *, request: Asked) -> "Fault":
        """Return *error* as a person reads it; log it if it is not the caller's."""
        problem = problem_of(error, request_id=request_id_of(request.scope))
        log_failure("page.failed", error, problem)
        return cls(problem.detail, problem.remedy, problem.code, problem.status)


class Renderer:
    """Renders the console's templates with *assets* behind ``static(name)``."""

    def __init__(self, *, assets: Assets) -> None:
        self.assets = assets
        self._environment = Environment(
            loader=PackageLoader("appliance.console", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals["static"] = assets.url

    def html(self, template: str, *, page: Page, view: object) -> str:
        """Return *template* filled with *view*."""
        return self._environment.get_template(template).render(page=page, view=view)

    def response(self, template: str, *, page: Page, view: object, status: int = 200) -> Response[str]:
        """Return *template* filled with *view*, as a response that no cache keeps."""
        return Response(
            self.html(template, page=page, view=view),
            status_code=status,
            media_type=MediaType.HTML,
            headers={"cache-control": "no-store"},
        )
