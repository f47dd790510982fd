"""The running appliance under its own supervisor: memory while it indexes, and searches over HTTP on 50,000 chunks."""

import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from appliance.cli.views import Job, Repo, Results
from appliance.errors import ApplianceError
from appliance.ops import launch
from tests.benchmarks.corpus import children, library, memory
from tests.benchmarks.report import Figure
from tests.support.house import House, until
from tests.support.models import MINILM, store_root

_PACKAGES_MEGABYTES = 22
_QUERIES = 200
QUESTIONS = (
    "how is a connection pool closed",
    "parse a date from a string",
    "where are redirects followed",
    "retry with exponential backoff",
    "compile a regular expression",
    "write a zip archive member",
    "schema validation error messages",
    "default encoding of open files",
)


class Watch(threading.Thread):
    """Keeps the highest resident memory of each supervised program's own processes."""

    def __init__(self, house: House) -> None:
        super().__init__(daemon=True)
        self._pids = {"web": house.pid("web"), "worker": house.pid("worker")}
        self.peak = dict.fromkeys(self._pids, 0)
        self._over = threading.Event()

    def run(self) -> None:
        """Look five times a second. The web program is its parent and its server; the worker is one process."""
        while not self._over.wait(0.2):
            web = [self._pids["web"], *children(self._pids["web"])]
            self.peak["web"] = max(self.peak["web"], sum(map(memory, web)))
            self.peak["worker"] = max(self.peak["worker"], memory(self._pids["worker"]))

    def stop(self) -> None:
        """End the watch."""
        self._over.set()
        self.join()


def run() -> Sequence[Figure]:
    """Start an appliance without chat, index the library and some packages in it, and search."""
    with tempfile.TemporaryDirectory() as scratch, started(Path(scratch) / "data") as house:
        source = library(Path(scratch) / "library", packages_megabytes=_PACKAGES_MEGABYTES)
        watch = Watch(house)
        watch.start()
        repo, seconds = _indexed(house, source)
        watch.stop()
        assert repo.index is not None
        assert repo.index.lines >= 500_000, "the claim is about half a million lines"
        load = f"{repo.index.lines:,} lines, {repo.index.chunks:,} chunks"
        milliseconds = _searched(house)
    return [
        Figure("index through the appliance", seconds, "s", load=load),
        Figure("memory of web while it indexes", watch.peak["web"] / 1e6, "MB", limit=400, load=load),
        Figure("memory of worker while it indexes", watch.peak["worker"] / 1e6, "MB", limit=400, load=load),
        Figure("warm search over HTTP, p50", statistics.median(milliseconds), "ms", load=load),
        Figure("warm search over HTTP, p95", sorted(milliseconds)[int(len(milliseconds) * 0.95)], "ms", 50, load=load),
    ]


@contextmanager
def started(root: Path) -> Iterator[House]:
    root.mkdir()
    house = House(root)
    house.paths.models.symlink_to(store_root())
    started = house.skellig("up", SKELLIG_EMBED__MODEL=MINILM)
    if started.returncode != 0:
        raise SystemExit(started.stderr)
    try:
        yield house
    finally:
        launch.stop(house.files, seconds=10.0)


def _indexed(house: House, source: Path) -> tuple[Repo, float]:
    """Return the repo and how long its index took. Its vectors are not waited for: some are enough to search with."""
    start = time.monotonic()
    with house.remote() as remote:
        added = remote.post("repos", Repo, {"path": str(source), "name": "library"})
        assert added.job is not None
        job = added.job.id
        until(lambda: remote.get(f"jobs/{job}", Job).ended, seconds=900)
        seconds = time.monotonic() - start
        until(lambda: (index := remote.get(f"repos/{added.id}", Repo).index) and index.vectors > 0, seconds=300)
        for embed in remote.get("jobs", list[Job]):
            with suppress(ApplianceError):
                remote.post(f"jobs/{embed.id}/cancel", Job)
        return remote.get(f"repos/{added.id}", Repo), seconds


def _searched(house: House) -> list[float]:
    draw = random.Random(5)  # noqa: S311 - queries, not secrets
    milliseconds = []
    with house.remote() as remote:
        for number in range(_QUERIES + 20):
            query = draw.choice(QUESTIONS) + draw.choice(("", " test", " class", " python", " error"))
            start = time.perf_counter()
            found = remote.get("search", Results, q=query)
            if number >= 20:
                milliseconds.append((time.perf_counter() - start) * 1000)
            assert found.hits
    return milliseconds
