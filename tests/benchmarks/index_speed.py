"""First index without vectors against the bare parse of the same files, and the memory that it takes.

The load is this Python's own standard library, tests included. The bare parse reads the same blobs and runs tree-sitter
over them in one process, nothing else; the index lists, reads, parses, tokenises, stores, trains and publishes, with one
parser process a core.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from appliance.codeintel.parse.grammars import LANGUAGES, grammar
from appliance.config import Index
from tests.benchmarks.corpus import children, library, memory
from tests.benchmarks.report import Figure
from tests.support.indexing import IndexBench

_MEGABYTE = 1_000_000


class Memory(threading.Thread):
    """Watches the resident memory of this process and of its largest child, ten times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.child = 0
        self._stop_now = threading.Event()

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stop_now.wait(0.1):
            self.own = max(self.own, memory(os.getpid()))
            self.child = max([self.child, *(memory(pid) for pid in children(os.getpid()))])

    def stop(self) -> None:
        """End the watch."""
        self._stop_now.set()
        self.join()


def run() -> Sequence[Figure]:
    """Index the standard library in a process of its own, so that the memory is the indexer's alone."""
    out = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.index_speed"], check=True, stdout=subprocess.PIPE, text=True
    )
    load, seconds, bare, own, child, again = out.stdout.splitlines()[-1].split("\t")
    ratio = float(bare) / float(seconds)
    return [
        Figure("index without vectors, share of the bare parse rate", ratio, "x", limit=0.2, better="higher", load=load),
        Figure("index without vectors", float(seconds), "s", load=load),
        Figure("bare parse, one process", float(bare), "s", load=load),
        Figure("second index, unchanged", float(again), "s", load=load),
        Figure("memory of the indexing process", float(own), "MB", limit=400, load=load),
        Figure("memory of its largest child", float(child), "MB", limit=1000, load=load),
    ]


def measure() -> str:
    """Return load, index seconds, bare seconds, own MB, largest child's MB and second-index seconds, tab-separated."""
    with tempfile.TemporaryDirectory() as scratch:
        source = library(Path(scratch) / "library")
        watch = Memory()
        watch.start()
        bench = IndexBench(Path(scratch) / "data", limits=Index())
        repo = bench.add(source)
        start = time.perf_counter()
        info = bench.index(repo)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        bench.index(repo)
        again = time.perf_counter() - start
        watch.stop()
        bare, size = _bare(source, bench.generation(repo).files.paths)
        bench.close()
    load = f"{info.files:,} files, {info.lines:,} lines, {size / _MEGABYTE:.1f} MB, {os.cpu_count()} cores"
    return "\t".join([load, *(f"{value:.3f}" for value in (seconds, bare, watch.own / 1e6, watch.child / 1e6, again))])


def _bare(root: Path, paths: Sequence[str]) -> tuple[float, int]:
    """Return seconds and bytes of parsing those of *paths* that have a grammar here: Python and C."""
    suffixes = {".py": "python", ".pyi": "python", ".c": "c", ".h": "c"}
    sources = [((root / path).read_bytes(), suffixes[Path(path).suffix]) for path in paths if Path(path).suffix in suffixes]
    parsers = {language: grammar(language).parser for language in LANGUAGES if language in suffixes.values()}
    start = time.perf_counter()
    for content, language in sources:
        parsers[language].parse(content)
    return time.perf_counter() - start, sum(len(content) for content, _ in sources)


if __name__ == "__main__":
    sys.stdout.write(measure())
