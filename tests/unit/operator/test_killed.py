"""Claims about a machine whose process is killed: at most the turn in flight is lost, and what was begun is said."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from appliance.operator import StateMachine, TurnLog
from tests.support.operating import go
from tests.support.operator_child import STOPS_AT, Worker

ROOT = Path(__file__).parents[3]


def killed(path: Path, place: str, *, after: str) -> list[int]:
    """Run the child until it says *after*, kill it as ``kill -9`` does, and return the turns that it had acknowledged."""
    argv = [sys.executable, "-m", "tests.support.operator_child", str(path), place]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            said = []
            for line in child.stdout:
                said.append(line.strip())
                if said[-1] == after:
                    break
        finally:
            child.kill()
        said += child.stdout.read().split()
    return [int(line) for line in said if line.isdigit()]


@contextmanager
def brought_back(path: Path) -> Iterator[tuple[StateMachine, TurnLog]]:
    with closing(TurnLog(path)) as log:
        worker = Worker("nowhere")
        yield StateMachine.from_log(log, runners={"coordinator": worker, "scout": worker}), log


def check_whole(sm: StateMachine, log: TurnLog, acknowledged: list[int]) -> int:
    """Look at what was kept; return how many turns stand in the thread."""
    turns = log.turns()
    done = [turn.text for turn in turns if turn.status == "done"]
    assert set(done) >= {f"q{number}" for number in acknowledged}
    assert [turn.status for turn in turns if turn.text not in done] in ([], ["interrupted"])
    said = [message["content"] for message in sm.coordinator_messages][1:]
    assert said == [text for question in done for text in (question, f"report on {question}")]
    slots = sm.agent("scout").objectives()
    assert [slot.index for slot in slots] == list(range(1, len(slots) + 1))
    assert {slot.status for slot in slots} <= {"accepted", "staged", "failed"}
    assert all(slot.duration_ms is not None for slot in slots)
    return len(done)


@pytest.mark.parametrize(
    ("place", "status"), [("coordinator", ""), ("junior", "failed"), ("instruction", "failed"), ("end", "accepted")]
)
def test_a_kill_loses_at_most_the_turn_in_flight(tmp_path: Path, place: str, status: str) -> None:
    path = tmp_path / "turns.db"
    acknowledged = killed(path, place, after="here")
    assert acknowledged == list(range(1, STOPS_AT))
    with brought_back(path) as (sm, log):
        slots = sm.agent("scout").objectives()
        last = slots[STOPS_AT - 1 :]
        assert [slot.status for slot in last] == ([{"failed": "running"}.get(status, status)] if status else [])
        assert [turn.status for turn in log.turns()] == ["done", "done", "running"]
        assert sm.recover() == (["scout-3"] if status == "failed" else [])
        assert check_whole(sm, log, acknowledged) == STOPS_AT - 1
        if status == "failed":
            assert str(last[0].agent_message).startswith("interrupted")
            assert go(sm.instruct("scout", STOPS_AT, "go on"))["status"] == "staged"
            roles = [message["role"] for message in last[0].messages]
            assert roles == ["system", "user", *(["assistant"] if place == "instruction" else []), "user", "assistant"]
        assert go(sm.run("q4")) == "report on q4"
    with brought_back(path) as (sm, log):
        assert sm.recover() == []
        assert check_whole(sm, log, [*acknowledged, 4]) == STOPS_AT


def test_a_kill_in_the_midst_of_many_turns_keeps_all_that_were_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    acknowledged = killed(path, "nowhere", after="20")
    assert len(acknowledged) >= 20
    with brought_back(path) as (sm, log):
        sm.recover()
        assert check_whole(sm, log, acknowledged) in (len(acknowledged), len(acknowledged) + 1)
        assert go(sm.run("after")) == "report on after"
