"""What the appliance counts, for Prometheus."""

from typing import Final, get_args

from litestar import MediaType, Response, get

from appliance.api.problems import documented
from appliance.orchestrator.missions.model import MissionState
from appliance.web.wiring import Wired

_MOST: Final = 10_000


@get("/metrics", summary="Metrics", tags=["health"], responses=documented(), media_type=MediaType.TEXT, sync_to_thread=True)
def metrics(services: Wired) -> Response[bytes]:
    """Return the exposition text."""
    counts = services.jobs.counts()
    for state in ("queued", "running", "done", "failed", "cancelled"):
        services.metrics.jobs.labels(state).set(counts.get(state, 0))
    missions = services.missions.desk.counts()
    for standing in get_args(MissionState):
        services.metrics.missions.labels(standing).set(missions.get(standing, 0))
    services.metrics.approvals_pending.set(len(services.missions.approvals.list(state="pending", limit=_MOST)))
    services.metrics.repos_in_error.set(sum(1 for repo in services.registry.repos() if repo.error))
    return Response(services.metrics.text(), media_type="text/plain; version=0.0.4")
