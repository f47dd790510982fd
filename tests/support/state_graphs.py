"""A small state and nodes over it, for tests of graphs."""

from collections.abc import Callable, Mapping
from typing import NotRequired, TypedDict

from appliance.framework import GraphResult


class Counted(TypedDict):
    n: int
    seen: list[str]
    note: NotRequired[str]


def begun(n: int = 0) -> Counted:
    """Return a state to begin with."""
    return {"n": n, "seen": []}


def says(name: str) -> Callable[[Counted], Mapping[str, object]]:
    """Return a node that adds *name* to what was seen, through a merger."""
    return lambda _: {"seen": [name]}


def more(state: Counted) -> Mapping[str, object]:
    """Count one more."""
    return {"n": state["n"] + 1}


def nothing(state: Counted) -> None:
    """Write nothing."""
    del state


def failed(result: GraphResult[Counted], kind: type[Exception], *said: str) -> None:
    """Claim that a run failed with exactly that kind of error, and what it says."""
    assert (result.success, result.interrupted) == (False, False)
    assert type(result.failure) is kind, result.error
    for each in said:
        assert each in (result.error or ""), result.error
