"""Approvals on the wire: what waits for a person, and what that person says."""

from typing import Annotated

from pydantic import Field, StringConstraints

from appliance.api.schemas import Input, Output
from appliance.base.paths import display
from appliance.orchestrator.approvals import Approval, ApprovalState, Decision


class DecisionIn(Input):
    """A yes or a no, and why."""

    decision: Decision
    note: Annotated[str, StringConstraints(max_length=2_000, strip_whitespace=True)] = ""


class ApprovalOut(Output):
    """A question to a person. Times are seconds since the epoch."""

    id: str
    run: str = Field(description="The mission that waits, or another run.")
    what: str = Field(description="The tool that is to be called, or the step that is to be done.")
    arguments: str = Field(description="Its arguments, cut where they are long, secrets masked.")
    why: str
    state: ApprovalState
    asked_at: float
    expires_at: float = Field(description="Without a decision by then the answer is no.")
    decided_at: float | None
    decided_by: str
    note: str

    @classmethod
    def of(cls, approval: Approval) -> "ApprovalOut":
        """Return *approval* for the wire."""
        return cls(
            id=approval.id,
            run=approval.run,
            what=display(approval.what),
            arguments=display(approval.arguments),
            why=display(approval.why),
            state=approval.state,
            asked_at=approval.asked_at,
            expires_at=approval.expires_at,
            decided_at=approval.decided_at,
            decided_by=approval.decided_by,
            note=display(approval.note),
        )
