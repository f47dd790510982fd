"""Projects."""

from litestar import Controller, get, post
from litestar.params import JSONBody

from appliance import errors
from appliance.api.problems import documented
from appliance.api.schemas import ProjectIn, ProjectOut
from appliance.web.wiring import Wired


class ProjectController(Controller):
    """``/api/v1/projects``."""

    path = "/projects"
    tags = ("projects",)

    @get("/", summary="All projects", responses=documented(), sync_to_thread=True)
    def projects(self, services: Wired) -> list[ProjectOut]:
        """Return every project, by name."""
        return [ProjectOut.of(project) for project in services.registry.projects()]

    @post("/", summary="Create a project", responses=documented(errors.Conflict), sync_to_thread=True)
    def add(self, data: JSONBody[ProjectIn], services: Wired) -> ProjectOut:
        """Create a project and return it."""
        return ProjectOut.of(services.registry.add_project(data.name))
