"""Workflows as flowcharts in Mermaid's language."""

from appliance.framework.mermaid import Form, flowchart
from appliance.framework.workflow import (
    ENDS,
    AgentNode,
    AnyNode,
    ApprovalNode,
    ComputeNode,
    ConditionNode,
    ParallelNode,
    ToolNode,
    Workflow,
    ways,
)


def render_workflow(workflow: Workflow) -> str:
    """Return *workflow* as a flowchart: what each node is and uses, and under what each way is taken."""
    nodes: list[tuple[str, str, Form]] = [("", workflow.name, "stop")]
    nodes += [(name, *_looks(name, node)) for name, node in workflow.nodes.items()]
    return flowchart([*nodes, (ENDS, ENDS, "stop")], [("", workflow.entry, ""), *ways(workflow)])


def _looks(name: str, node: AnyNode) -> tuple[str, Form]:
    if isinstance(node, AgentNode):
        return f"{name}: agent {node.agent}", "round"
    if isinstance(node, ToolNode):
        return f"{name}: tool {node.tool}", "double"
    if isinstance(node, ComputeNode):
        return f"{name}: {node.function}", "double"
    if isinstance(node, ApprovalNode):
        return f"{name}: approval", "hexagon"
    if isinstance(node, ConditionNode):
        return name, "diamond"
    return (f"{name}: all at once", "hexagon") if isinstance(node, ParallelNode) else (f"{name}: transform", "box")
