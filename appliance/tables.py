"""The tables of ``global.db``: whoever only has to know which version that is loads nothing else."""

from typing import Final

from appliance.access import desk
from appliance.codeintel import schema as code_schema
from appliance.jobs import schema as queue_schema
from appliance.orchestrator import schema as orchestrator_schema

MIGRATIONS: Final = (queue_schema.SCHEMA, desk.SCHEMA, *code_schema.MIGRATIONS, *orchestrator_schema.MIGRATIONS)
