"""Running workflows: a checked workflow becomes a graph over its state, and runs as graphs do."""

import operator
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Final, TypedDict, cast

from pydantic import JsonValue

from appliance.base.clock import Clock
from appliance.errors import InvalidInput
from appliance.framework.checkpoint import Checkpointer
from appliance.framework.graph import StateGraph
from appliance.framework.graph_compiled import CompiledGraph
from appliance.framework.graph_events import GraphEvent, GraphResult
from appliance.framework.graph_shape import END
from appliance.framework.workflow import ENDS, ApprovalNode, ConditionNode, Merge, Workflow, ways
from appliance.framework.workflow_check import load_workflow
from appliance.framework.workflow_doors import Doors
from appliance.framework.workflow_work import State, answer_key, choice_of, work_of
from appliance.ids import new_id

_TYPES: Final[Mapping[str, object]] = {
    "text": str,
    "integer": int,
    "number": float,
    "flag": bool,
    "list": list[JsonValue],
    "map": dict[str, JsonValue],
    "any": JsonValue,
}


class WorkflowEngine:
    """Runs workflows on the agents, tools, people and functions behind *doors*, each run as a thread of *checkpointer*."""

    def __init__(self, doors: Doors, *, checkpointer: Checkpointer | None = None, clock: Clock | None = None) -> None:
        self._doors = doors
        self._checkpointer = checkpointer
        self._clock = clock

    def compile(self, workflow: Workflow, *, run: str) -> CompiledGraph[State]:
        """Return the graph of *workflow* for one run; raise `InvalidInput` naming each node that needs what is not there."""
        self._doors.check(workflow)
        graph = StateGraph(_schema(workflow)).set_entry_point(workflow.entry)
        for name, node in workflow.nodes.items():
            seconds = getattr(node, "timeout_s", None)
            graph.add_node(name, work_of(name, node, doors=self._doors, run=run), timeout=seconds)
            _lead(graph, name, workflow)
        for key, kept in workflow.state.items():
            if kept.merge is not None:
                graph.add_state_merger(key, _MERGERS[kept.merge])
        bounds = workflow.limits
        return graph.compile(
            self._checkpointer,
            clock=self._clock,
            recursion_limit=bounds.steps,
            max_iterations=bounds.visits,
            timeout=bounds.timeout_s,
            node_timeout=bounds.node_timeout_s,
        )

    async def execute(
        self, workflow: Workflow, state: Mapping[str, object] | None = None, *, run_id: str | None = None
    ) -> GraphResult[State]:
        """Run *workflow* on its defaults with *state* over them, and return how it ended; raise as graphs do."""
        run = new_id("run") if run_id is None else run_id
        return await self.compile(workflow, run=run).invoke(_begun(workflow, state), thread_id=self._thread(run))

    async def execute_yaml(
        self, path: Path, state: Mapping[str, object] | None = None, *, run_id: str | None = None
    ) -> GraphResult[State]:
        """Run the workflow in the file *path*; raise what is wrong with it."""
        return await self.execute(load_workflow(path), state, run_id=run_id)

    def stream(
        self, workflow: Workflow, state: Mapping[str, object] | None = None, *, run_id: str | None = None
    ) -> AsyncGenerator[GraphEvent[State], None]:
        """Run as `execute` does and give events; the last has the result."""
        run = new_id("run") if run_id is None else run_id
        return self.compile(workflow, run=run).stream(_begun(workflow, state), thread_id=self._thread(run))

    async def resume(
        self, workflow: Workflow, run_id: str, *, update: Mapping[str, object] | None = None
    ) -> GraphResult[State]:
        """Go on with a run of *workflow* that failed, was cancelled, or whose process died; raise as graphs do."""
        return await self.compile(workflow, run=run_id).resume(run_id, update=update)

    def stream_resume(
        self, workflow: Workflow, run_id: str, *, update: Mapping[str, object] | None = None
    ) -> AsyncGenerator[GraphEvent[State], None]:
        """Go on as `resume` does and give events; the last has the result."""
        return self.compile(workflow, run=run_id).stream_resume(run_id, update=update)

    def _thread(self, run: str) -> str | None:
        return None if self._checkpointer is None else run


def _lead(graph: StateGraph[State], name: str, workflow: Workflow) -> None:
    node = workflow.nodes[name]
    targets = [(END if target == ENDS else target, label) for source, target, label in ways(workflow) if source == name]
    if isinstance(node, ConditionNode):
        graph.add_conditional_edge(name, choice_of(name, node), {label: target for target, label in targets})
    elif isinstance(node, ApprovalNode) and node.rejected is not None:
        (yes, _), (no, _) = targets
        graph.add_conditional_edge(name, lambda state: bool(state[answer_key(name)]), {True: yes, False: no})
    else:
        for target, _ in targets:
            graph.add_edge(name, target)


def _schema(workflow: Workflow) -> type[State]:
    keys = {key: _TYPES[kept.type] for key, kept in workflow.state.items()}
    answers = {answer_key(name): bool for name, node in workflow.nodes.items() if isinstance(node, ApprovalNode)}
    made = TypedDict(workflow.name, {**keys, **answers}, total=False)  # type: ignore[misc]
    return cast("type[State]", made)


def _begun(workflow: Workflow, state: Mapping[str, object] | None) -> State:
    defaults = {key: kept.default for key, kept in workflow.state.items() if "default" in kept.model_fields_set}
    if state is not None and not isinstance(state, Mapping):
        raise InvalidInput(f"The state is a {type(state).__name__}.", remedy="Pass a mapping of its keys, or None.")
    given = dict(state or {})
    if strange := sorted(set(given) - workflow.state.keys()):
        raise InvalidInput(
            f"The workflow {workflow.name!r} has no key {strange[0]!r}.",
            remedy=f"Its state has {', '.join(map(repr, workflow.state)) or 'no keys'}.",
        )
    return {**defaults, **given}


def _union(old: list[object], new: list[object]) -> list[object]:
    return [*old, *(each for index, each in enumerate(new) if each not in old and each not in new[:index])]


_MERGERS: Final[Mapping[Merge, Callable[..., object]]] = {
    "add": operator.add,
    "extend": operator.add,
    "union": _union,
    "update": lambda old, new: {**old, **new},
}
