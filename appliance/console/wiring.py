"""How a page is handed what it needs."""

from litestar.di import NamedDependency

from appliance.console.assets import Assets
from appliance.console.render import Renderer

Pages = NamedDependency[Renderer]
Files = NamedDependency[Assets]
