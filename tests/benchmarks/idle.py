"""What a started appliance costs while nobody asks it anything: it polls for jobs, schedules and its programs' health."""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks.corpus import children
from tests.benchmarks.live import started
from tests.benchmarks.report import Figure

_SETTLE_S: Final = 10.0
_WATCHED_S: Final = 30.0
_LIMIT: Final = 1.0  # hundredths of a core
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def run() -> Sequence[Figure]:
    """Start the appliance without chat, let it settle, and count the processor time of all its programs."""
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch) / "data") as house:
        time.sleep(_SETTLE_S)
        programs = {"all programs": int(house.files.pid.read_text(encoding="ascii"))}
        programs |= {program.name: house.pid(program.name) for program in house.supervisor.programs()}
        before, start = {name: _processor(pid) for name, pid in programs.items()}, time.monotonic()
        time.sleep(_WATCHED_S)
        took = time.monotonic() - start
        shares = {name: (_processor(pid) - before[name]) / took * 100 for name, pid in programs.items()}
    load = f"{took:.0f} s, machine's load {os.getloadavg()[0]:.1f}"
    whole = Figure("idle appliance, all programs", shares.pop("all programs"), "% of a core", _LIMIT, load=load)
    return [whole, *(Figure(f"  of it {name}", share, "% of a core") for name, share in shares.items())]


def _processor(pid: int) -> float:
    """Return the seconds of processor that *pid* and all below it have used."""
    used = 0
    for each in (pid, *children(pid)):
        fields = Path(f"/proc/{each}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])  # user and system
    return used / _TICKS
