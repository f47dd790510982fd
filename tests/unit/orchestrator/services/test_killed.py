import asyncio
import subprocess
import sys
from pathlib import Path

from tests.unit.orchestrator.services.killed import begun, where


def test_a_process_that_is_killed_in_a_turn_loses_nothing_that_was_there_and_asks_nobody_twice(tmp_path: Path) -> None:
    path = tmp_path / "global.db"
    made = begun(path, patience_s=0)
    before = made.facade.session_service.create_session(session_id="s")
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.unit.orchestrator.services.killed", str(path)], stdout=subprocess.PIPE, text=True
    )
    assert victim.stdout is not None
    assert [victim.stdout.readline().strip() for _ in range(2)] == ["tool_call", "awaiting_approval"]
    victim.kill()
    victim.communicate()
    assert made.facade.session_service.get_session("s") == before
    (pending,) = made.tools.approvals.list(state="pending")
    made.tools.approvals.decide(pending.id, "approved", by="ann")
    runtime = made.runtime("s", context=where())
    reply = asyncio.run(runtime.chat("Change it"))
    assert [outcome.code for outcome in reply.outcomes] == [""]
    assert made.tools.approvals.get(pending.id).state == "used"
    assert [message["role"] for message in runtime.messages if isinstance(message, dict)][-1] == "assistant"
    made.close()
