"""Jobs: what works, what waits, how far it is."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from litestar import Controller, Request, get, post
from litestar.datastructures import State
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Parameter
from litestar.response import Stream

from appliance import errors
from appliance.access.principal import Principal
from appliance.api import sse
from appliance.api.problems import documented, request_id_of
from appliance.api.schemas import JobEventOut, JobOut
from appliance.errors import InvalidInput
from appliance.ids import JobId
from appliance.services import Services

_POLL_S = 0.25

Which = Annotated[str, Parameter(max_length=100)]


class JobController(Controller):
    """``/api/v1/jobs``."""

    path = "/jobs"
    tags = ("jobs",)

    @get("/", summary="The newest jobs", responses=documented(), sync_to_thread=True)
    def jobs(
        self,
        services: Services,
        kind: Which | None = None,
        key: Which | None = None,
        limit: Annotated[int, Parameter(ge=1, le=100)] = 50,
    ) -> list[JobOut]:
        """Return the newest jobs first, of one *kind* and *key* (a repo's id) if given."""
        return [JobOut.of(job) for job in services.jobs.list(kind=kind, key=key, limit=limit)]

    @get("/{job:str}", summary="One job", responses=documented(errors.NotFound), sync_to_thread=True)
    def job(self, job: Which, services: Services) -> JobOut:
        """Return the job as it stands."""
        return JobOut.of(services.jobs.get(JobId(job)))

    @post(
        "/{job:str}/cancel",
        summary="Stop a job",
        status_code=202,
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def cancel(self, job: Which, services: Services) -> JobOut:
        """Ask the job to stop: one that waits is cancelled at once, one that runs stops at its next check."""
        return JobOut.of(services.jobs.cancel(JobId(job)))

    @get(
        "/{job:str}/events",
        summary="What happens to a job, as it happens",
        responses=documented(errors.NotFound)
        | {200: ResponseSpec(JobEventOut, generate_examples=False, description="Events", media_type=sse.MEDIA_TYPE)},
    )
    async def events(
        self,
        job: Which,
        services: Services,
        request: Request[Principal | None, str, State],
        after: Annotated[int, Parameter(ge=0, le=2**62)] | None = None,
    ) -> Stream:
        """Stream the events numbered above *after* (or the ``Last-Event-ID`` header) until the job has ended."""
        await asyncio.to_thread(services.jobs.get, JobId(job))
        seen = after if after is not None else _last_seen(request.headers.get("last-event-id", "0"))
        return sse.stream(lambda: _events(services, JobId(job), after=seen), request_id=request_id_of(request.scope))


def _last_seen(header: str) -> int:
    if not header.isascii() or not header.isdigit() or len(header) > 18:
        raise InvalidInput("The Last-Event-ID is not the number of an event.")
    return int(header)


async def _events(services: Services, job: JobId, *, after: int) -> AsyncGenerator[sse.Event, None]:
    while True:
        ended = (await asyncio.to_thread(services.jobs.get, job)).ended
        events = await asyncio.to_thread(services.jobs.events, job, after=after)
        for event in events:
            after = event.seq
            yield sse.Event(event.type, JobEventOut.of(event).model_dump_json(), id=event.seq)
        if ended and not events:
            return
        if not events:
            await asyncio.sleep(_POLL_S)
