"""What the nodes of a workflow do: each kind as a function of the state."""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TypeVar

from appliance.contracts.tools import Json
from appliance.errors import ApprovalRejected, InvalidInput
from appliance.framework.workflow import (
    AgentNode,
    AnyNode,
    ApprovalNode,
    ComputeNode,
    ConditionNode,
    ToolNode,
    TransformNode,
)
from appliance.framework.workflow_doors import Doors, Question
from appliance.framework.workflow_values import Template

State = dict[str, object]
Work = Callable[[State], Mapping[str, object] | Awaitable[Mapping[str, object]]]
T = TypeVar("T")


def work_of(name: str, node: AnyNode, *, doors: Doors, run: str) -> Work:
    """Return what the node *name* does in the run *run*; what it needs of *doors* is there."""
    if isinstance(node, AgentNode):
        return _agent(node, doors, run)
    if isinstance(node, ToolNode):
        return _tool(node, doors, run)
    if isinstance(node, ComputeNode):
        return _compute(node, doors)
    if isinstance(node, TransformNode):
        return lambda state: _mapping(node.set, state)
    if isinstance(node, ApprovalNode):
        return _approval(name, node, doors, run)
    return lambda _: {}


def choice_of(name: str, node: ConditionNode) -> Callable[[State], str]:
    """Return what finds the label of the branch that the condition *name* takes."""

    def choose(state: State) -> str:
        for branch in node.branches:
            if branch.when.flag(state):
                return branch.when.text
        if node.otherwise is None:
            raise InvalidInput(
                f"No branch of the condition {name!r} holds.", remedy="Add `otherwise`, with `end` if it may end there."
            )
        return "otherwise"

    return choose


def answer_key(name: str) -> str:
    """Return the key of the state in which the answer to the approval *name* stands; no expression can read it."""
    return f"{name}.approved"


def _agent(node: AgentNode, doors: Doors, run: str) -> Work:
    async def work(state: State) -> Mapping[str, object]:
        answer = await _there(doors.agents).answer(node.agent, node.task.text(state), run=run)
        return {} if node.output is None else {node.output: answer}

    return work


def _tool(node: ToolNode, doors: Doors, run: str) -> Work:
    async def work(state: State) -> Mapping[str, object]:
        output = await _there(doors.tools).call(node.tool, _mapping(node.arguments, state), run=run)
        given = {node.output: output.text, node.data: dict(output.data)}
        return {key: value for key, value in given.items() if key is not None}

    return work


def _compute(node: ComputeNode, doors: Doors) -> Work:
    def put(value: object) -> Mapping[str, object]:
        return {} if node.output is None else {node.output: value}

    async def later(value: Awaitable[Json]) -> Mapping[str, object]:
        return put(await value)

    def work(state: State) -> Mapping[str, object] | Awaitable[Mapping[str, object]]:
        value = doors.functions[node.function](_mapping(node.arguments, state))
        return later(value) if isawaitable(value) else put(value)

    return work


def _approval(name: str, node: ApprovalNode, doors: Doors, run: str) -> Work:
    async def work(state: State) -> Mapping[str, object]:
        question = Question(name, node.ask.text(state), _mapping(node.show, state), node.expires_s)
        yes = await _there(doors.approvals).approved(question, run=run)
        if not yes and node.rejected is None:
            raise ApprovalRejected(
                f"It was not approved: {question.ask[:200]}", remedy="`rejected` in the workflow says what follows a no."
            )
        return {answer_key(name): yes}

    return work


def _mapping(template: Template, state: State) -> Mapping[str, Json]:
    value = template.value(state)
    if not isinstance(value, Mapping):
        raise InvalidInput("A mapping was expected.")
    return value


def _there(door: T | None) -> T:
    if door is None:
        raise InvalidInput("The workflow was not checked against what is there.")
    return door
