"""The record of a turn: what was asked, how it ended, and what it cost."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TurnStatus = Literal["running", "done", "failed", "interrupted"]


class TurnRecord(BaseModel):
    """One turn. *began* is in seconds since the epoch, *usage* the sum of the coordinator's and all juniors'."""

    model_config = ConfigDict(frozen=True)

    turn_id: str
    text: str
    began: float
    status: TurnStatus = "running"
    reply: str | None = None
    error: str | None = None
    duration_ms: float | None = None
    commissions: int = 0
    instructs: int = 0
    usage: dict[str, Any] = Field(default_factory=dict)
