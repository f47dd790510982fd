"""Reading a workflow: its YAML, its schema, and what no schema can say; every fault with its line."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from appliance.base.durable import storage_errors
from appliance.errors import InvalidInput, LimitExceeded, NotFound
from appliance.framework.expressions import WORDS
from appliance.framework.graph_shape import END, START, faults_of
from appliance.framework.workflow import (
    ENDS,
    AgentNode,
    AnyNode,
    ApprovalNode,
    ComputeNode,
    ConditionNode,
    KeyType,
    Merge,
    StateKey,
    ToolNode,
    TransformNode,
    Workflow,
    ways,
)
from appliance.framework.workflow_file import LARGEST, Document, Place, read

_SHOWN: Final = 20
_MERGED: Final[dict[Merge, tuple[KeyType, ...]]] = {
    "add": ("integer", "number"),
    "extend": ("list",),
    "union": ("list",),
    "update": ("map",),
}
_TYPES: Final[dict[KeyType, tuple[type, ...]]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "flag": (bool,),
    "list": (list,),
    "map": (dict,),
}
_WORDS: Final = {
    "extra_forbidden": "there is no such key here",
    "missing": "it is missing",
    "union_tag_not_found": "its `kind` is missing",
}


def validate_workflow(source: str) -> Workflow:
    """Return the workflow that *source* is, as YAML.

    Raise `InvalidInput` with a sentence for each fault and its line, and `LimitExceeded` for what is too large. What it
    names of agents, tools and functions is checked by `WorkflowEngine`, which knows them.
    """
    document = read(source)
    if not isinstance(document.value, dict):
        raise InvalidInput("A workflow is a mapping.", remedy="It has at least `name`, `entry` and `nodes`.")
    try:
        workflow = Workflow.model_validate(document.value)
    except ValidationError as exc:
        raise _invalid([_told(each) for each in exc.errors(include_url=False)], document) from exc
    if found := [*_faults(workflow)]:
        raise _invalid(found, document)
    return workflow


def load_workflow(path: Path) -> Workflow:
    """Return the workflow in the file *path*; raise as `validate_workflow` does, and `NotFound`."""
    with storage_errors(path):
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
        except (FileNotFoundError, IsADirectoryError) as exc:
            raise NotFound(f"There is no file {path}.") from exc
    if len(data) > LARGEST:
        raise LimitExceeded(f"{path} is larger than {LARGEST // 1024} kB.", remedy="Split it.", limit=LARGEST)
    try:
        return validate_workflow(data.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"{path} is no UTF-8.", remedy="Save it as UTF-8.") from exc


def _faults(workflow: Workflow) -> Iterator[tuple[Place, str]]:
    shape = [*_unknown_targets(workflow)]
    yield from shape or _unreached(workflow)
    for name, key in workflow.state.items():
        yield from _odd_key(name, key)
    for name, node in workflow.nodes.items():
        yield from _odd_node(name, node, workflow)


def _unknown_targets(workflow: Workflow) -> Iterator[tuple[Place, str]]:
    if workflow.entry not in workflow.nodes:
        yield ("entry",), f"there is no node {workflow.entry!r}"
    if ENDS in workflow.nodes:
        yield ("nodes", ENDS), f"no node can be called {ENDS!r}: it says where a workflow ends"
    for source, target, _ in ways(workflow):
        if target != ENDS and target not in workflow.nodes:
            yield ("nodes", source), f"it leads to {target!r}, which is no node"


def _unreached(workflow: Workflow) -> Iterator[tuple[Place, str]]:
    edges = [(START, workflow.entry), *((source, END if to == ENDS else to) for source, to, _ in ways(workflow))]
    for fault in faults_of([*workflow.nodes], edges, []):
        yield (("nodes", fault.node) if fault.node else ()), fault.text


def _odd_key(name: str, key: StateKey) -> Iterator[tuple[Place, str]]:
    place = ("state", name)
    if name in WORDS:
        yield place, "no expression could read a key of this name"
    if key.merge is not None and key.type not in _MERGED[key.merge]:
        yield place, f"`merge: {key.merge}` is for keys of the type {' or '.join(_MERGED[key.merge])}"
    odd = not isinstance(key.default, _TYPES.get(key.type, (object,))) or (
        isinstance(key.default, bool) and key.type not in ("flag", "any")
    )
    if "default" in key.model_fields_set and odd:
        yield (*place, "default"), f"the default is no {key.type}"


def _odd_node(name: str, node: AnyNode, workflow: Workflow) -> Iterator[tuple[Place, str]]:
    place = ("nodes", name)
    for part, names in _read(node):
        unknown = sorted(names - workflow.state.keys())
        if unknown:
            yield (*place, part), f"it reads {', '.join(map(repr, unknown))}, which the state has not"
    written = {part: key for part in ("output", "data") if (key := getattr(node, part, None)) is not None}
    written |= {f"set.{key}": key for key in _set_by(node)}
    for part, key in written.items():
        if key not in workflow.state:
            yield (*place, *part.split(".", 1)), f"it writes {key!r}, which the state has not"
    if isinstance(node, ConditionNode):
        texts = [each.when.text for each in node.branches]
        if len(set(texts)) < len(texts):
            yield (*place, "branches"), "two branches have one condition"
    branches: Sequence[object] = getattr(node, "branches", ())
    if not isinstance(node, ConditionNode) and len(set(branches)) < len(branches):
        yield (*place, "branches"), "a branch stands there twice"


def _read(node: AnyNode) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(node, AgentNode):
        yield "task", node.task.names
    elif isinstance(node, ToolNode | ComputeNode):
        yield "arguments", node.arguments.names
    elif isinstance(node, TransformNode):
        yield "set", node.set.names
    elif isinstance(node, ApprovalNode):
        yield "ask", node.ask.names
        yield "show", node.show.names
    elif isinstance(node, ConditionNode):
        yield from (("branches", each.when.names) for each in node.branches)


def _set_by(node: AnyNode) -> list[str]:
    return [*node.set.written] if isinstance(node, TransformNode) and isinstance(node.set.written, dict) else []


def _told(error: ErrorDetails) -> tuple[Place, str]:
    """Return a fault that the schema found; behind the name of a node its place has the kind, which the file has not."""
    at = enumerate(error["loc"])
    place = tuple(each for index, each in at if each != "[key]" and (index, error["loc"][0]) != (2, "nodes"))
    why = _WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ").rstrip(".")
    return place, f"{why[:1].lower()}{why[1:]}"


def _invalid(found: Sequence[tuple[Place, str]], document: Document) -> InvalidInput:
    """Return the error that tells all that was *found*, from the first line to the last."""
    lines = []
    for place, why in sorted(found, key=lambda each: document.line(each[0])):
        where = ".".join(map(str, place))
        lines.append(" ".join(f"line {document.line(place)}{', ' if where else ''}{where}: {why}".split()))
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return InvalidInput(f"The workflow is not valid: {'; '.join([*lines[:_SHOWN], *more])}.", faults=lines)
