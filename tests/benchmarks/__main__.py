"""``python -m tests.benchmarks [NAME ...]``: run the benchmarks, print the figures, fail where a limit does not hold."""

import argparse
import os
import sys
from collections.abc import Mapping

from tests.benchmarks import (
    answers,
    bundle_speed,
    cli_start,
    edit_speed,
    graph_speed,
    index_speed,
    live,
    parse_speed,
    public,
    search_speed,
)
from tests.benchmarks.report import Benchmark, Figure, show

_ALL: Mapping[str, Benchmark] = {
    "cli-start": cli_start.run,
    "parse": parse_speed.run,
    "index": index_speed.run,
    "edit": edit_speed.run,
    "graph": graph_speed.run,
    "search": search_speed.run,
    "live": live.run,
    "answers": answers.run,
    "public": public.run,
    "bundle": bundle_speed.run,
}


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*_ALL, []], help="which; default: all")
    names = parser.parse_args().names or list(_ALL)
    figures: list[Figure] = []
    for name in names:
        sys.stderr.write(f"{name}: the machine's load is {os.getloadavg()[0]:.1f}\n")
        measured = _ALL[name]()
        show(measured)
        figures += measured
    broken = [figure.name for figure in figures if figure.held is False]
    if broken:
        raise SystemExit(f"{len(broken)} of {len(figures)} figures are over their limit: {', '.join(broken)}.")


if __name__ == "__main__":
    main()
