"""From the arguments of `Agent.create` to what an agent is made of; what is refused is refused here."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from appliance.contracts.agents import AgentDefinition
from appliance.contracts.tools import Grants
from appliance.errors import Conflict, InvalidInput, NotFound
from appliance.framework import options as settle
from appliance.framework.ledger import Ledger
from appliance.framework.options import Config, Options, Tools
from appliance.framework.place import Place, open_place
from appliance.framework.turn import Turns
from appliance.orchestrator.runners.prompts import preamble
from appliance.orchestrator.services.turn import SYSTEM


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments of `Agent.create`, as they were given."""

    provider: str | None
    model: str | None
    temperature: float
    max_tokens: int
    tools: Tools
    thinking: bool
    airgapped: bool
    profile: str | None
    workspace: Path | str | None
    config: Config
    vertical: str | None
    enable_observability: bool
    session_id: str | None
    session_config: Mapping[str, object] | settle.SessionConfig | None


@dataclass(frozen=True, slots=True)
class Made:
    """What an agent is made of. *session* is the one that it goes on with, None where none was asked for.

    *scratch* holds its scratch worktree, where it has one, until that is closed.
    """

    place: Place
    turns: Turns
    project: str
    session: str | None
    scratch: ExitStack


async def make(wanted: Wanted, *, place: Place | None = None) -> Made:
    """Return what *wanted* is made of, on *place* or on that of its settings.

    Raise `InvalidInput` or `NotFound` for an argument that cannot be honoured, `HostUnfit` where there is no appliance,
    `EngineUnavailable` where it has no chat model, `Conflict` for a session that is closed, `LimitExceeded` for more tools
    than a model can be told of. Nothing is left open then.
    """
    settle.no_vertical(wanted.vertical)
    settle.session_id(wanted.session_id)
    checked = settle.session_config(wanted.session_config)
    if place is not None:
        return await asyncio.to_thread(_made, wanted, checked, place)
    opened = await asyncio.to_thread(open_place, settle.loaded(wanted.config))
    try:
        return await asyncio.to_thread(_made, wanted, checked, opened)
    except BaseException:
        opened.close()
        raise


def _made(wanted: Wanted, session: settle.SessionConfig, place: Place) -> Made:
    options = _options(wanted, session, place)
    workspace = place.workspace(wanted.workspace, project=session.project)
    session_id = (
        None
        if wanted.session_id is None
        else _session(place, wanted.session_id, project=workspace.project, title=session.title)
    )
    grants = Grants(workspace.project, workspace.repos, options.tools.names, options.tools.effects)
    services = place.patient(session.approval_seconds)
    agent = options.profile.name if options.profile else "agent"
    scratch = ExitStack()
    path = scratch.enter_context(place.scratch(workspace)) if "write" in options.tools.effects else None
    turns = Turns(services, Ledger(services.sessions), grants, options, agent, path)
    return Made(place, turns, workspace.project, session_id, scratch)


def _options(wanted: Wanted, session: settle.SessionConfig, place: Place) -> Options:
    served = place.services.facade.provider_service.get_current_provider_info()
    settle.provider(wanted.provider, engine=place.engine)
    airgapped = settle.flag("airgapped", wanted.airgapped)
    profile = settle.profile(wanted.profile, known=place.agents)
    tools = settle.tools(wanted.tools, catalogue=place.specs, own=profile, airgapped=airgapped)
    if tools:
        preamble([place.specs[name] for name in tools], profile.skill if profile else SYSTEM)  # it refuses too many
    return Options(
        model=_model(wanted.model, profile, served=served.model),
        temperature=settle.temperature(wanted.temperature),
        max_tokens=settle.max_tokens(wanted.max_tokens),
        tools=tools,
        thinking=settle.flag("thinking", wanted.thinking),
        airgapped=airgapped,
        profile=profile,
        observed=settle.flag("enable_observability", wanted.enable_observability),
        session=session,
    )


def _model(wanted: str | None, profile: AgentDefinition | None, *, served: str) -> str:
    if profile is not None and profile.model:
        settle.model(profile.model, served=served)
    return settle.model(wanted, served=served)


def _session(place: Place, wanted: str, *, project: str, title: str) -> str:
    """Return the session called *wanted*, begun if there is none; raise `Conflict` for one that is closed."""
    sessions = place.services.facade.session_service
    try:
        found = sessions.get_session(wanted)
    except NotFound:
        return sessions.create_session(project=project, title=title, session_id=wanted).id
    if found.state != "open":
        raise Conflict(f"The session {found.id} is closed.", remedy="Choose another id, or none.", session=found.id)
    if found.project != project:
        raise InvalidInput(
            f"The session {found.id} is of another project.",
            remedy="Name its project, or a repository of it, as `workspace`.",
        )
    return found.id
