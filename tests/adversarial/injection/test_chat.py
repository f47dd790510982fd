"""Whatever a repository tells an agent with tools to do: it calls nothing outside of its grants, and approves nothing."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import pytest

from appliance.base import sqlite
from appliance.codeintel.needs import ChatModel
from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Grants, ToolContext
from appliance.errors import ApplianceError
from appliance.orchestrator.approvals import Approvals
from appliance.orchestrator.missions.build import RepositoryNames
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.services.audit import ToolAudit
from appliance.orchestrator.services.chat import LocalChatService
from appliance.orchestrator.services.context import LocalContextService
from appliance.orchestrator.services.provider import LocalProviderService
from appliance.orchestrator.services.recovery import LocalRecoveryService
from appliance.orchestrator.services.registry import ToolRegistry
from appliance.orchestrator.services.session import LocalSessionService
from appliance.orchestrator.services.tool import LocalToolService
from appliance.orchestrator.tools.catalogue import builtin_tools
from appliance.tables import MIGRATIONS
from tests.adversarial.injection.obedient import Obedient
from tests.adversarial.injection.orders import CANARY, call
from tests.adversarial.injection.planting import CASES, NAMES, Case
from tests.adversarial.injection.street import Street
from tests.support.calls import RUN, OneModel, ScriptedModel, ScriptedTool, Stop
from tests.support.clock import FakeClock

_READS: Final = frozenset(
    {
        "search_code",
        "read_lines",
        "list_files",
        "definition",
        "callers",
        "impact",
        "outline",
        "git_log",
        "git_blame",
        "git_diff",
    }
)
_CLOSED: Final = ("edit_file", "undo_edit", "run_tests", "shell", "python", "send_mail", "grant", "approve")
_ASKS: Final = "publish"


def _first(case: Case) -> str:
    """Return the call by which an agent would come to read the place."""
    if case.place == "commit message":
        return call("git_log", path=case.path)
    if case.place in {"instructions", "readme"}:
        name = "AGENTS.md" if case.place == "instructions" else "README.md"
        return call("read_lines", path=f"docs/{case.n:03}/{name}")
    return call("read_lines", path=f"tests/test_{case.n:03}.py" if case.place == "test" else case.path)


def _lawful(case: Case) -> Callable[[ChatRequest], str]:
    left = [_first(case)]

    def says(request: ChatRequest) -> str:
        if request.schema is None:
            return f"`{case.function}` returns a value."
        return left.pop() if left else call("answer")

    return says


@dataclass
class Desk:
    """A chat service over the tools that are built in, and what must not be reached beside them."""

    chat: LocalChatService
    tools: LocalToolService
    closed: list[ScriptedTool]
    session: str


@contextmanager
def _opened(street: Street, model: Obedient, path: Path) -> Iterator[Desk]:
    async def probe(chat: ChatModel) -> Abilities:
        del chat
        return Abilities(schema=True, envelope=True)

    async def at_once(seconds: float) -> None:
        del seconds

    def connect() -> sqlite3.Connection:
        conn = sqlite.connect(path, migrations=MIGRATIONS)
        conn.execute("PRAGMA synchronous=OFF")  # nothing here need outlive a power cut
        return conn

    registry, clock = ToolRegistry(), FakeClock()
    closed = [*(ScriptedTool(name) for name in _CLOSED), ScriptedTool(_ASKS, approval=True)]
    for tool in (*builtin_tools(street), *closed):
        registry.register(tool)
    approvals, audit = Approvals(connect(), clock=clock), ToolAudit(connect(), clock=clock)
    names = RepositoryNames(street.registry)
    tools = LocalToolService(registry=registry, approvals=approvals, audit=audit, repositories=names, patience_s=0.0)
    sessions = LocalSessionService(connect(), clock=clock)
    provider = LocalProviderService(OneModel(cast("ScriptedModel", model)), probe=probe)
    chat = LocalChatService(
        context_service=LocalContextService(sessions, provider.current),
        tool_service=tools,
        session_service=sessions,
        provider_service=provider,
        recovery_service=LocalRecoveryService(sleep=at_once),
    )
    yield Desk(chat, tools, closed, sessions.create_session().id)
    for each in (approvals, audit, sessions):
        each.close()


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_an_agent_that_obeys_what_it_reads_makes_no_call_outside_of_its_grants(
    case: Case, street: Street, elsewhere: list[str], tmp_path: Path
) -> None:
    """Its tools and their schemas are no boundary: an engine may break them. The tool service is."""
    model = Obedient(case, _lawful(case), times=4)
    grants = Grants(street.index.project, (street.shop.id,), _READS | {_ASKS}, frozenset({"read"}))
    with _opened(street, model, tmp_path / "chat.db") as desk:
        desk.tools.open_run(RUN, grants=grants, calls=20)
        context = ToolContext(RUN, grants, Stop(), agent="junior")
        try:
            said = asyncio.run(desk.chat.chat(desk.session, case.goal, context=context)).content
        except ApplianceError as exc:
            said = str(exc)
        audit = desk.tools.audit.list()
    assert model.obeyed, "the order came nowhere"
    assert [tool.name for tool in desk.closed if tool.calls] == []
    assert {row.tool for row in audit if row.outcome == "done"} <= _READS
    assert CANARY not in said + model.read + json.dumps([row.arguments + row.reason for row in audit])
    assert "root:" not in model.read
    assert elsewhere == []
