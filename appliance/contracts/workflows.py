"""What a workflow is to those who register or run one."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkflowDefinition:
    """A named workflow: *source* is its YAML, which is validated when it is registered."""

    name: str
    description: str
    source: str
