"""What a tool call comes to: a result in two forms, or an error that says what to do next."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from appliance.errors import ApplianceError
from appliance.mcp.results import Answered

Progress = Callable[[int, str], Awaitable[None]]
"""Tells whoever waits how far a call is: a number that grows, and a few words."""

ERROR: Final = "skellig/error"
"""The name under which a result that is an error tells programs which one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """*text* says what *structured* holds; of an error there is only the text, and what *error* tells programs of it."""

    text: str
    structured: Mapping[str, object] | None = None
    error: Mapping[str, str | bool] | None = None


Call = Callable[[str, Mapping[str, object], Progress], Awaitable[Reply]]
"""What calls a tool by its name with its arguments. It raises nothing: an error is a reply too."""


def told(result: Answered, text: str) -> Reply:
    """Return the reply that says *result*."""
    return Reply(text, structured=result.model_dump(mode="json"))


def refused(error: ApplianceError) -> Reply:
    """Return the reply that says *error*."""
    return failed(error.code, error.message, remedy=error.remedy, retryable=error.retryable)


def failed(code: str, message: str, *, remedy: str = "", retryable: bool = False) -> Reply:
    """Return the reply that says an error of that *code*."""
    error: dict[str, str | bool] = {"code": code, "message": message, "remedy": remedy, "retryable": retryable}
    return Reply(f"error: {message} {remedy}".rstrip() + f" [{code}]", error=error)
