"""Claims about real supervised processes, with tiny stand-in programs: what dies comes back, what cannot start says why."""

import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from appliance.base.paths import DataPaths
from appliance.cli import place
from appliance.cli.exits import guarded
from appliance.cli.main import skellig
from appliance.config import Web
from appliance.errors import Conflict, HostUnfit, Unavailable
from appliance.ops import launch, preflight, strays
from appliance.ops.programs import Program, RunFiles
from appliance.ops.supervisor import ProgramState, Supervisor, alive

T = TypeVar("T")
STAY = (sys.executable, "-S", "-c", "import signal; signal.pause()")
STUBBORN = (sys.executable, "-S", "-c", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()")
DIE_LATE = (sys.executable, "-S", "-c", "import time; time.sleep(2); raise SystemExit('error: The memory was not enough.')")
DIE = (sys.executable, "-S", "-c", "raise SystemExit('error: The model is not one that this engine reads.')")


def until(found: Callable[[], T | None], *, seconds: float = 30.0) -> T:
    """Return what *found* returns once that is not None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(Unavailable):
            if (value := found()) is not None:
                return value
        time.sleep(0.05)
    raise AssertionError("it did not come to pass in time")


class House:
    """A data directory with a supervisor of its own."""

    def __init__(self, root: Path) -> None:
        self.files = RunFiles(DataPaths(root))
        self.supervisor = Supervisor(self.files)

    def start(self, *programs: Program) -> None:
        launch.prepare(programs, files=self.files)
        launch.start(self.files, environment={})

    def program(self, name: str) -> ProgramState:
        return next(program for program in self.supervisor.programs() if program.name == name)

    def running(self, name: str, *, other_than: int = 0) -> int:
        """Wait until *name* runs with a process id other than that one, and return the id."""

        def look() -> int | None:
            program = self.program(name)
            return program.pid if program.state == "running" and program.pid != other_than else None

        return until(look)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path)
    yield built
    launch.stop(built.files, seconds=5.0)


def test_a_killed_program_comes_back(house: House) -> None:
    house.start(Program("web", STAY, settle=1), Program("worker", STAY, settle=1))
    web, worker = house.running("web"), house.running("worker")
    os.kill(web, signal.SIGKILL)
    assert house.running("web", other_than=web)
    assert house.running("worker") == worker


def test_an_engine_that_exits_at_once_ends_failed_with_its_last_words_and_the_web_goes_on(house: House) -> None:
    """No endless restart behind a spinner; the reason is one line away."""
    house.start(Program("web", STAY, settle=1), Program("engine-chat", DIE, settle=2, retries=1))
    web = house.running("web")
    failed = until(lambda: p if (p := house.program("engine-chat")).state == "failed" else None)
    assert failed.said == "error: The model is not one that this engine reads."
    assert house.running("web") == web


def test_an_engine_that_always_dies_late_in_its_start_is_not_started_for_ever(house: House) -> None:
    """What dies while it loads: that counts as a start too, however long it took."""
    house.start(Program("engine-chat", DIE_LATE, settle=5, retries=1))
    first = until(lambda: house.program("engine-chat").pid)
    failed = until(lambda: p if (p := house.program("engine-chat")).state == "failed" else None)
    assert failed.said == "error: The memory was not enough."
    assert not alive(first)


def test_a_start_hands_its_lock_on_and_nobody_gets_in_between(house: House) -> None:
    """What was looked at before the start still holds after it."""
    with preflight.data_directory(house.files.paths) as lock:
        launch.prepare([Program("web", STAY, settle=1)], files=house.files)
        launch.start(house.files, environment={}, lock=lock)
    web = house.running("web")
    with pytest.raises(Conflict, match="holds the data directory"):
        preflight.data_directory(house.files.paths).__enter__()
    os.kill(house.supervisor.pid(), signal.SIGKILL)
    until(lambda: _free(house.files.paths))
    assert alive(web), "a program must not hold the lock that its supervisor had"


def _free(paths: DataPaths) -> bool | None:
    with contextlib.suppress(Conflict), preflight.data_directory(paths):
        return True
    return None


def test_status_where_the_web_process_does_not_answer_is_failed_and_not_0(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """A monitor that looks at the exit status alone must see it."""
    house.start(Program("web", STAY, settle=1))
    house.running("web")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place.write(place.of(Web(port=port), chat="none", embed="none"), paths=house.files.paths)
    (house.files.paths.root / "skellig.toml").touch()
    root = str(house.files.paths.root)
    assert guarded(skellig, ["--data", root, "--config", f"{root}/skellig.toml", "status", "--json"]) == 8
    assert json.loads(capsys.readouterr().out)["state"] == "failed"


def test_a_second_supervisor_on_one_data_directory_is_refused(house: House) -> None:
    """Two workers on one data directory would each believe that its leases are its own."""
    house.start(Program("web", STAY, settle=1))
    web = house.running("web")
    with pytest.raises(HostUnfit, match="Another process holds the data directory"):
        launch.start(house.files, environment={})
    assert house.running("web") == web


def test_stopping_ends_also_what_ignores_being_asked(house: House) -> None:
    house.start(Program("worker", STUBBORN, settle=1, grace=1))
    worker = house.running("worker")
    assert launch.stop(house.files, seconds=10.0) == 1
    assert not alive(worker)


def test_a_supervisor_that_is_stopping_is_not_there_any_more(house: House) -> None:
    """Whatever it is asked meanwhile, the answer is one of our errors and no fault of its protocol."""
    house.start(Program("worker", STUBBORN, settle=1, grace=3))
    house.running("worker")
    asked = house.supervisor
    asked.shut_down()
    for ask in (asked.programs, asked.pid, asked.shut_down, lambda: asked.start("worker")):
        with pytest.raises(Unavailable, match="stopping"):
            ask()


def test_stopping_ends_programs_whose_supervisor_was_killed(house: House) -> None:
    house.start(Program("web", STAY, settle=1))
    web = house.running("web")
    os.kill(house.supervisor.pid(), signal.SIGKILL)
    assert launch.stop(house.files, seconds=5.0) == 1
    assert not alive(web)


def test_starting_after_the_supervisor_was_killed_leaves_one_of_each_program(house: House) -> None:
    house.start(Program("web", STAY, settle=1))
    old = house.running("web")
    os.kill(house.supervisor.pid(), signal.SIGKILL)
    house.start(Program("web", STAY, settle=1))
    new = house.running("web")
    assert strays.find(house.files) == [new]
    assert not alive(old)


def test_stopping_where_nothing_runs_is_no_error(tmp_path: Path) -> None:
    assert launch.stop(RunFiles(DataPaths(tmp_path)), seconds=1.0) == 0


def test_asking_a_supervisor_that_does_not_run_says_how_to_start_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="skellig up"):
        Supervisor(RunFiles(DataPaths(tmp_path))).programs()
