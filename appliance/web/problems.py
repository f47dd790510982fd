"""What an error is over HTTP, whichever door tells it: one table of statuses, one of titles, nothing of our insides."""

from collections.abc import Mapping
from typing import Final

from litestar.exceptions import HTTPException, ValidationException
from pydantic import BaseModel, ConfigDict, Field

from appliance import errors
from appliance.base import log
from appliance.base.paths import display
from appliance.errors import ApplianceError

_log = log.get("http")

STATUSES: Final[Mapping[type[ApplianceError], int]] = {
    errors.ApplianceError: 500,
    errors.CallerError: 400,
    errors.InvalidInput: 400,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Stale: 409,
    errors.LimitExceeded: 413,
    errors.PromptTooLong: 400,
    errors.AccessError: 403,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.ContentError: 422,
    errors.UnsafePath: 400,
    errors.MalformedContent: 422,
    errors.TrustError: 422,
    errors.Unavailable: 503,
    errors.Throttled: 429,
    errors.DeadlineExceeded: 504,
    errors.Cancelled: 503,
    errors.RemoteError: 502,
    errors.HostUnfit: 503,
    errors.StorageFault: 500,
    errors.DiskFull: 507,
    errors.StoreCorrupt: 500,
}
"""The status of each error; one that is not here has its nearest ancestor's."""

_CODES: Final = {400: "invalid_input", 401: "unauthenticated", 403: "forbidden", 404: "not_found",
                 405: "method_not_allowed", 408: "deadline_exceeded", 413: "limit_exceeded"}  # fmt: skip
TITLES: Final = {400: "The request is not right", 401: "Not logged in", 403: "Not allowed", 404: "Not found",
                  405: "Method not allowed", 408: "The request came too slowly", 409: "Conflict", 413: "Too large",
                  422: "The content is refused", 429: "Too many tries", 500: "An error of ours",
                  502: "Another machine is in the way", 503: "Not available now",
                  504: "It took too long", 507: "The disk is full"}  # fmt: skip

_RETRY_S: Final = 5


class Fault(BaseModel):
    """What is wrong with one field."""

    model_config = ConfigDict(frozen=True)

    field: str
    message: str


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="`urn:skellig:error:` and the code.")
    title: str
    status: int
    detail: str = Field(description="What happened, in one sentence.")
    code: str = Field(description="Stable: see the reference of errors.")
    remedy: str = Field("", description="The next step, or nothing.")
    retryable: bool = Field(False, description="Whether the same request may succeed later.")
    request: str = Field("", description="The request's id, as the log has it.")
    context: dict[str, str | int | float | bool | None] = Field(default_factory=dict, description="Facts for programs.")
    errors: list[Fault] = Field(default_factory=list, description="The fields that are wrong.")


def status_of(error: ApplianceError) -> int:
    """Return the HTTP status of *error*."""
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem_of(error: Exception, *, request_id: str = "") -> Problem:
    """Return *error* as a problem; one that we did not raise on purpose says only that it is ours."""
    if isinstance(error, ApplianceError):
        return _problem(
            status_of(error),
            error.message,
            code=error.code,
            remedy=error.remedy,
            retryable=error.retryable,
            request=request_id,
            context=_shown(error.context),
        )
    if isinstance(error, RecursionError):
        return _problem(400, "The JSON is nested too deeply.", request=request_id)
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _problem(error.status_code, _detail(error), request=request_id, errors=_faults(error))
    return _problem(500, "The appliance made an error. Its log has the details under this request's id.", request=request_id)


def headers_of(problem: Problem) -> dict[str, str]:
    """Return the headers that belong to *problem*: when to try again, how to log in."""
    headers = {"cache-control": "no-store"}
    if problem.status == 401:
        headers["www-authenticate"] = 'Bearer realm="skellig"'
    if problem.retryable and problem.status in {429, 503}:
        headers["retry-after"] = str(problem.context.get("retry_after", _RETRY_S))
    return headers


def log_failure(event: str, error: Exception, problem: Problem) -> None:
    """Log *event* if *error* is not the caller's: with its trace where nobody raised it on purpose."""
    if isinstance(error, ApplianceError) and problem.status >= 500:
        _log.warning(event, request=problem.request, code=problem.code, reason=error.message)
    elif problem.status >= 500:
        _log.error(event, request=problem.request, code=problem.code, error=type(error).__name__, exc_info=error)


def _problem(  # noqa: PLR0913 - the members of a problem
    status: int,
    detail: str,
    *,
    code: str = "",
    remedy: str = "",
    retryable: bool = False,
    request: str = "",
    context: dict[str, str | int | float | bool | None] | None = None,
    errors: list[Fault] | None = None,
) -> Problem:
    named = code or _CODES.get(status, "internal" if status >= 500 else "bad_request")
    return Problem(
        type=f"urn:skellig:error:{named}",
        title=TITLES.get(status, "The request is not right"),
        status=status,
        detail=detail,
        code=named,
        remedy=remedy,
        retryable=retryable,
        request=request,
        context=context or {},
        errors=errors or [],
    )


def _detail(error: HTTPException) -> str:
    if error.status_code == 404:
        return "There is nothing at this address."
    if error.status_code == 405:
        return "This address does not take that method."
    if error.status_code == 413:
        return "The body is larger than 1 MB."
    if isinstance(error, ValidationException) and error.extra:
        return "Some of the values are not right: see errors."
    return display(error.detail)


def _faults(error: HTTPException) -> list[Fault]:
    if not isinstance(error.extra, list):
        return []
    return [
        Fault(field=display(str(item.get("key", ""))), message=display(str(item.get("message", ""))))
        for item in error.extra[:20]
        if isinstance(item, dict)
    ]


def _shown(context: Mapping[str, object]) -> dict[str, str | int | float | bool | None]:
    return {
        name: value if isinstance(value, int | float | bool) or value is None else display(str(value))
        for name, value in context.items()
    }
