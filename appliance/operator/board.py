"""The board: the registered juniors, their objectives, and all that can be said of them without running one."""

from typing import Any

from appliance.operator import arguments
from appliance.operator.agents import COORDINATOR, AgentSpec
from appliance.operator.arguments import NoIndex
from appliance.operator.encoding import writable
from appliance.operator.objectives import AgentHandle, ObjectiveSlot
from appliance.operator.plain import copied
from appliance.operator.refusals import Refused, unknown_agent
from appliance.operator.usage import tokens


class Board:
    """The juniors of one machine by name."""

    def __init__(self) -> None:
        self._handles: dict[str, AgentHandle] = {}

    def add(self, handle: AgentHandle) -> AgentHandle:
        """Register a junior; raise `ValueError` for a name that is blank, the coordinator's, or taken."""
        name = handle.name
        if name.strip() in {"", COORDINATOR}:
            raise ValueError(f"An agent needs a name of its own, other than {COORDINATOR!r}: {name!r} is none.")
        if not writable(name):
            raise ValueError(f"The name {name!r} has half a character in it: choose another.")
        if name in self._handles:
            raise ValueError(f"There is an agent named {name!r} already: choose another name.")
        self._handles[name] = handle
        return handle

    def register(self, spec: AgentSpec) -> AgentHandle:
        """Register a junior that has no objectives."""
        return self.add(AgentHandle(spec=spec))

    def forget(self, name: str) -> None:
        """Take a junior off the board."""
        del self._handles[name]

    def handle(self, name: str) -> AgentHandle:
        """Return the junior of exactly that name; raise `KeyError` if there is none."""
        if name not in self._handles:
            raise KeyError(f"There is no agent named {name!r}.")
        return self._handles[name]

    def handles(self) -> list[AgentHandle]:
        """Return all juniors in the order in which they were registered."""
        return list(self._handles.values())

    def named(self, agent: object) -> AgentHandle:
        """Return the junior that a model means; raise `Refused` if there is none."""
        if isinstance(agent, str):
            for name in (agent, agent.strip()):
                if name in self._handles:
                    return self._handles[name]
        raise unknown_agent(agent, known=list(self._handles))

    def slot(self, agent: object, index: object) -> ObjectiveSlot:
        """Return the objective that a model means; raise `Refused` if there is none."""
        handle = self.named(agent)
        try:
            return handle[arguments.index(index)]
        except NoIndex as exc:
            raise Refused("bad_index", str(exc)) from exc

    def peek(self, agent: object, index: object) -> dict[str, Any]:
        """Return the last report of an objective, and how it stands."""
        slot = self.slot(agent, index)
        return {
            "agent": slot.agent,
            "index": slot.index,
            "status": slot.status,
            "agent_message": slot.agent_message,
            "objective": slot.objective,
        }

    def accept(self, agent: object, index: object) -> ObjectiveSlot:
        """Accept a staged report, again if need be; raise `Refused` for one that failed, or that is still being made."""
        slot = self.slot(agent, index)
        where = {"agent": slot.agent, "index": slot.index}
        if slot.status in {"running", "failed"}:
            how = "is being worked on" if slot.status == "running" else "failed: instruct the agent, or commission anew"
            raise Refused("not_staged", f"This objective {how}.", **where)
        if slot.agent_message is None and slot.result is None:
            raise Refused("nothing_staged", "Nobody has worked on this objective yet.", **where)
        slot.accept()
        return slot

    def agents(self) -> list[dict[str, Any]]:
        """Return a row for each junior; *tools* only where its metadata names some."""
        rows = []
        for handle in self._handles.values():
            spec = handle.spec
            row: dict[str, Any] = {"name": spec.name, "description": spec.description, "model": spec.model}
            if (declared := spec.metadata.get("tools")) is not None:
                row["tools"] = copied(declared)
            rows.append(row)
        return rows

    def objectives(self, agent: object = None) -> list[dict[str, Any]]:
        """Return a row for each objective, of one junior or of all; raise `Refused` for an agent that is not there."""
        handles = self.handles() if arguments.absent(agent) else [self.named(agent)]
        return [_row(slot) for handle in handles for slot in handle.slots]


def accepted(slot: ObjectiveSlot) -> dict[str, Any]:
    """Return what accepting *slot* answers."""
    result = copied(slot.result)
    return {
        "status": "accepted",
        "agent": slot.agent,
        "index": slot.index,
        "summary": slot.agent_message or "",
        "result": result,
    }


def _row(slot: ObjectiveSlot) -> dict[str, Any]:
    return {
        "agent": slot.agent,
        "index": slot.index,
        "commission_id": slot.commission_id,
        "objective": slot.objective,
        "status": slot.status,
        "model": slot.model,
        "duration_ms": slot.duration_ms,
        "tokens": tokens(slot.usage),
    }
