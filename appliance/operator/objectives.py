"""Objectives: what was commissioned, how it stands, and what came of it."""

import threading
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from appliance.operator import arguments
from appliance.operator.agents import AgentRunner, AgentSpec
from appliance.operator.plain import copied

_NUMBERING: Final = threading.Lock()  # a machine may be used from several threads

SlotStatus = Literal["pending", "running", "staged", "accepted", "failed"]


class ObjectiveSlot(BaseModel):
    """One objective of one agent. *index* counts from 1, *duration_ms* is that of the last run, *usage* the sum of all."""

    index: int
    agent: str
    objective: str
    checklist: list[str] = Field(default_factory=list)
    agent_props: dict[str, Any] = Field(default_factory=dict)
    messages: list[dict[str, Any]] = Field(default_factory=list)
    agent_message: str | None = None
    result: dict[str, Any] | None = None
    status: SlotStatus = "pending"
    model: str | None = None
    duration_ms: float | None = None
    commission_id: str = ""
    usage: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _named(self) -> Self:
        self.commission_id = self.commission_id or f"{self.agent}-{self.index}"
        return self

    def settle(self, status: SlotStatus, report: str, *, duration_ms: float) -> None:
        """Record how a run ended."""
        self.status = status
        self.agent_message = report
        self.duration_ms = duration_ms
        self.result = self._reported(report)

    def accept(self) -> None:
        """Take over what is staged, also where a host staged it by hand: what its result lacks is added."""
        self.status = "accepted"
        report, result = self.agent_message or "", self.result or {}
        said = {key: result.get(key) or report for key in ("report", "summary")}
        self.result = (result or self._reported(report)) | said | {"status": "accepted"}

    def _reported(self, report: str) -> dict[str, Any]:
        return {
            "status": self.status,
            "agent": self.agent,
            "index": self.index,
            "report": report,
            "summary": report,
            "duration_ms": self.duration_ms,
            "model": self.model,
            "objective": self.objective,
        }


class AgentHandle(BaseModel):
    """One registered junior and its objectives; ``handle[1]`` is the first."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    spec: AgentSpec
    slots: list[ObjectiveSlot] = Field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the agent."""
        return self.spec.name

    @property
    def runner(self) -> AgentRunner:
        """The runner of the agent."""
        return self.spec.runner

    def next_index(self) -> int:
        """Return the index that the next objective gets."""
        return len(self.slots) + 1

    def create_objective(
        self, objective: str, *, checklist: list[str] | None = None, agent_props: dict[str, Any] | None = None
    ) -> ObjectiveSlot:
        """Add an objective that nobody works on yet."""
        with _NUMBERING:
            slot = ObjectiveSlot(
                index=self.next_index(),
                agent=self.name,
                objective=objective,
                checklist=list(checklist or ()),
                agent_props=copied(agent_props or {}),
                messages=[{"role": "system", "content": self.spec.skill}],
                model=self.spec.model,
            )
            self.slots.append(slot)
        return slot

    def objectives(self) -> list[ObjectiveSlot]:
        """Return all objectives, the first first."""
        return list(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def __getitem__(self, index: int | str) -> ObjectiveSlot:
        """Return the objective of that index, which counts from 1; raise `IndexError` if there is none."""
        number = arguments.index(index)
        if not 1 <= number <= len(self.slots):
            raise arguments.NoIndex(f"{self.name} has {len(self.slots)} objectives, counted from 1: there is no {number}.")
        return self.slots[number - 1]
