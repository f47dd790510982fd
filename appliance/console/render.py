"""Templates to pages: everything that comes from outside is escaped, a name that a template lacks is an error."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import MediaType, Response

from appliance.console.assets import Assets
from appliance.console.text import FILTERS
from appliance.web.problems import headers_of, log_failure, problem_of
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
    """An error as one line: what happened, the next step, its code; and status and headers of the page that says so."""

    message: str
    remedy: str
    code: str
    status: int = 400
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def told(cls, error: Exception, *, request: Asked) -> "Fault":
        """Return *error* as a person reads it; log it if it is not the caller's."""
        problem = problem_of(error, request_id=request_id_of(request.scope))
        log_failure("page.failed", error, problem)
        return cls(problem.detail, problem.remedy, problem.code, problem.status, headers_of(problem))


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

    def response(self, template: str, *, page: Page, view: object, fault: Fault | None = None) -> Response[str]:
        """Return *template* filled with *view*, as a response that no cache keeps; with *fault*, the one that says so."""
        return Response(
            self.html(template, page=page, view=view),
            status_code=fault.status if fault else 200,
            media_type=MediaType.HTML,
            headers={"cache-control": "no-store"} | (dict(fault.headers) if fault else {}),
        )
