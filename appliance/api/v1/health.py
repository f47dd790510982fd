"""Whether the appliance can do its work."""

from litestar import Controller, get

from appliance.api.problems import documented
from appliance.api.schemas import HealthOut, PartOut
from appliance.base.paths import display
from appliance.web.wiring import Asked, Wired


class HealthController(Controller):
    """``/api/v1/health``: public in brief, whole after a login."""

    path = "/health"
    tags = ("health",)

    @get("/", summary="How the appliance is", security=[], responses=documented())
    async def health(self, request: Asked, services: Wired) -> HealthOut:
        """Return the state of the whole, and of each part to those who are logged in.

        The status is 200 whatever that state is: an appliance that is not well can still say so.
        """
        report = await services.health.report()
        if request.user is None:
            return HealthOut(state=report.state, phase=report.phase, parts=[])
        parts = [
            PartOut(
                name=part.name,
                state=part.verdict.state,
                detail=display(part.verdict.detail),
                remedy=display(part.verdict.remedy),
            )
            for part in report.parts
        ]
        return HealthOut(state=report.state, phase=report.phase, parts=parts)
