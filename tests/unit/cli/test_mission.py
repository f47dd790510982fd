"""Claims about missions on the command line: what is told, what is printed, and how it ends."""

import json
from pathlib import Path

import httpx2
import pytest

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.mission import cancelling
from appliance.cli.mission_watch import WAITS
from appliance.cli.status import Status, _ask, _show
from tests.support.scripted_http import Reply, ScriptedServer, events, problem
from tests.unit.cli.conftest import Line
from tests.unit.cli.test_progress import remote_of
from tests.unit.cli.test_reading import WHOLE

USED = {"model_calls": 3, "tool_calls": 2, "prompt_tokens": 1_200, "completion_tokens": 90, "seconds": 41.5}
MISSION = {
    "id": "mission_1", "goal": "How is the total made?", "repo_names": ["shop"], "state": "queued", "reason": "",
    "created_at": 1_790_000_000.0, "asked_by": "command line", "model": "small", "usage": USED, "entries": 3,
    "head": "f" * 64, "answer": None,
}  # fmt: skip
DONE = MISSION | {"state": "done", "answer": WHOLE}
WELL = {"state": "ready", "phase": "", "parts": []}
APPROVAL = {
    "id": "apr_1", "run": "mission_1", "what": "run_tests", "arguments": '{"path":"tests"}', "why": "to see it fail",
    "state": "pending", "expires_at": 1_790_086_400.0,
}  # fmt: skip


def entry(seq: int, kind: str, line: str, agent: str = "coordinator") -> tuple[str, object]:
    return "entry", {"seq": seq, "at": 1_790_000_000.0 + seq, "kind": kind, "agent": agent, "line": line}


STEPS = (
    entry(1, "begun", "begins: How is the total made?", ""),
    entry(2, "called_tool", "search query=total", "researcher"),
    entry(3, "tool_gave", "search gave, after 0.2 s: 1 place", "researcher"),
)
ENDED = events(*STEPS, ("mission", DONE))


@pytest.fixture
def well(appliance: ScriptedServer) -> ScriptedServer:
    """Answer as an appliance whose worker is well."""
    appliance.replies |= {
        "GET /api/v1/health": Reply(WELL),
        "POST /api/v1/missions": Reply(MISSION, status=202),
        "GET /api/v1/missions/mission_1": Reply(MISSION),
        "GET /api/v1/approvals": Reply([]),
    }
    return appliance


def test_steps_are_told_aside_and_the_answer_is_printed_with_its_sentences_numbered(
    well: ScriptedServer, line: Line
) -> None:
    well.replies["GET /api/v1/missions/mission_1/events"] = ENDED
    ran = line("mission", "run", "How is", "the total made?", "--repo", "shop", "--project", "till", "--max-calls", "9")
    assert ran.status == 0
    assert ran.err == (
        f"{WAITS}\n"
        "    0.0 s  mission      begins: How is the total made?\n    2.0 s  researcher   search gave, after 0.2 s: 1 place\n"
    )
    order = ["[1] shop/cart.py:3-9", "the model's reading", "  1. It adds up the lines. [1]", "struck: frob"]
    places = [ran.out.index(said) for said in order]
    assert places == sorted(places)
    assert "The model's reading" not in ran.out, "What the graph tells stands beside it"
    posted = next(asked for asked in well.asked if asked.method == "POST")
    assert json.loads(posted.body) == {
        "goal": "How is the total made?", "project": "till", "repos": ["shop"], "branches": [], "max_tool_calls": 9,
    }  # fmt: skip


def test_a_program_gets_the_mission_as_json_and_nothing_else(well: ScriptedServer, line: Line) -> None:
    well.replies["GET /api/v1/missions/mission_1/events"] = ENDED
    well.replies["GET /api/v1/missions/mission_1"] = [Reply(MISSION), Reply(DONE)]
    ran = line("mission", "run", "?", "--json")
    assert (ran.status, ran.err) == (0, "")
    assert ran.json() == DONE


@pytest.mark.usefixtures("well")
def test_who_does_not_wait_is_told_how_to_watch(line: Line) -> None:
    ran = line("mission", "run", "?", "--no-wait")
    assert (ran.status, ran.out) == (0, "mission_1\n")
    assert "skellig mission watch mission_1" in ran.err


@pytest.mark.parametrize(
    ("state", "status", "said"),
    [
        ("failed", 1, "The engine is away."),
        ("cancelled", 130, "cancelled"),
        ("paused", 8, "skellig mission resume mission_1"),
    ],
)
def test_how_a_mission_stopped_is_how_the_command_ends(
    well: ScriptedServer, line: Line, state: str, status: int, said: str
) -> None:
    stopped = MISSION | {"state": state, "reason": "The engine is away."}
    last = entry(4, "paused", "pauses: The engine is away.") if state == "paused" else ("mission", stopped)
    well.replies["GET /api/v1/missions/mission_1/events"] = events(*STEPS, last)
    well.replies["GET /api/v1/missions/mission_1"] = [Reply(MISSION), Reply(stopped)]
    ran = line("mission", "run", "?")
    assert ran.status == status
    assert said in ran.err


def test_a_pause_that_is_over_is_not_the_end(well: ScriptedServer, line: Line) -> None:
    paused = (entry(4, "paused", "pauses"), entry(5, "resumed", "goes on"))
    well.replies["GET /api/v1/missions/mission_1/events"] = events(*STEPS, *paused, ("mission", DONE))
    assert line("mission", "watch", "mission_1").status == 0


def test_a_stream_that_breaks_off_is_taken_up_behind_the_last_step(well: ScriptedServer, line: Line) -> None:
    well.replies["GET /api/v1/missions/mission_1/events"] = [events(*STEPS), events(("mission", DONE))]
    ran = line("mission", "watch", "mission_1")
    assert ran.status == 0
    assert ran.err.count("begins") == 1
    seen = [asked.headers["last-event-id"] for asked in well.asked if asked.path.endswith("/events")]
    assert seen == ["0", "3"]


def test_an_error_in_the_stream_ends_the_command(well: ScriptedServer, line: Line) -> None:
    broken = ("error", problem("store_corrupt", "The record cannot be read."))
    well.replies["GET /api/v1/missions/mission_1/events"] = events(*STEPS, broken)
    ran = line("mission", "watch", "mission_1")
    assert (ran.status, "The record cannot be read." in ran.err) == (10, True)


def test_a_mission_that_nobody_will_work_on_is_not_waited_for(well: ScriptedServer, line: Line) -> None:
    sick = {"name": "worker", "state": "failed", "detail": "It ended at every start.", "remedy": "Look."}
    well.replies["GET /api/v1/health"] = Reply(WELL | {"parts": [sick]})
    ran = line("mission", "run", "?")
    assert (ran.status, "It ended at every start." in ran.err) == (8, True)


def test_what_a_mission_asks_is_told_with_the_way_to_answer(well: ScriptedServer, line: Line) -> None:
    waits = entry(4, "asked_approval", "waits for a yes or no to run_tests")
    well.replies["GET /api/v1/missions/mission_1/events"] = events(*STEPS, waits, ("mission", DONE))
    well.replies["GET /api/v1/approvals"] = Reply([APPROVAL])
    ran = line("mission", "watch", "mission_1")
    assert 'run_tests {"path":"tests"} (to see it fail): `skellig mission approve apr_1`' in ran.err


@pytest.mark.parametrize(("verb", "decision"), [("approve", "approved"), ("reject", "rejected")])
@pytest.mark.parametrize("which", ["apr_1", "mission_1"])
def test_a_decision_names_the_approval_or_the_mission_that_waits(
    well: ScriptedServer, line: Line, verb: str, decision: str, which: str
) -> None:
    well.replies["GET /api/v1/approvals"] = Reply([APPROVAL])
    well.replies["POST /api/v1/approvals/apr_1"] = Reply(APPROVAL | {"state": decision})
    ran = line("mission", verb, which, "--note", "Because.")
    assert (ran.status, ran.out) == (0, f'{decision}: run_tests {{"path":"tests"}} (to see it fail)\n')
    assert json.loads(well.asked[-1].body) == {"decision": decision, "note": "Because."}


@pytest.mark.parametrize(
    ("pending", "said"), [([], "0 decisions"), ([APPROVAL, APPROVAL | {"id": "apr_2"}], "apr_1, apr_2")]
)
def test_a_decision_that_is_not_one_is_not_made(well: ScriptedServer, line: Line, pending: list[object], said: str) -> None:
    well.replies["GET /api/v1/approvals"] = Reply(pending)
    ran = line("mission", "approve", "mission_1")
    assert (ran.status, said in ran.err) == (2, True)
    assert not any(asked.method == "POST" for asked in well.asked)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("verb", "good", "place"), [("verify", "whole", "broken_at"), ("replay", "same", "differs_at")])
def test_a_record_that_is_not_what_it_was_is_a_failure(
    appliance: ScriptedServer, line: Line, verb: str, good: str, place: str, *, as_json: bool
) -> None:
    found = {good: True, "entries": 8, "head": "f" * 64, place: None, "reason": ""}
    flag = ["--json"] if as_json else []
    appliance.replies[f"POST /api/v1/missions/mission_1/{verb}"] = Reply(found)
    ran = line("mission", verb, "mission_1", *flag)
    assert (ran.status, ran.err) == (0, "")
    assert ran.json() == found if as_json else "8 entries" in ran.out
    appliance.replies[f"POST /api/v1/missions/mission_1/{verb}"] = Reply(
        found | {good: False, place: 5, "reason": "Changed."}
    )
    ran = line("mission", verb, "mission_1", *flag)
    assert ran.status == 7
    assert "from entry 5 on: Changed." in ran.err


def test_ctrl_c_cancels_what_run_started(line: Line, capsys: pytest.CaptureFixture[str]) -> None:
    asked = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx2.Response(202, json=MISSION)

    with (
        remote_of(line, handler) as remote,
        pytest.raises(KeyboardInterrupt),
        cancelling(remote, "mission_1"),
    ):
        raise KeyboardInterrupt
    assert asked == ["POST /api/v1/missions/mission_1/cancel"]
    assert "cancelled" in capsys.readouterr().err


def test_missions_are_listed_with_state_and_age_and_where_more_are(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/missions"] = Reply({"items": [MISSION | {"goal": "x y\n" * 40}], "next_offset": 1})
    ran = line("mission", "list", "--limit", "1")
    assert "mission_1  queued" in ran.out
    assert "x y x y" in ran.out
    assert "More: --offset 1" in ran.out
    appliance.replies["GET /api/v1/missions"] = Reply({"items": [], "next_offset": None})
    assert "skellig mission run" in line("mission", "list").out


def test_a_mission_is_shown_with_what_it_used_its_steps_and_its_answer(well: ScriptedServer, line: Line) -> None:
    well.replies["GET /api/v1/missions/mission_1"] = Reply(DONE)
    well.replies["GET /api/v1/missions/mission_1/events"] = ENDED
    ran = line("mission", "show", "mission_1", "--steps")
    assert ran.status == 0
    for said in ("mission_1  done", "3 model calls, 2 tool calls, 1,290 tokens, 41.5 s, small", "search query=total",
                 "It adds up the lines. [1]"):  # fmt: skip
        assert said in ran.out


def test_cancel_and_resume_say_how_it_stands(well: ScriptedServer, line: Line) -> None:
    well.replies["POST /api/v1/missions/mission_1/cancel"] = Reply(MISSION | {"state": "cancelled"}, status=202)
    assert "mission_1  cancelled" in line("mission", "cancel", "mission_1").out
    well.replies["POST /api/v1/missions/mission_1/resume"] = Reply(MISSION, status=202)
    assert "mission_1  queued" in line("mission", "resume", "mission_1", "--say", "Look at carts.").out
    assert json.loads(well.asked[-1].body) == {"instruction": "Look at carts."}
    well.replies["GET /api/v1/missions/mission_1/events"] = ENDED
    assert "It adds up the lines." in line("mission", "resume", "mission_1", "--wait").out
    well.replies["DELETE /api/v1/missions/mission_1"] = Reply(None, status=204)
    assert line("mission", "rm", "mission_1").out == "mission_1 and its record are deleted.\n"


def test_a_record_is_printed_byte_for_byte(appliance: ScriptedServer, line: Line) -> None:
    stored = b'{"seq":1}\n{"seq":2}\n'
    appliance.replies["GET /api/v1/missions/mission_1/record"] = Reply(stored, content_type="application/jsonl")
    assert line("mission", "record", "mission_1").out.encode() == stored
    assert line("mission", "record", "mission_1", "--json").json() == [{"seq": 1}, {"seq": 2}]


def test_a_mission_by_a_name_that_is_an_address_asks_for_no_other(
    appliance: ScriptedServer, line: Line, tmp_path: Path
) -> None:
    del tmp_path
    assert line("mission", "cancel", "../jobs/job_1").status == 3
    assert appliance.asked[-1].path == "/api/v1/missions/..%2Fjobs%2Fjob_1/cancel"


def test_what_waits_for_a_decision_is_on_the_status_with_the_way_to_answer(
    well: ScriptedServer, line: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    well.replies |= {
        "GET /api/v1/repos": Reply([]),
        "GET /api/v1/jobs": Reply([]),
        "GET /api/v1/approvals": Reply([APPROVAL]),
    }
    status = Status("ready", "", "")
    _ask(loading.load(Flags(line.data, line.data / "skellig.toml")), status)
    _show(output.screen(), status, repos_from=None)
    assert [approval.id for approval in status.decisions] == ["apr_1"]
    assert "mission_1 waits for a yes to run_tests" in (said := capsys.readouterr().out)
    assert "skellig mission approve apr_1" in said
