"""What a run of a graph tells: events while it goes on, one result at its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from appliance.errors import ApplianceError, Conflict

S = TypeVar("S")


class GraphEventType(StrEnum):
    """What happened. Each stream ends with INTERRUPTED, FINISHED or FAILED."""

    RUN_STARTED = "run_started"
    NODE_STARTED = "node_started"
    NODE_FINISHED = "node_finished"
    STEP_FINISHED = "step_finished"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class GraphResult(Generic[S]):
    """How a run ended. ``state`` is that after the last step that went well, in the form of the schema.

    ``success`` says that the graph ran to its end: a run that is ``interrupted`` has neither success nor error, and goes on
    with ``resume``. ``steps`` counts those of the whole thread; ``node_history`` names the nodes that this run ran.
    """

    state: S
    success: bool
    error: str | None = None
    failure: ApplianceError | None = None
    interrupted: bool = False
    next_nodes: tuple[str, ...] = ()
    steps: int = 0
    node_history: tuple[str, ...] = ()
    duration_s: float = 0.0
    thread_id: str | None = None
    checkpoint_id: str | None = None

    @property
    def next_node(self) -> str | None:
        """The node that would run next, the first of several; None at the end."""
        return self.next_nodes[0] if self.next_nodes else None

    def require(self) -> S:
        """Return the state; raise the failure of a run that failed, or `Conflict` where it was interrupted."""
        if self.failure is not None:
            raise self.failure
        if self.interrupted:
            raise Conflict(f"The run waits before {', '.join(self.next_nodes) or 'its end'}.", remedy="Call resume.")
        return self.state


@dataclass(frozen=True, slots=True)
class GraphEvent(Generic[S]):
    """One thing that happened in a run; ``seq`` counts from 1 within it.

    ``node`` names the node, one of a subgraph as ``outer/inner``, and is empty where the event is about the whole. With
    NODE_FINISHED comes the ``update`` that it returned, with STEP_FINISHED the ``state``, with the last one the ``result``.
    """

    type: GraphEventType
    seq: int
    step: int
    node: str = ""
    update: Mapping[str, object] | None = None
    state: S | None = None
    next_nodes: tuple[str, ...] = ()
    error: str | None = None
    result: GraphResult[S] | None = None
