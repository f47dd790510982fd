"""Claims about waiting for a job."""

from collections.abc import Callable

import httpx2
import msgspec
import pytest

from appliance.base.paths import DataPaths
from appliance.cli import progress
from appliance.cli.lines import Lines
from appliance.cli.progress import wait
from appliance.cli.remote import Remote
from appliance.cli.views import Job, Progress
from appliance.config import Web
from appliance.errors import Cancelled, Unavailable
from tests.support.scripted_http import identity
from tests.unit.cli.conftest import Line

QUEUED = Job("job_1", "index", "repo_1", "queued", 0, "", None)


def remote_of(line: Line, handler: Callable[[httpx2.Request], httpx2.Response]) -> Remote:
    """Return the appliance that answers by *handler*, and has proved that it is one."""
    paths = DataPaths(line.data)
    paths.run.mkdir()
    (paths.run / "cli.key").write_text("the-key\n")

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/api/v1/identity":
            return httpx2.Response(200, json=identity("the-key", request.url.query.decode()))
        return handler(request)

    return Remote(Web(), paths=paths, transport=httpx2.MockTransport(answer))


def test_ctrl_c_stops_the_job_too(line: Line) -> None:
    asked = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.path}")
        if request.method == "GET":
            raise KeyboardInterrupt
        return httpx2.Response(202, content=msgspec.json.encode(QUEUED))

    with remote_of(line, handler) as remote, pytest.raises(KeyboardInterrupt):
        wait(remote, QUEUED, title="shop", quiet=True)
    assert asked == ["GET /api/v1/jobs/job_1", "POST /api/v1/jobs/job_1/cancel"]


def test_a_job_that_somebody_else_stopped_is_told_as_such(line: Line) -> None:
    gone = msgspec.json.encode(msgspec.structs.replace(QUEUED, state="cancelled"))
    with remote_of(line, lambda _: httpx2.Response(200, content=gone)) as remote, pytest.raises(Cancelled, match="shop"):
        wait(remote, QUEUED, title="shop", quiet=True)


def test_what_takes_long_is_told_in_lines_where_no_bar_moves() -> None:
    """`make up` in a pipe said nothing for minutes, while vectors were made."""
    said: list[str] = []
    at = 0.0
    lines = Lines(said.append, now=lambda: at)
    for at, phase, how_far in (  # noqa: B007 - it is the time
        (0.0, "shop: queued", ""),
        (4.0, "shop: files", "1 of 9"),
        (5.0, "shop: files", "2 of 9"),
        (6.0, "shop: files", "3 of 9"),
        (7.0, "shop: vectors", "1 of 4"),
        (21.0, "shop: vectors", "2 of 4"),
        (22.0, "shop: vectors", "3 of 4"),
    ):
        lines.tell(phase, how_far)
    assert said == ["shop: files: 2 of 9", "shop: vectors: 1 of 4", "shop: vectors: 3 of 4"]


def test_a_job_tells_its_progress_on_standard_error_in_a_pipe(
    line: Line, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("appliance.cli.lines._FIRST_S", 0.0)
    states = [
        msgspec.structs.replace(QUEUED, state="running", progress=Progress("vectors", 1200, 5000)),
        msgspec.structs.replace(QUEUED, state="done"),
    ]
    answers = iter(states)
    with remote_of(line, lambda _: httpx2.Response(200, content=msgspec.json.encode(next(answers)))) as remote:
        wait(remote, QUEUED, title="[shop]", quiet=False)
    assert capsys.readouterr() == ("", "[shop]: vectors: 1,200 of 5,000\n")


def test_a_job_that_has_ended_is_not_waited_for(line: Line) -> None:
    done = msgspec.structs.replace(QUEUED, state="done")
    with remote_of(line, lambda _: httpx2.Response(500)) as remote:
        assert wait(remote, done, title="shop", quiet=True) == done


def test_a_job_that_nobody_will_take_up_is_not_waited_for_for_ever(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_QUEUED_S", 0.0)
    sick = {"name": "worker", "state": "failed", "detail": "It ended at every start.", "remedy": "Look."}

    def handler(request: httpx2.Request) -> httpx2.Response:
        health = {"state": "degraded", "phase": "", "parts": [sick]}
        return httpx2.Response(200, content=msgspec.json.encode(health if "health" in request.url.path else QUEUED))

    with remote_of(line, handler) as remote, pytest.raises(Unavailable, match="ended at every start"):
        wait(remote, QUEUED, title="shop", quiet=True)
