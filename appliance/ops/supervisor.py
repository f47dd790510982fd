"""The supervisor as we see it: which programs run, why one does not, and how all are started and stopped."""

import asyncio
import contextlib
import http.client
import os
import time
import xmlrpc.client
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import msgspec
from supervisor.xmlrpc import SupervisorTransport

from appliance.base.paths import display
from appliance.errors import Unavailable
from appliance.ops.health import Probe, Verdict
from appliance.ops.programs import RunFiles

Running = Literal["running", "starting", "retrying", "stopping", "stopped", "failed"]

_STATES: dict[str, Running] = {
    "RUNNING": "running",
    "STARTING": "starting",
    "BACKOFF": "retrying",
    "STOPPING": "stopping",
    "STOPPED": "stopped",
    "EXITED": "stopped",
    "FATAL": "failed",
    "UNKNOWN": "failed",
}
_TAIL = 16_384  # bytes of a log that are looked at for its last words
_WORDS = 300  # characters of one log line that are passed on


class _Process(msgspec.Struct):
    """What supervisord says of one program (the part that we read)."""

    name: str
    statename: str
    pid: int
    start: int
    now: int
    spawnerr: str = ""


@dataclass(frozen=True, slots=True)
class ProgramState:
    """How one program is. ``said`` is the last line of its log when it is failed or retrying, else empty."""

    name: str
    state: Running
    pid: int | None
    seconds: int
    said: str = ""


class Supervisor:
    """Talks to the supervisor of one data directory. Every method raises `Unavailable` when none answers."""

    def __init__(self, files: RunFiles) -> None:
        self.files = files

    def programs(self) -> tuple[ProgramState, ...]:
        """Return how every program is, by name."""
        with self._server() as server:
            found = msgspec.convert(server.supervisor.getAllProcessInfo(), list[_Process], strict=False)
        return tuple(self._state(process) for process in found)

    def start(self, name: str) -> None:
        """Ask for *name* to be started, without waiting; a program that runs already is left alone."""
        with self._server() as server, _already("ALREADY_STARTED"):
            server.supervisor.startProcess(name, False)

    def shut_down(self) -> None:
        """Ask the supervisor to stop every program and then itself, without waiting."""
        with self._server() as server:
            server.supervisor.shutdown()

    def pid(self) -> int:
        """Return the supervisor's own process id."""
        with self._server() as server:
            return msgspec.convert(server.supervisor.getPID(), int)

    def last_words(self, name: str) -> str:
        """Return the last line that *name* logged, safe to show, or "" where it said nothing."""
        try:
            with self.files.log(name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
                lines = file.read(_TAIL).decode("utf-8", "surrogateescape").splitlines()
        except FileNotFoundError:
            return ""
        return next((display(line.strip())[:_WORDS] for line in reversed(lines) if line.strip()), "")

    def _state(self, process: _Process) -> ProgramState:
        state = _STATES.get(process.statename, "failed")
        said = self.last_words(process.name) or process.spawnerr if state in {"failed", "retrying"} else ""
        seconds = max(0, process.now - process.start) if process.start else 0
        return ProgramState(process.name, state, process.pid or None, seconds, said)

    @contextlib.contextmanager
    def _server(self) -> Iterator[xmlrpc.client.ServerProxy]:
        url = f"unix://{self.files.socket}"
        transport = SupervisorTransport(None, None, url)
        try:
            # The name is never looked up: the transport speaks to our own socket, mode 0600.
            yield xmlrpc.client.ServerProxy("http://localhost", transport=transport)
        except (OSError, http.client.HTTPException, xmlrpc.client.ProtocolError) as exc:
            raise Unavailable("Skellig is not running.", remedy="Start it with: skellig up") from exc
        except xmlrpc.client.Fault as exc:
            if "SHUTDOWN_STATE" in str(exc.faultString):
                raise Unavailable("Skellig is just stopping.", remedy="Wait a moment, then: skellig up") from exc
            raise Unavailable(f"The supervisor refused: {exc.faultString}.", remedy="`skellig status` says more.") from exc
        finally:
            transport.close()


@contextlib.contextmanager
def _already(fault: str) -> Iterator[None]:
    try:
        yield
    except xmlrpc.client.Fault as exc:
        if fault not in str(exc.faultString):
            raise


class Supervised:
    """A probe of a part that is a supervised program: where the part itself is not well, the supervisor knows why.

    The program has the probe's name. Where no supervisor runs, or none that knows the program, the part's word stands.
    """

    def __init__(self, part: Probe, *, supervisor: Supervisor) -> None:
        self._part = part
        self._supervisor = supervisor

    @property
    def name(self) -> str:
        """The part's name, which is the program's too."""
        return self._part.name

    @property
    def vital(self) -> bool:
        """As the part has it."""
        return self._part.vital

    async def check(self) -> Verdict:
        """Return the part's verdict if it is well, off or starting; else the program's, unless that says it runs."""
        found = await self._part.check()
        if found.state in {"ok", "off"}:
            return found
        try:
            programs = await asyncio.to_thread(self._supervisor.programs)
        except Unavailable:
            return found
        program = next((program for program in programs if program.name == self.name), None)
        return found if program is None else _explained(found, program)


def _explained(found: Verdict, program: ProgramState) -> Verdict:
    remedy = f"Its log is {program.name}.log in the logs directory; `skellig up` tries again."
    if program.state == "retrying":
        return Verdict("degraded", f"It ended at once and is tried again. Its last words: {program.said}", remedy)
    if program.state == "failed":
        return Verdict("failed", f"It ended at every start. Its last words: {program.said}", remedy)
    if program.state in {"stopped", "stopping"}:
        return Verdict("failed", "It is stopped.", "Start it with: skellig up")
    if program.state == "starting" and found.state != "starting":
        return Verdict("starting", "The program starts.")
    return found


def wait_until_gone(pid: int, *, seconds: float, step: float = 0.05) -> bool:
    """Return whether the process *pid* ended within *seconds*."""
    end = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(step)
    return True


def alive(pid: int) -> bool:
    """Return whether *pid* is a process that still runs: one that waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - /proc is no place for Path's stat calls
            return file.read().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except (FileNotFoundError, ProcessLookupError):
        return False
