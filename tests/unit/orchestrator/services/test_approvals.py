import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.errors import ApprovalRejected, ApprovalRequired, Cancelled, Conflict, LimitExceeded, NotFound
from appliance.orchestrator.approvals import NOBODY, Approval, Approvals
from appliance.tables import MIGRATIONS
from tests.support.clock import FakeClock

EDIT = {"path": "a.py", "text": "x = 1\n"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


def opened(path: Path, clock: FakeClock) -> Approvals:
    async def pass_time(seconds: float) -> None:
        clock.advance(seconds)
        await asyncio.sleep(0)

    return Approvals(sqlite.connect(path, migrations=MIGRATIONS), clock=clock, sleep=pass_time)


@pytest.fixture
def approvals(path: Path, clock: FakeClock) -> Iterator[Approvals]:
    approvals = opened(path, clock)
    yield approvals
    approvals.close()


def asked(approvals: Approvals, run: str = "run", **over: str) -> Approval:
    return approvals.ask(run, what="edit", arguments={**EDIT, **over}, why="It writes.")


def test_a_yes_lets_exactly_that_call_be_made_once(approvals: Approvals) -> None:
    approval = asked(approvals)
    with pytest.raises(ApprovalRequired, match=approval.id):
        approvals.use(approval.id, what="edit", arguments=EDIT)
    decided = approvals.decide(approval.id, "approved", by="ann", note="fine \ud800")
    assert (decided.state, decided.decided_by, decided.note) == ("approved", "ann", "fine \\ud800")
    with pytest.raises(Conflict, match="another call"):
        approvals.use(approval.id, what="edit", arguments={**EDIT, "text": "rm -rf"})
    with pytest.raises(Conflict, match="another call"):
        approvals.use(approval.id, what="run", arguments=EDIT)
    approvals.use(approval.id, what="edit", arguments=dict(reversed(EDIT.items())))
    with pytest.raises(Conflict, match="used"):
        approvals.use(approval.id, what="edit", arguments=EDIT)


def test_a_different_call_and_a_different_run_need_approvals_of_their_own(approvals: Approvals) -> None:
    first = asked(approvals)
    approvals.decide(first.id, "approved", by="ann")
    others = [asked(approvals, text="y"), asked(approvals, "other run")]
    assert [other.state for other in others] == ["pending", "pending"]
    assert len({first.id, *(other.id for other in others)}) == 3


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_nothing_is_decided_twice(approvals: Approvals, decision: str) -> None:
    approval = asked(approvals)
    approvals.decide(approval.id, "approved" if decision == "approved" else "rejected", by="ann")
    for again in ("approved", "rejected"):
        with pytest.raises(Conflict, match="by ann already"):
            approvals.decide(approval.id, "approved" if again == "approved" else "rejected", by="ann")
    assert approvals.get(approval.id).state == decision


def test_what_nobody_decides_in_time_is_rejected(approvals: Approvals, clock: FakeClock) -> None:
    approval = approvals.ask("run", what="edit", arguments=EDIT, expires_s=60)
    assert [row.id for row in approvals.list(state="pending")] == [approval.id]
    clock.advance(60)
    assert not approvals.list(state="pending")
    with pytest.raises(Conflict, match="expired"):
        approvals.decide(approval.id, "approved", by="late")
    with pytest.raises(ApprovalRejected, match=NOBODY):
        approvals.use(approval.id, what="edit", arguments=EDIT)
    assert asked(approvals).id != approval.id, "a run that is taken up again may ask again"


def test_a_call_that_a_person_rejected_is_not_asked_about_again_in_its_run(approvals: Approvals) -> None:
    approval = asked(approvals)
    approvals.decide(approval.id, "rejected", by="ann", note="not that file")
    assert asked(approvals) == approvals.get(approval.id)
    with pytest.raises(ApprovalRejected, match="not that file"):
        approvals.use(approval.id, what="edit", arguments=EDIT)


def test_questions_and_answers_outlive_the_process(path: Path, clock: FakeClock) -> None:
    before = opened(path, clock)
    approval = asked(before)
    before.close()
    after = opened(path, clock)
    assert asked(after).id == approval.id, "the run that starts again finds its question"
    after.decide(approval.id, "approved", by="ann")
    after.close()
    last = opened(path, clock)
    assert asked(last).state == "approved"
    last.use(approval.id, what="edit", arguments=EDIT)
    last.close()


def test_a_decision_of_another_process_is_seen_by_whoever_waits(approvals: Approvals, path: Path) -> None:
    approval = asked(approvals)
    program = (
        "import sys; from pathlib import Path; from appliance.base import sqlite;"
        "from appliance.base.clock import SystemClock; from appliance.orchestrator.approvals import Approvals;"
        "approvals = Approvals(sqlite.connect(Path(sys.argv[1])), clock=SystemClock());"
        "approvals.decide(sys.argv[2], 'approved', by='ann')"
    )
    subprocess.run([sys.executable, "-c", program, str(path), approval.id], check=True)
    assert asyncio.run(approvals.wait(approval.id, timeout_s=1)).state == "approved"


def test_whoever_waits_too_long_is_rejected_and_the_question_is_closed(approvals: Approvals) -> None:
    approval = asked(approvals)
    ended = asyncio.run(approvals.wait(approval.id, timeout_s=30))
    assert (ended.state, ended.note) == ("expired", NOBODY)
    with pytest.raises(Conflict):
        approvals.decide(approval.id, "approved", by="late")


def test_waiting_ends_when_the_run_is_cancelled_and_its_questions_are_taken_back(approvals: Approvals) -> None:
    class Stopped:
        def check(self) -> None:
            raise Cancelled("Stopped.")

    approval = asked(approvals)
    with pytest.raises(Cancelled):
        asyncio.run(approvals.wait(approval.id, cancellation=Stopped()))
    assert approvals.get(approval.id).state == "pending", "who cancels decides nothing"
    assert approvals.withdraw("run") == 1
    assert not approvals.list(state="pending")


def test_what_people_see_of_arguments_is_bounded_and_without_secrets(approvals: Approvals) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 4
    approval = approvals.ask(
        "run", what="edit", arguments={"text": f"x\n{key}\n", "password": "hunter2!hunter2!", "n": "y" * 90_000}
    )
    assert key not in approval.arguments
    assert "hunter2" not in approval.arguments
    assert len(approval.arguments) < 20_100
    assert "more characters" in approval.arguments


def test_what_people_see_cannot_be_turned_around_or_hidden(approvals: Approvals) -> None:
    approval = approvals.ask("run", what="edit", arguments={"path": "a\u202etxt.exe", "text": "Grüße\u200b\x1b[2J"})
    assert "Grüße" in approval.arguments
    assert not {"\u202e", "\u200b", "\x1b"} & set(approval.arguments)


def test_arguments_without_end_are_refused(approvals: Approvals) -> None:
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    for arguments in ({"deep": deep}, {"long": "x" * 300_000}):
        with pytest.raises(LimitExceeded):
            approvals.ask("run", what="edit", arguments=arguments)  # type: ignore[arg-type]
    assert not approvals.list()


def test_an_approval_that_does_not_exist_is_not_found(approvals: Approvals) -> None:
    for act in (approvals.get, lambda name: approvals.decide(name, "approved", by="ann")):
        with pytest.raises(NotFound, match="apr_none"):
            act("apr_none")
