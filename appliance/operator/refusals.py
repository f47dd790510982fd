"""What a tool call answers that cannot be done: a value that a model can read, never an exception."""

from typing import Any, Literal

from appliance.operator.arguments import shown

Code = Literal[
    "unknown_agent",
    "missing_objective",
    "empty_message",
    "bad_args",
    "bad_index",
    "nothing_staged",
    "not_staged",
    "busy",
    "budget_exhausted",
]


class Refused(Exception):
    """A call is refused; *answer* is what the caller gets to read."""

    def __init__(self, code: Code, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.answer: dict[str, Any] = {"error": code, **more, "detail": detail}


def unknown_agent(given: object, *, known: list[str]) -> Refused:
    """Return the refusal of an agent that is not registered, with those that are."""
    name = given if isinstance(given, str) and len(given) <= 200 else shown(given)
    agents = ", ".join(known[:50]) or "none"
    return Refused("unknown_agent", f"There is no such agent. Registered: {agents}.", agent=name)
