"""The appliance asked over its HTTP API, with a key."""

import contextlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from appliance.base.paths import display
from appliance.contracts.chat import Message
from appliance.contracts.tools import Json
from appliance.errors import ApplianceError, DeadlineExceeded, InvalidInput, Unavailable
from appliance.framework.backends import AskedAnswer, Context, Found, MissionInfo
from appliance.framework.conversation import Decision
from appliance.framework.desk import SessionInfo, Setup
from appliance.framework.events import AgentEvent
from appliance.framework.flows import WorkflowOutcome
from appliance.framework.results import ApprovalRequest, FoundLines, SessionMetrics, TaskResult, TurnCost

PATIENCE: Final = httpx2.Timeout(900.0, connect=5.0)  # a call may wait for a person

_REMEDY: Final = "`skellig status` says whether it runs, and where it listens."
_T = TypeVar("_T")


class _Problem(msgspec.Struct):
    detail: str
    code: str
    remedy: str = ""


class _Costs(msgspec.Struct):
    total: SessionMetrics
    last_turn: TurnCost


class _Approval(msgspec.Struct):
    id: str
    what: str
    arguments: str
    why: str
    expires_at: float


class _Repo(msgspec.Struct):
    id: str
    name: str
    project: str
    path: str


class _Found(msgspec.Struct):
    hits: tuple[FoundLines, ...]
    total: int
    warnings: tuple[str, ...]


def _leaves(kind: type[ApplianceError]) -> Iterator[type[ApplianceError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _leaves(child)


_KINDS: Final[Mapping[str, type[ApplianceError]]] = {kind.code: kind for kind in _leaves(ApplianceError)}


class HttpBackend:
    """Satisfies `Backend` by the API at *url*, or behind the unix *socket*, with *key*."""

    def __init__(self, url: str, *, key: str, socket: Path | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(f"{display(url)[:80]!r} is no address.", remedy="Give one as http://127.0.0.1:7878.")
        if not key.isascii() or not key.isprintable():
            raise InvalidInput("The key is none: keys are letters, digits and signs.", remedy="Copy it whole.")
        transport = None if socket is None else httpx2.AsyncHTTPTransport(uds=str(socket))
        self._client = httpx2.AsyncClient(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
            transport=transport,
            timeout=PATIENCE,
            trust_env=False,
        )

    async def create_session(self, setup: Setup) -> SessionInfo:
        """Begin a session."""
        return await self._post("sessions", SessionInfo, setup.model_dump(mode="json"))

    async def session(self, session_id: str) -> SessionInfo:
        """Return the session as it stands."""
        return await self._get(f"sessions/{_quoted(session_id)}", SessionInfo)

    async def sessions(self, *, limit: int) -> Sequence[SessionInfo]:
        """Return the sessions that changed last, the newest first."""
        return await self._get("sessions", list[SessionInfo], limit=limit)

    async def messages(self, session_id: str) -> Sequence[Message]:
        """Return what was said."""
        return await self._get(f"sessions/{_quoted(session_id)}/messages", list[Message])

    async def metrics(self, session_id: str) -> tuple[SessionMetrics, TurnCost]:
        """Return what the session has cost, and its last turn."""
        costs = await self._get(f"sessions/{_quoted(session_id)}/metrics", _Costs)
        return costs.total, costs.last_turn

    async def chat(self, session_id: str, text: str, *, context: Context) -> TaskResult:
        """Return what comes of *text*."""
        address = f"sessions/{_quoted(session_id)}/chat"
        return _result(await self._post(address, dict[str, Any], {"text": text, "context": context}))

    async def stream(self, session_id: str, text: str, *, context: Context) -> AsyncGenerator[AgentEvent, None]:
        """Give the events of a turn."""
        body = _encoded({"text": text, "context": context})
        address, headers = f"sessions/{_quoted(session_id)}/chat", {"accept": "text/event-stream"}
        with _on_the_wire():
            async with self._client.stream("POST", address, content=body, headers=headers) as response:
                if response.is_error:
                    await response.aread()
                _refuse(response)
                async for event in httpx2.EventSource(response):
                    if event.event == "error":
                        raise _error(event.data.encode())
                    with _understood():
                        told = AgentEvent.from_dict(msgspec.json.decode(event.data))
                    yield told

    async def resume(self, run_id: str, decision: Decision, *, note: str) -> TaskResult:
        """Decide, and return what then comes of the run."""
        body = {"decision": decision, "note": note}
        return _result(await self._post(f"runs/{_quoted(run_id)}/resume", dict[str, Any], body))

    async def asked(self, run_id: str) -> Sequence[ApprovalRequest]:
        """Return what a run asks people now."""
        found = await self._get("approvals", list[_Approval], run=run_id)
        return [ApprovalRequest(each.id, each.what, {"shown": each.arguments}, each.why, each.expires_at) for each in found]

    async def decide(self, approval: str, decision: Decision, *, note: str) -> None:
        """Decide on one question."""
        await self._post(f"approvals/{_quoted(approval)}", dict[str, Any], {"decision": decision, "note": note})

    async def run_workflow(
        self, source: str, state: Mapping[str, Json], *, setup: Setup, run_id: str, resume: bool
    ) -> WorkflowOutcome:
        """Run a workflow."""
        body = {"source": source, "state": state, "setup": setup.model_dump(mode="json"), "run_id": run_id, "resume": resume}
        told = await self._post("workflows", dict[str, Any], body)
        with _understood():
            return WorkflowOutcome(**told)

    async def search(self, query: str, *, workspace: str | None, limit: int) -> Found:
        """Find code."""
        found = await self._get("search", _Found, q=query, limit=limit, **await self._about(workspace))
        return Found(found.hits, found.total, found.warnings)

    async def ask(self, question: str, *, workspace: str | None, prose: bool) -> AskedAnswer:
        """Answer a question about code."""
        return await self._post("ask", AskedAnswer, {"question": question, "prose": prose, **await self._within(workspace)})

    async def start_mission(self, goal: str, *, workspace: str | None) -> MissionInfo:
        """Put a mission on record and have it worked on."""
        return await self._post("missions", MissionInfo, {"goal": goal, **await self._within(workspace)})

    async def mission(self, mission_id: str) -> MissionInfo:
        """Return the mission as it stands."""
        return await self._get(f"missions/{_quoted(mission_id)}", MissionInfo)

    async def cancel_mission(self, mission_id: str) -> MissionInfo:
        """Stop it."""
        return await self._post(f"missions/{_quoted(mission_id)}/cancel", MissionInfo, {})

    async def close(self) -> None:
        """Let go of everything."""
        await self._client.aclose()

    async def _within(self, workspace: str | None) -> dict[str, object]:
        """Return what *workspace* means in a body; raise `NotFound`."""
        about = await self._about(workspace)
        repo = about.pop("repo", None)
        return dict(about) if repo is None else {**about, "repos": [repo]}

    async def _about(self, workspace: str | None) -> dict[str, str]:
        """Return what *workspace* means to a route about code; raise `NotFound`."""
        if workspace is None:
            return {}
        repos = await self._get("repos", list[_Repo])
        found = next((repo for repo in repos if workspace in {repo.id, repo.name, repo.path}), None)
        return {"project": workspace} if found is None else {"project": found.project, "repo": found.id}

    async def _get(self, path: str, kind: type[_T], **query: str | int) -> _T:
        with _on_the_wire():
            response = await self._client.get(path, params=query)
        return _decoded(response, kind)

    async def _post(self, path: str, kind: type[_T], body: object) -> _T:
        with _on_the_wire():
            response = await self._client.post(path, content=_encoded(body))
        return _decoded(response, kind)


@contextlib.contextmanager
def _on_the_wire() -> Iterator[None]:
    """Raise, for what goes wrong on the wire in this block, the error that says so."""
    try:
        yield
    except httpx2.TimeoutException as exc:
        raise DeadlineExceeded("The appliance does not answer in time.", remedy=_REMEDY) from exc
    except httpx2.InvalidURL as exc:
        raise InvalidInput(f"That is no address: {exc}.", remedy="Give one as http://127.0.0.1:7878.") from exc
    except httpx2.HTTPError as exc:
        raise Unavailable("The appliance cannot be reached, or broke off.", remedy=_REMEDY) from exc


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """Raise `Unavailable` for what in this block is not what the appliance says."""
    try:
        yield
    except (msgspec.DecodeError, InvalidInput, UnicodeDecodeError, RecursionError, TypeError) as exc:
        raise Unavailable("What answers there does not speak as the appliance does.", remedy=_REMEDY) from exc


def _decoded(response: httpx2.Response, kind: type[_T]) -> _T:
    _refuse(response)
    with _understood():
        return msgspec.json.decode(response.content, type=kind)


def _result(told: Mapping[str, Any]) -> TaskResult:
    with _understood():
        return TaskResult.from_dict(told)


def _encoded(body: object) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (msgspec.EncodeError, TypeError, ValueError, OverflowError, RecursionError) as exc:
        raise InvalidInput(f"What is to be sent is no JSON: {str(exc)[:200]}.", remedy="Send plain values.") from exc


def _refuse(response: httpx2.Response) -> None:
    if response.is_error:
        raise _error(response.content)


def _error(body: bytes) -> ApplianceError:
    try:
        told = msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, RecursionError):
        return Unavailable("What answers there does not speak as the appliance does.", remedy=_REMEDY)
    return _KINDS.get(told.code, Unavailable)(told.detail, remedy=told.remedy)


def _quoted(part: str) -> str:
    return quote(part, safe="")
