"""What a coordinator decided, and how several decisions on one snapshot become one."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from appliance.orchestrator.state.batch import TransitionBatch
from appliance.orchestrator.state.frozen import same, to_json
from appliance.orchestrator.state.transitions import Scope, StateTransition, TransitionType, nested, scope_of

CONFLICTS: Final = "conflicts"
_FIELDS: Final = frozenset({"transitions", "reasoning", "confidence", "metadata", "should_continue", "handoff_to"})


@dataclass
class CoordinatorResult:
    """The transitions that a coordinator asks for, and why. *confidence* is a probability; anything else is a `ValueError`.

    *should_continue* False asks the caller to stop once the transitions are applied; *handoff_to* names who goes on.
    """

    transitions: TransitionBatch
    reasoning: str | None = None
    confidence: float = 1.0
    metadata: dict[str, object] = field(default_factory=dict)
    should_continue: bool = True
    handoff_to: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.transitions, TransitionBatch):
            raise ValueError(f"The transitions of a result are a TransitionBatch, not a {type(self.transitions).__name__}.")
        if not isinstance(self.metadata, Mapping):
            raise ValueError("The metadata of a result must be a mapping.")
        self.metadata = copy.deepcopy(dict(self.metadata))

    def __setattr__(self, name: str, value: object) -> None:
        if name == "confidence" and not _is_probability(value):
            raise ValueError(f"confidence must be a number from 0 to 1, not {value!r}.")
        super().__setattr__(name, value)

    @classmethod
    def no_op(cls, reasoning: str | None = None) -> Self:
        """Return a result that changes nothing."""
        return cls(TransitionBatch(), reasoning=reasoning)

    @classmethod
    def transitions_only(cls, *transitions: StateTransition, reasoning: str | None = None) -> Self:
        """Return a result of these transitions."""
        return cls(TransitionBatch(list(transitions)), reasoning=reasoning)

    @property
    def conflicts(self) -> tuple[Mapping[str, object], ...]:
        """Where the results that `merge_results` made this one of contradict each other; empty elsewhere."""
        found = self.metadata.get(CONFLICTS, ())
        return tuple(found) if isinstance(found, list | tuple) else ()

    def add_message(self, message: object) -> Self:
        """Append *message* to the conversation, last of all."""
        self.transitions.add_message(message)
        return self

    def update_state(self, key: str, value: object, scope: Scope = "conversation") -> Self:
        """Set *key* in the state of that scope, last of all."""
        self.transitions.update_state(key, value, scope=scope)
        return self

    def to_dict(self) -> dict[str, object]:
        """Return the result in JSON's types; raise `ValueError`, which names the value, where JSON has none for it."""
        return {
            "transitions": self.transitions.to_dict(),
            "reasoning": self.reasoning,
            "confidence": self.confidence,
            "metadata": to_json(self.metadata, what="metadata"),
            "should_continue": self.should_continue,
            "handoff_to": self.handoff_to,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Self:
        """Return the result that `to_dict` wrote; raise `ValueError` for anything else."""
        if not isinstance(data, Mapping) or not data.keys() <= _FIELDS or not isinstance(data.get("transitions"), Mapping):
            raise ValueError(f"A result is a mapping with {', '.join(sorted(_FIELDS))}.")
        rest = {key: value for key, value in data.items() if key != "transitions"}
        return cls(TransitionBatch.from_dict(data["transitions"]), **rest)  # type: ignore[arg-type] # looked at as above


def merge_results(*results: CoordinatorResult | Sequence[CoordinatorResult]) -> CoordinatorResult:
    """Return one result of several that were made on the same snapshot, given one by one or as a list.

    Their transitions follow each other in order, so that of two that set one thing the later wins; what they do not agree on
    is told in `CoordinatorResult.conflicts`, with the positions of the results. The merged result is as sure as the least
    sure one, stops if one stops, and hands over to whom the last one says that says it. The results stay as they are.
    """
    merged = list(_each(results))
    batch, metadata = TransitionBatch(), {}
    for each in merged:
        batch.extend(each.transitions)
        metadata.update(copy.deepcopy(each.metadata))
    metadata.pop(CONFLICTS, None)
    conflicts = _conflicts(merged)
    if conflicts:
        metadata[CONFLICTS] = conflicts
    return CoordinatorResult(
        batch,
        reasoning="; ".join(each.reasoning for each in merged if each.reasoning) or None,
        confidence=min((each.confidence for each in merged), default=1.0),
        metadata=metadata,
        should_continue=all(each.should_continue for each in merged),
        handoff_to=next((each.handoff_to for each in reversed(merged) if each.handoff_to is not None), None),
    )


def _each(results: Sequence[CoordinatorResult | Sequence[CoordinatorResult]]) -> Iterator[CoordinatorResult]:
    for each in results:
        if not isinstance(each, CoordinatorResult | list | tuple):
            raise ValueError(f"Results are merged, not a {type(each).__name__}.")
        for result in (each,) if isinstance(each, CoordinatorResult) else each:
            if not isinstance(result, CoordinatorResult):
                raise ValueError(f"Results are merged, not a {type(result).__name__}.")
            yield result


_Slot = tuple[str, ...]
_GONE: Final = object()


def _conflicts(results: Sequence[CoordinatorResult]) -> list[dict[str, object]]:
    """Return each thing that results leave differently, once, with the positions of all that touch it."""
    wanted: dict[_Slot, dict[int, object]] = {}
    for position, result in enumerate(results):
        for each in _flat(result.transitions.transitions):
            for slot, value in _left_by(each):
                wanted.setdefault(slot, {})[position] = value
        if result.handoff_to is not None:
            wanted.setdefault(("handoff_to",), {})[position] = result.handoff_to
    return [
        {"what": slot[0], **dict(zip(("key", "scope"), slot[1:], strict=False)), "results": sorted(by)}
        for slot, by in wanted.items()
        if not all(same(value, next(iter(by.values()))) for value in by.values())
    ]


def _flat(transitions: Sequence[StateTransition]) -> Iterator[StateTransition]:
    for each in transitions:
        if each.transition_type is TransitionType.BATCH:
            yield from _flat(nested(each))
        else:
            yield each


def _left_by(transition: StateTransition) -> Iterator[tuple[_Slot, object]]:
    """Yield what *transition* sets, and to what; a deleted key is `_GONE`. What only adds contradicts nothing."""
    data = transition.data
    match transition.transition_type:
        case TransitionType.UPDATE_STATE:
            yield ("state", str(data["key"]), scope_of(transition)), data["value"]
        case TransitionType.DELETE_STATE:
            yield ("state", str(data["key"]), scope_of(transition)), _GONE
        case TransitionType.UPDATE_CAPABILITY:
            yield ("capability", str(data["capability"])), data.get("value", True)
        case TransitionType.UPDATE_STAGE:
            yield ("stage",), data["stage"]
        case _:
            return


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1
