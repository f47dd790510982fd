"""Approvals: what waits for a person's yes or no."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from appliance import errors
from appliance.api.approvals import ApprovalOut, DecisionIn
from appliance.api.problems import documented
from appliance.web.requests import caller_of
from appliance.web.wiring import Asked, Wired

Which = Annotated[str, PathParameter(max_length=100)]


class ApprovalController(Controller):
    """``/api/v1/approvals``."""

    path = "/approvals"
    tags = ("missions",)

    @get("/", summary="What waits for a decision", responses=documented(), sync_to_thread=True)
    def approvals(
        self,
        services: Wired,
        *,
        pending: Annotated[bool, QueryParameter(description="Only those that nobody has decided.")] = True,
        run: Annotated[str | None, QueryParameter(max_length=100)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
    ) -> list[ApprovalOut]:
        """Return the newest approvals first, of one *run* (a mission's id) if given."""
        return [
            ApprovalOut.of(each)
            for each in services.missions.approvals.list(state="pending" if pending else None, run=run, limit=limit)
        ]

    @get("/{approval:str}", summary="One approval", responses=documented(errors.NotFound), sync_to_thread=True)
    def approval(self, approval: Which, services: Wired) -> ApprovalOut:
        """Return the approval as it stands."""
        return ApprovalOut.of(services.missions.approvals.get(approval))

    @post(
        "/{approval:str}",
        summary="Decide",
        status_code=200,
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def decide(self, approval: Which, data: JSONBody[DecisionIn], services: Wired, request: Asked) -> ApprovalOut:
        """Say yes or no, once; what waited for it goes on."""
        decided = services.missions.decide(approval, data.decision, by=caller_of(request), note=data.note)
        return ApprovalOut.of(decided)
