"""Reading a workflow: its YAML, its schema, and what no schema can say; every fault with its line."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from appliance.errors import InvalidInput, LimitExceeded, NotFound, of_system
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
    KindOfKey,
    KindOfNode,
    Merge,
    StateKey,
    ToolNode,
    TransformNode,
    Workflow,
    ways,
)
from appliance.framework.workflow_file import LARGEST, Document, Place, read

T = TypeVar("T")

_SHOWN: Final = 20
_NODE: Final[TypeAdapter[AnyNode]] = TypeAdapter(KindOfNode)
_KEY: Final[TypeAdapter[StateKey]] = TypeAdapter(KindOfKey)
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
        faults = [_told(each) for each in exc.errors(include_url=False)]
        raise _invalid([*faults, *_faults_beside(document.value)], document) from exc
    if found := [*_faults(workflow)]:
        raise _invalid(found, document)
    return workflow


def load_workflow(path: Path) -> Workflow:
    """Return the workflow in the file *path*; raise as `validate_workflow` does, and `NotFound`."""
    data = _contents(path)
    if len(data) > LARGEST:
        raise LimitExceeded(f"{path} is larger than {LARGEST // 1024} kB.", remedy="Split it.", limit=LARGEST)
    try:
        return validate_workflow(data.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"{path} is no UTF-8.", remedy="Save it as UTF-8.") from exc


def _contents(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError as exc:
        raise NotFound(f"There is no file {path}.") from exc
    except IsADirectoryError as exc:
        raise InvalidInput(f"{path} is a folder.", remedy="Name the file of a workflow in it.") from exc
    except (OSError, ValueError) as exc:
        if isinstance(exc, OSError) and (told := of_system(exc, str(path))) is not None:
            raise told from exc
        raise InvalidInput(f"{str(path)[:500]!r} cannot be read: {exc}.", remedy="Name another file.") from exc


def _faults(workflow: Workflow) -> Iterator[tuple[Place, str]]:
    targets = ((source, target) for source, target, _ in ways(workflow))
    shape = [*_unknown_targets(workflow.entry, workflow.nodes, targets)]
    yield from shape or _unreached(workflow)
    for name, key in workflow.state.items():
        yield from _odd_key(name, key)
    for name, node in workflow.nodes.items():
        yield from _odd_node(name, node, workflow.state)


def _faults_beside(written: Mapping[str, object]) -> Iterator[tuple[Place, str]]:
    """Give what is wrong in those parts of a workflow that its schema takes, while it refuses others."""
    nodes, state = (value if isinstance(value := written.get(part), dict) else {} for part in ("nodes", "state"))
    entry = written.get("entry")
    targets = ((name, target) for name, node in nodes.items() for target in _targets(node))
    yield from _unknown_targets(entry if isinstance(entry, str) else None, nodes, targets)
    for name, value in state.items():
        if (key := _taken(_KEY, value)) is not None:
            yield from _odd_key(name, key)
    for name, value in nodes.items():
        if (node := _taken(_NODE, value)) is not None:
            yield from _odd_node(name, node, state)


def _targets(node: object) -> Iterator[str]:
    """Give the nodes that *node* names, as it is written."""
    if not isinstance(node, dict):
        return
    branches = node.get("branches")
    ends = (
        [each.get("next") if isinstance(each, dict) else each for each in branches if each]
        if isinstance(branches, list)
        else []
    )
    yield from (
        each for each in (node.get("next"), node.get("rejected"), node.get("otherwise"), *ends) if isinstance(each, str)
    )


def _taken(kind: TypeAdapter[T], value: object) -> T | None:
    try:
        return kind.validate_python(value)
    except ValidationError:
        return None


def _unknown_targets(
    entry: str | None, nodes: Collection[str], targets: Iterable[tuple[str, str]]
) -> Iterator[tuple[Place, str]]:
    if entry is not None and entry not in nodes:
        yield ("entry",), f"there is no node {entry!r}"
    if ENDS in nodes:
        yield ("nodes", ENDS), f"no node can be called {ENDS!r}: it says where a workflow ends"
    for source, target in targets:
        if target != ENDS and target not in nodes:
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


def _odd_node(name: str, node: AnyNode, state: Collection[str]) -> Iterator[tuple[Place, str]]:
    place = ("nodes", name)
    for part, names in _read(node):
        unknown = sorted(names.difference(state))
        if unknown:
            yield (*place, part), f"it reads {', '.join(map(repr, unknown))}, which the state has not"
    written = {part: key for part in ("output", "data") if (key := getattr(node, part, None)) is not None}
    written |= {f"set.{key}": key for key in _set_by(node)}
    for part, key in written.items():
        if key not in state:
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
