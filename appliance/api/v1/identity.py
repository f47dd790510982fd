"""Which appliance this is: the command line asks before it sends its key."""

from typing import Annotated

from litestar import Controller, get
from litestar.params import QueryParameter

from appliance import errors
from appliance.api.problems import documented
from appliance.api.schemas import IdentityOut
from appliance.web.wiring import Wired


class IdentityController(Controller):
    """``/api/v1/identity``: public."""

    path = "/identity"
    tags = ("access",)

    @get("/", summary="Which appliance this is", security=[], responses=documented(errors.NotFound), sync_to_thread=True)
    def identity(
        self, services: Wired, challenge: Annotated[str, QueryParameter(pattern="^[0-9a-f]{32,128}$")]
    ) -> IdentityOut:
        """Prove that this appliance made the command line's key, without the key being sent by either side."""
        return IdentityOut(proof=services.access.keys.proof(challenge))
