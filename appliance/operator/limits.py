"""How much one turn may do."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

DEEPEST_HAND_OFF: Final = 8


class RunLimits(BaseModel):
    """Limits of a machine; None means that there is none. A call over a limit is answered ``budget_exhausted``.

    *max_commissions*, *max_instructs* and *max_tokens* are counted anew in each turn; tokens are those that runners report
    as usage, and once so many are used no further work begins. *commission_timeout_s* ends one run of a junior, and
    *turn_timeout_s* the coordinator, in seconds. *max_parallel* juniors of a machine run at a time, the others wait; those
    that a junior commissions itself run in its place, one after the other. *max_depth* is how often work may be handed on
    from junior to junior, through whatever machines.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_commissions: int | None = Field(default=None, ge=0)
    max_instructs: int | None = Field(default=None, ge=0)
    commission_timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    turn_timeout_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    max_parallel: int | None = Field(default=None, ge=1)
    max_tokens: int | None = Field(default=None, ge=0)
    max_depth: int = Field(default=DEEPEST_HAND_OFF, ge=1, le=64)

    @property
    def timed(self) -> bool:
        """Whether there is a limit of time."""
        return self.commission_timeout_s is not None or self.turn_timeout_s is not None
