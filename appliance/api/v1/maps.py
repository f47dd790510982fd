"""Maps of the code, and packs of evidence."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.maps import ContextOut, RepomapOut
from appliance.api.problems import documented
from appliance.api.v1.scope import ABOUT, About
from appliance.codeintel.query.evidence import LEAST_TOKENS, MOST_TOKENS
from appliance.codeintel.query.graphs import CONTEXT_TOKENS, MAP_TOKENS
from appliance.codeintel.query.querylang import LONGEST_QUERY
from appliance.web.wiring import Wired

Tokens = Annotated[int, QueryParameter(ge=LEAST_TOKENS, le=MOST_TOKENS, description="About; 3.3 characters are one.")]


class MapController(Controller):
    """``/api/v1/repomap`` and ``/api/v1/context``."""

    path = "/"
    tags = ("graph",)
    dependencies = ABOUT

    @get("/repomap", summary="What matters most", responses=documented(errors.NotFound, errors.Stale))
    async def repomap(
        self,
        services: Wired,
        about: About,
        tokens: Tokens = MAP_TOKENS,
        focus: Annotated[
            list[str] | None, QueryParameter(max_items=20, description="A definition, file or folder; may be repeated.")
        ] = None,
    ) -> RepomapOut:
        """Return the files and definitions that most of the code leans on, or most of *focus*, within a budget."""
        return RepomapOut.of(await services.graphs.repomap(scope=about, tokens=tokens, focus=focus or ()))

    @get("/context", summary="Evidence for a question", responses=documented(errors.NotFound, errors.Stale))
    async def context(
        self,
        services: Wired,
        about: About,
        question: Annotated[str, QueryParameter(min_length=1, max_length=LONGEST_QUERY)],
        tokens: Tokens = CONTEXT_TOKENS,
    ) -> ContextOut:
        """Return the lines that bear on *question*, best first, within a budget."""
        return ContextOut.of(await services.graphs.context(question, scope=about, tokens=tokens))
