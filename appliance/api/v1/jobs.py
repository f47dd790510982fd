"""Jobs: what works, what waits, how far it is."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from litestar import Controller, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter, QueryParameter
from litestar.response import Stream

from appliance import errors
from appliance.api import sse
from appliance.api.problems import documented
from appliance.api.schemas import JobEventOut, JobOut
from appliance.ids import JobId
from appliance.jobs.queue import JobEvent
from appliance.services import Services
from appliance.web.requests import request_id_of
from appliance.web.wiring import Asked, Wired

_POLL_S = 0.3

Which = Annotated[str, PathParameter(max_length=100)]
Filter = Annotated[str | None, QueryParameter(max_length=100)]


class JobController(Controller):
    """``/api/v1/jobs``."""

    path = "/jobs"
    tags = ("jobs",)

    @get("/", summary="The newest jobs", responses=documented(), sync_to_thread=True)
    def jobs(
        self,
        services: Wired,
        kind: Filter = None,
        key: Filter = None,
        limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
    ) -> list[JobOut]:
        """Return the newest jobs first, of one *kind* and *key* (a repo's id) if given."""
        return [JobOut.of(job) for job in services.jobs.list(kind=kind, key=key, limit=limit)]

    @get("/{job:str}", summary="One job", responses=documented(errors.NotFound), sync_to_thread=True)
    def job(self, job: Which, services: Wired) -> JobOut:
        """Return the job as it stands."""
        return JobOut.of(services.jobs.get(JobId(job)))

    @post(
        "/{job:str}/cancel",
        summary="Stop a job",
        status_code=202,
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def cancel(self, job: Which, services: Wired) -> JobOut:
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
        services: Wired,
        request: Asked,
        after: Annotated[int | None, QueryParameter(ge=0, le=2**62)] = None,
    ) -> Stream:
        """Stream the events numbered above *after* (or the ``Last-Event-ID`` header) until the job has ended."""
        seen = after if after is not None else sse.last_seen(request.headers)
        return await sse.stream(lambda: _events(services, JobId(job), after=seen), request_id=request_id_of(request.scope))


async def _events(services: Services, job: JobId, *, after: int) -> AsyncGenerator[sse.Event, None]:
    while True:
        events, ended = await asyncio.to_thread(_since, services, job, after)
        for event in events:
            after = event.seq
            yield sse.Event(event.type, JobEventOut.of(event).model_dump_json(), id=event.seq)
        if ended and not events:
            return
        if not events:
            await asyncio.sleep(_POLL_S)


def _since(services: Services, job: JobId, after: int) -> tuple[Sequence[JobEvent], bool]:
    ended = services.jobs.get(job).ended  # asked first: what happens in between is then among the events
    return services.jobs.events(job, after=after), ended
