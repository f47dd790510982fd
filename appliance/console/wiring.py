"""How a page is handed what it needs, and what a request is here."""

from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency

from appliance.access.principal import Principal
from appliance.console.assets import Assets
from appliance.console.render import Renderer
from appliance.services import Services

Wired = NamedDependency[Services]
Pages = NamedDependency[Renderer]
Files = NamedDependency[Assets]
Asked = Request[Principal | None, str, State]
