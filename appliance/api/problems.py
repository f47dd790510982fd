"""Errors as RFC 9457 problems: the responses of the API, and what its document says of them."""

from typing import Final

from litestar import Response
from litestar.openapi.datastructures import ResponseSpec
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from appliance import errors
from appliance.errors import ApplianceError
from appliance.web.problems import STATUSES, TITLES, Problem, log_failure, problem_of
from appliance.web.requests import request_id_of

MEDIA_TYPE: Final = "application/problem+json"

_RETRY_S: Final = 5


def headers_of(problem: Problem) -> dict[str, str]:
    """Return the headers that belong to *problem*: when to try again, how to log in."""
    headers = {"cache-control": "no-store"}
    if problem.status == 401:
        headers["www-authenticate"] = 'Bearer realm="skellig"'
    if problem.retryable and problem.status in {429, 503}:
        headers["retry-after"] = str(problem.context.get("retry_after", _RETRY_S))
    return headers


def encoded(problem: Problem) -> bytes:
    """Return *problem* as JSON."""
    return problem.model_dump_json().encode()


async def send_problem(error: Exception, *, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with *error* from outside the routes."""
    response = response_to(error, request_id=request_id_of(scope))
    plain = ASGIResponse(
        body=response.content, status_code=response.status_code, media_type=MEDIA_TYPE, headers=response.headers
    )
    await plain(scope, receive, send)


def response_to(error: Exception, *, request_id: str) -> Response[bytes]:
    """Return the response that says *error*; log it if it is ours."""
    problem = problem_of(error, request_id=request_id)
    log_failure("request.failed", error, problem)
    return Response(encoded(problem), status_code=problem.status, media_type=MEDIA_TYPE, headers=headers_of(problem))


def documented(*kinds: type[ApplianceError]) -> dict[int, ResponseSpec]:
    """Return the OpenAPI responses for errors of *kinds*, and for those that any route may have."""
    everywhere: tuple[type[ApplianceError], ...] = (
        errors.InvalidInput,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.LimitExceeded,
        errors.Unavailable,
    )
    return {
        STATUSES[kind]: ResponseSpec(
            Problem,
            generate_examples=False,
            description=TITLES[STATUSES[kind]],
            media_type=MEDIA_TYPE,
        )
        for kind in (*everywhere, *kinds)
    }
