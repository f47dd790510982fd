"""What is kept with each session beside its conversation: how its agent is made, and what it cost."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from appliance.base import log
from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, Conflict
from appliance.framework.results import SessionMetrics, TurnCost
from appliance.orchestrator.services.session import SessionContents
from appliance.orchestrator.state.host import Changes, Staged

_TOTAL: Final = "agent.total"
_SETUP: Final = "agent.setup"
_LAST: Final = "agent.last_turn"
_TRIES: Final = 3
_log = log.get("agent")


@dataclass(frozen=True, slots=True)
class Setups:
    """How the agents of sessions are made, as *contents* keep it."""

    contents: SessionContents

    def enter(self, session_id: str, setup: Mapping[str, Json]) -> None:
        """Keep *setup* with the session; raise `NotFound`, or `Conflict` for one that is closed."""
        self.contents.write(session_id, Staged(session_state=Changes({_SETUP: dict(setup)})))

    def of(self, session_id: str) -> Mapping[str, Json] | None:
        """Return the setup that the session was begun with, None where it has none; raise `NotFound`."""
        kept = json.loads(self.contents.content(session_id)[0].session_state).get(_SETUP)
        return kept if isinstance(kept, dict) else None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The costs that *contents* keep."""

    contents: SessionContents

    def enter(self, session_id: str, cost: TurnCost, *, failed: bool) -> None:
        """Add a turn that has ended. One that cannot be written is logged: it must not change how its turn ended."""
        for _ in range(_TRIES):
            try:
                state, version = self._state(session_id)
                before = _metrics(session_id, state)
                total = asdict(_sum(before.cost, cost)) | {"turns": before.turns + 1, "failed": before.failed + failed}
                staged = Staged(session_state=Changes({_TOTAL: total, _LAST: asdict(cost)}))
                self.contents.write(session_id, staged, expected=version)
            except Conflict:  # somebody else changed the session just now, or it is closed
                continue
            except ApplianceError as exc:
                _log.warning("agent.cost_lost", session=session_id, code=exc.code)
            return
        _log.warning("agent.cost_lost", session=session_id, code=Conflict.code)

    def metrics(self, session_id: str) -> SessionMetrics:
        """Return what the session has cost so far; raise `NotFound`."""
        return _metrics(session_id, self._state(session_id)[0])

    def last_turn(self, session_id: str) -> TurnCost:
        """Return what its last turn took, zeros before the first; raise `NotFound`."""
        return _cost(self._state(session_id)[0].get(_LAST))

    def _state(self, session_id: str) -> tuple[dict[str, Json], int]:
        content, version = self.contents.content(session_id)
        state: dict[str, Json] = json.loads(content.session_state)
        return state, version


def _metrics(session_id: str, state: dict[str, Json]) -> SessionMetrics:
    total = state.get(_TOTAL)
    cost = _cost(total)
    counts = total if isinstance(total, dict) else {}
    return SessionMetrics(session_id, _whole(counts.get("turns")), _whole(counts.get("failed")), cost)


def _cost(kept: Json) -> TurnCost:
    if not isinstance(kept, dict):
        return TurnCost()
    seconds = kept.get("seconds")
    return TurnCost(
        _whole(kept.get("prompt_tokens")),
        _whole(kept.get("completion_tokens")),
        _whole(kept.get("tool_calls")),
        float(seconds) if isinstance(seconds, int | float) else 0.0,
    )


def _sum(one: TurnCost, other: TurnCost) -> TurnCost:
    return TurnCost(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.tool_calls + other.tool_calls,
        one.seconds + other.seconds,
    )


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0
