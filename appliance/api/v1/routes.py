"""All of ``/api/v1``."""

from typing import Final

from litestar import Router
from litestar.types import ControllerRouterHandler

from appliance.api.guards import named_right
from appliance.api.v1.approvals import ApprovalController
from appliance.api.v1.ask import AskController
from appliance.api.v1.graph import GraphController, SubjectController
from appliance.api.v1.health import HealthController
from appliance.api.v1.identity import IdentityController
from appliance.api.v1.jobs import JobController
from appliance.api.v1.login import LoginController
from appliance.api.v1.maps import MapController
from appliance.api.v1.metrics import metrics
from appliance.api.v1.missions import MissionController
from appliance.api.v1.plugins import PluginController
from appliance.api.v1.projects import ProjectController
from appliance.api.v1.repos import RepoController
from appliance.api.v1.search import SearchController
from appliance.api.v1.sessions import RunController, SessionController
from appliance.api.v1.wanted import WantedController

PREFIX: Final = "/api/v1"


def routes() -> list[ControllerRouterHandler]:
    """Return every route of the API, and the metrics beside it."""
    controllers: list[ControllerRouterHandler] = [
        HealthController,
        IdentityController,
        LoginController,
        ProjectController,
        RepoController,
        WantedController,
        JobController,
        SearchController,
        SubjectController,
        GraphController,
        MapController,
        AskController,
        MissionController,
        ApprovalController,
        PluginController,
        SessionController,
        RunController,
    ]
    return [Router(PREFIX, route_handlers=controllers, guards=[named_right]), metrics]
