"""How long ``skellig --help`` takes."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.benchmarks.report import Figure


def run() -> Sequence[Figure]:
    """Time 7 cold processes; the median counts."""
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "appliance", "--help"], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return [Figure("skellig --help", statistics.median(seconds), "s", limit=0.3, load="7 processes, median")]
