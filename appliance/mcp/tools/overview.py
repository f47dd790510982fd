"""The code as a whole."""

from collections.abc import Mapping, Sequence
from typing import Final

from appliance.codeintel.results import MapFile
from appliance.mcp import found, results
from appliance.mcp.arguments import Repomap
from appliance.mcp.pages import characters, fitted
from appliance.mcp.replies import Progress, Reply
from appliance.mcp.tools.asked import read, scope_of_several
from appliance.services import Services

_HINT: Final = "Name files, folders or definitions as focus, or ask for more max_tokens."
_FORMS: Final = 2  # an answer says everything twice


async def repomap(services: Services, given: Mapping[str, object], progress: Progress) -> Reply:
    """Return the files and definitions that matter most."""
    del progress
    asked = read(Repomap, given)
    scope = await scope_of_several(services, asked)
    response = await services.graphs.repomap(scope=scope, tokens=asked.max_tokens // _FORMS, focus=asked.focus)

    def made(files: Sequence[MapFile]) -> results.Map:
        more = len(files) < response.total
        return results.Map(
            total=response.total,
            truncated=more,
            hint=_HINT if more else "",
            files=[found.map_file(each) for each in files],
            **found.base(response, used=[each.file.repo_name for each in files]),
        )

    return await fitted(response.files, made, most=characters(asked.max_tokens))
