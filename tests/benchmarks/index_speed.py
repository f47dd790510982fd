"""First index without vectors against the bare parse of the same files, and the memory that it takes.

The load is this Python's own standard library, tests included. The bare parse reads the same blobs and runs tree-sitter
over them in one process, nothing else; the index lists, reads, parses, tokenises, stores, trains and publishes.
"""

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from appliance.codeintel.parse.grammars import LANGUAGES, grammar
from appliance.config import Index
from tests.benchmarks import targets
from tests.benchmarks.corpus import library, memory_together
from tests.benchmarks.report import Figure
from tests.support.indexing import IndexBench

_MEGABYTE = 1_000_000


class Memory(threading.Thread):
    """Watches the memory of this process and all that it started, together, four times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._stop_now = threading.Event()

    def run(self) -> None:
        """Watch until stopped."""
        while not self._stop_now.wait(0.25):
            self.most = max(self.most, memory_together(os.getpid()))

    def stop(self) -> None:
        """End the watch."""
        self._stop_now.set()
        self.join()


def run() -> Sequence[Figure]:
    """Index the standard library with one parser, of which processor time says what a core does, then with two."""
    with tempfile.TemporaryDirectory() as scratch:
        source = library(Path(scratch) / "library")
        one, processor, bench = _indexed(source, Path(scratch) / "one", workers=1)
        bench.close()
        watch = Memory()
        watch.start()
        two, _, bench = _indexed(source, Path(scratch) / "two", workers=2)
        start = time.perf_counter()
        repo = bench.registry.repos()[0]
        bench.index(repo)
        again = time.perf_counter() - start
        watch.stop()
        generation = bench.generation(repo)
        bare, _ = bare_parse(source, generation.files.paths)
        size = sum((source / path).stat().st_size for path in generation.files.paths)
        info = generation.info
        bench.close()
        stored = sum(path.stat().st_size for path in (Path(scratch) / "two").rglob("*") if path.is_file())
    load = f"{info.files:,} files, {info.lines:,} lines, {size / _MEGABYTE:.1f} MB, {os.cpu_count()} cores"
    return [
        targets.reached("index-rate", bare / processor, load=f"{load}, processor time"),
        targets.reached("index-scaling", one / two, load=load),
        targets.reached("index-size", stored / size, load=f"{load}, all files of the data folder"),
        targets.reached("index-memory", watch.most / _MEGABYTE, load=f"{load}, all processes together"),
        Figure("index without vectors, two parsers", two, "s", load=load),
        Figure("index without vectors, one parser", one, "s", load=load),
        Figure("bare parse, one process", bare, "s", load=load),
        Figure("second index, unchanged", again, "s", load=load),
    ]


def _indexed(source: Path, data: Path, *, workers: int) -> tuple[float, float, IndexBench]:
    """Return seconds, seconds of processors, and the bench with the index."""
    bench = IndexBench(data, limits=Index(workers=workers))
    repo = bench.add(source)
    start, before = time.perf_counter(), sum(os.times()[:4])
    bench.index(repo)
    return time.perf_counter() - start, sum(os.times()[:4]) - before, bench


def bare_parse(root: Path, paths: Sequence[str]) -> tuple[float, int]:
    """Return seconds of processor and bytes of parsing those of *paths* that have a grammar here: Python and C."""
    suffixes = {".py": "python", ".pyi": "python", ".c": "c", ".h": "c"}
    sources = [((root / path).read_bytes(), suffixes[Path(path).suffix]) for path in paths if Path(path).suffix in suffixes]
    parsers = {language: grammar(language).parser for language in LANGUAGES if language in suffixes.values()}
    start = time.process_time()
    for content, language in sources:
        parsers[language].parse(content)
    return time.process_time() - start, sum(len(content) for content, _ in sources)
