"""Missions: ask for one, watch it work, stop it, let it go on, and check its record."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated

from litestar import Controller, Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import Stream

from appliance import errors
from appliance.api import sse
from appliance.api.missions import EntryOut, MissionIn, MissionOut, MissionPage, ReplayOut, ResumeIn, VerificationOut
from appliance.api.problems import documented
from appliance.ids import MissionId
from appliance.orchestrator.missions.model import ENDED, Entry, Mission
from appliance.services import Services
from appliance.web.requests import caller_of, request_id_of
from appliance.web.scopes import scope_of
from appliance.web.wiring import Asked, Wired

_POLL_S = 0.3
_STILL_S = 1.0  # where nothing happens before a person says something

Which = Annotated[str, PathParameter(max_length=100)]


class MissionController(Controller):
    """``/api/v1/missions``."""

    path = "/missions"
    tags = ("missions",)

    @post(
        "/",
        summary="Ask for a mission",
        status_code=202,
        responses=documented(errors.NotFound, errors.Conflict),
    )
    async def start(self, data: JSONBody[MissionIn], services: Wired, request: Asked) -> Response[MissionOut]:
        """Put a mission on record and have it worked on; ``Location`` is where it stands."""
        scope = await scope_of(services, project=data.project, repos=data.repos, branches=data.branches)
        by = caller_of(request)
        limits = data.limits(services.missions.desk.ceilings)
        mission = await asyncio.to_thread(services.missions.start, data.goal, scope=scope, asked_by=by, limits=limits)
        return Response(MissionOut.of(mission), headers={"location": f"/api/v1/missions/{mission.id}"})

    @get("/", summary="The newest missions", responses=documented(errors.NotFound), sync_to_thread=True)
    def missions(
        self,
        services: Wired,
        project: Annotated[str | None, QueryParameter(max_length=100)] = None,
        limit: Annotated[int, QueryParameter(ge=1, le=100)] = 50,
        offset: Annotated[int, QueryParameter(ge=0, le=1_000_000)] = 0,
    ) -> MissionPage:
        """Return a page of missions, the newest first, of a *project* if given."""
        chosen = "" if project is None else services.registry.project(project).id
        found = services.missions.desk.list(project=chosen, limit=limit + 1, offset=offset)
        items = [MissionOut.of(mission) for mission in found[:limit]]
        return MissionPage(items=items, next_offset=offset + limit if len(found) > limit else None)

    @get("/{mission:str}", summary="One mission", responses=documented(errors.NotFound), sync_to_thread=True)
    def mission(self, mission: Which, services: Wired) -> MissionOut:
        """Return the mission as it stands, with its answer once it has one."""
        return MissionOut.of(services.missions.desk.get(MissionId(mission)))

    @get(
        "/{mission:str}/events",
        summary="What a mission does, as it does it",
        responses=documented(errors.NotFound)
        | {200: ResponseSpec(EntryOut, generate_examples=False, description="Events", media_type=sse.MEDIA_TYPE)},
    )
    async def events(
        self,
        mission: Which,
        services: Wired,
        request: Asked,
        after: Annotated[int | None, QueryParameter(ge=0, le=2**62)] = None,
    ) -> Stream:
        """Stream the entries of its record behind *after*, or the ``Last-Event-ID`` of who comes back, as ``entry``.

        The last event, once it has ended, is ``mission``: all of it. Who hangs up ends the stream and nothing else.
        """
        seen = max(after or 0, sse.last_seen(request.headers))
        return await sse.stream(
            lambda: _events(services, MissionId(mission), after=seen), request_id=request_id_of(request.scope)
        )

    @get(
        "/{mission:str}/record",
        summary="The record of a mission, as it is stored",
        responses=documented(errors.NotFound)
        | {
            200: ResponseSpec(
                str, generate_examples=False, description="A line of JSON for each entry", media_type="application/jsonl"
            )
        },
        sync_to_thread=True,
    )
    def record(self, mission: Which, services: Wired) -> Response[bytes]:
        """Return the record, a line of JSON for each entry, each with the hash of all that stands before it."""
        lines = services.missions.desk.record(MissionId(mission))
        content = b"".join(line.rstrip(b"\n") + b"\n" for line in lines)
        return Response(content, media_type="application/jsonl")

    @post(
        "/{mission:str}/cancel",
        summary="Stop a mission",
        status_code=202,
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def cancel(self, mission: Which, services: Wired, request: Asked) -> MissionOut:
        """Stop the mission, at whatever it is: what it has done stays on record."""
        return MissionOut.of(services.missions.cancel(MissionId(mission), by=caller_of(request)))

    @delete(
        "/{mission:str}",
        summary="Delete a mission and its record",
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def remove(self, mission: Which, services: Wired, request: Asked) -> None:
        """Delete the mission, which must have ended, with all of its record. Who did it is written to the audit log."""
        services.missions.desk.remove(MissionId(mission), by=caller_of(request))

    @post(
        "/{mission:str}/resume",
        summary="Let a paused mission go on",
        status_code=202,
        responses=documented(errors.NotFound, errors.Conflict),
        sync_to_thread=True,
    )
    def resume(self, mission: Which, data: JSONBody[ResumeIn], services: Wired, request: Asked) -> MissionOut:
        """Let the mission go on where it paused, with the instruction as its next words if there is one."""
        resumed = services.missions.resume(MissionId(mission), instruction=data.instruction, by=caller_of(request))
        return MissionOut.of(resumed)

    @post(
        "/{mission:str}/verify",
        summary="Check a mission's record",
        status_code=200,
        responses=documented(errors.NotFound),
        opt={"permission": "read"},
        sync_to_thread=True,
    )
    def verify(self, mission: Which, services: Wired) -> VerificationOut:
        """Return whether every entry is as it was written, and where not, the first that is not."""
        return VerificationOut.of(services.missions.desk.verify(MissionId(mission)))

    @post(
        "/{mission:str}/replay",
        summary="Run a mission again from its record",
        status_code=200,
        responses=documented(errors.NotFound),
        opt={"permission": "read"},
    )
    async def replay(self, mission: Which, services: Wired) -> ReplayOut:
        """Run the mission again from its record alone, and return whether it is the same byte for byte."""
        return ReplayOut.of(await services.missions.replay(MissionId(mission)))


async def _events(services: Services, which: MissionId, *, after: int) -> AsyncGenerator[sse.Event, None]:
    while True:
        mission, entries = await asyncio.to_thread(_since, services, which, after)
        for entry in entries:
            after = entry.seq
            yield sse.Event("entry", EntryOut.of(entry).model_dump_json(), id=entry.seq)
        if mission.state in ENDED and not entries:
            yield sse.Event("mission", MissionOut.of(mission).model_dump_json())
            return
        if not entries:
            await asyncio.sleep(_STILL_S if mission.state in {"paused", "waiting"} else _POLL_S)


def _since(services: Services, which: MissionId, after: int) -> tuple[Mission, Sequence[Entry]]:
    mission = services.missions.desk.get(which)  # asked first: what happens in between is then among the entries
    return mission, services.missions.desk.entries(which, after=after)
