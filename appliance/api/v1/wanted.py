"""What is declared in the settings or was dropped in, and what became of each."""

from litestar import Controller, get
from pydantic import Field

from appliance.api.problems import documented
from appliance.api.schemas import Output
from appliance.base.paths import display
from appliance.codeintel.wanted import Origin, Outcome, Wanted
from appliance.errors import NotFound
from appliance.services import Services
from appliance.web.wiring import Wired


class WantedOut(Output):
    """A repository that the settings declare, or that was dropped in."""

    origin: Origin
    path: str
    name: str
    project: str
    outcome: Outcome = Field(description="`kept`, a `duplicate` of another one, or an `error`.")
    state: str = Field(description="How the repository that keeps it is; else the outcome.")
    reason: str
    remedy: str
    repo: str = Field(description="The id of what keeps it, or of what it is a duplicate of; or nothing.")


class WantedController(Controller):
    """``/api/v1/wanted``."""

    path = "/wanted"
    tags = ("repos",)

    @get("/", summary="Declared and dropped-in repositories", responses=documented(), sync_to_thread=True)
    def wanted(self, services: Wired) -> list[WantedOut]:
        """Return everything that is wanted, what is declared first, and what became of it."""
        return [_whole(services, each) for each in services.wanted.all()]


def _whole(services: Services, each: Wanted) -> WantedOut:
    state, reason, remedy = str(each.outcome), each.reason, each.remedy
    if each.outcome == "kept":
        try:
            repo = services.registry.repo(each.repo)
        except NotFound:
            state, reason = "removed", "It was removed by hand, and is kept again when its origin is looked at."
        else:
            state, reason, remedy = repo.state, repo.message, repo.remedy
    return WantedOut(
        origin=each.origin,
        path=display(each.path),
        name=display(each.name),
        project=each.project,
        outcome=each.outcome,
        state=state,
        reason=display(reason),
        remedy=display(remedy),
        repo=each.repo,
    )
