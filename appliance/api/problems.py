"""Errors as RFC 9457 problems: the responses of the API, and what its document says of them."""

from typing import Final

from litestar import Response
from litestar.openapi.datastructures import ResponseSpec

from appliance import errors
from appliance.errors import ApplianceError
from appliance.web.problems import STATUSES, TITLES, Problem, headers_of, log_failure, problem_of

MEDIA_TYPE: Final = "application/problem+json"


def encoded(problem: Problem) -> bytes:
    """Return *problem* as JSON."""
    return problem.model_dump_json().encode()


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
