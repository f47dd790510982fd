"""How a route is handed the services, and what a request is here."""

from litestar import Request
from litestar.datastructures import State
from litestar.di import NamedDependency

from appliance.access.principal import Principal
from appliance.services import Services

Wired = NamedDependency[Services]
Asked = Request[Principal | None, str, State]
