"""``python -m tests.benchmarks [NAME ...]``: run the benchmarks, print the figures, fail where a limit does not hold."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from appliance.ops.programs import ENVIRONMENT
from tests.benchmarks import (
    answers,
    applications,
    bundle_speed,
    callers,
    cli_start,
    edit_speed,
    framework_speed,
    graph_speed,
    idle,
    index_speed,
    live,
    missions,
    operator_speed,
    parse_speed,
    public,
    rivals,
    search_speed,
    targets,
)
from tests.benchmarks.report import Benchmark, Figure, show, show_targets

ALL: Mapping[str, Benchmark] = {
    "cli-start": cli_start.run,
    "idle": idle.run,
    "parse": parse_speed.run,
    "index": index_speed.run,
    "edit": edit_speed.run,
    "graph": graph_speed.run,
    "search": search_speed.run,
    "live": live.run,
    "answers": answers.run,
    "missions": missions.run,
    "public": public.run,
    "applications": applications.run,
    "callers": callers.run,
    "rivals": rivals.run,
    "bundle": bundle_speed.run,
    "operator": operator_speed.run,
    "framework": framework_speed.run,
}


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], help="which; default: all")
    parser.add_argument("--figures", type=Path, help="write the figures of one benchmark there, and judge nothing")
    given = parser.parse_args()
    names = given.names or list(ALL)
    if given.figures is None:
        _judge(names)
    else:
        given.figures.write_text(json.dumps([asdict(figure) for name in names for figure in ALL[name]()]))


def _judge(names: Sequence[str]) -> None:
    """Run each benchmark in a process of its own, so that its memory is its own and one that breaks ends no other."""
    figures: list[Figure] = []
    faults = []
    for name in names:
        start, before, load = time.monotonic(), sum(os.times()[2:4]), os.getloadavg()[0]
        measured = _measured(name)
        took, used = time.monotonic() - start, sum(os.times()[2:4]) - before
        loads = f"the machine's load was {load:.1f}, is {os.getloadavg()[0]:.1f}"
        sys.stderr.write(f"{name}: {took:.0f} s, {used:.0f} s of processor; {loads}\n")
        if measured is None:
            faults.append(f"{name} broke off")
            continue
        show(measured)
        figures += measured
    if lines := targets.lines(figures, ran=names, given=os.environ):
        show_targets(lines)
    faults += [f"{each}: not measured" for each in targets.unmeasured(figures, ran=names, given=os.environ)]
    faults += [f"{figure.name}: over its limit" for figure in figures if figure.held is False]
    if faults:
        raise SystemExit(f"{len(faults)} faults among {len(figures)} figures:\n" + "\n".join(faults))


def _measured(name: str) -> list[Figure] | None:
    """Return the figures of the benchmark *name*, None where it broke off; its process has the product's environment."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        argv = [sys.executable, "-m", "tests.benchmarks", name, "--figures", str(out)]
        if subprocess.run(argv, env={**os.environ, **ENVIRONMENT}, check=False).returncode != 0:
            return None
        return [Figure(**figure) for figure in json.loads(out.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    main()
