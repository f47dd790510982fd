"""A file that cost a parser process may have met a busy machine: it is tried again, but not for ever."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.codeintel.store.code import MOST_TRIES
from appliance.config import Index
from tests.support.indexing import IndexBench, Recorder
from tests.support.repos import commit, make_repo

SLOW = ("a.b.c" * 300 + "\n") * 70  # as C#: a second of processor time
FEW = {"parse_seconds": 0.2}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_repo(tmp_path, {"slow.cs": SLOW, "good.py": "def good(): pass\n"})


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., IndexBench]]:
    """Start the same appliance again and again, with other limits."""
    started: list[IndexBench] = []

    def start(**limits: float) -> IndexBench:
        started.append(IndexBench(tmp_path / "data", limits=Index(workers=1, **limits)))
        return started[-1]

    yield start
    for bench in started:
        bench.close()


def parsed(bench: IndexBench) -> tuple[int, int]:
    """Index the one repo there is, and return how many blobs were parsed and how many files have a problem now."""
    recorder = Recorder()
    info = bench.index(bench.registry.repos()[0], progress=recorder.progress)
    return recorder.parsed(), info.problems


def test_a_file_that_took_too_long_is_tried_three_times_and_with_other_limits_anew_until_it_succeeds(
    start: Callable[..., IndexBench], source: Path
) -> None:
    """Each index tries it once; what was found in the end is kept, whatever the limits are then."""
    bench = start(**FEW)
    bench.add(source)
    assert [parsed(bench) for _ in range(MOST_TRIES + 1)] == [(2, 1), *[(1, 1)] * (MOST_TRIES - 1), (0, 1)]
    commit(source, {"new.py": "x = 1\n"})
    assert parsed(bench) == (1, 1)
    bench = start(parse_seconds=60)
    assert parsed(bench) == (1, 0)
    assert parsed(bench) == (0, 0)
    assert parsed(start(**FEW)) == (0, 0)


def test_a_file_that_is_at_fault_itself_is_not_tried_again(start: Callable[..., IndexBench], tmp_path: Path) -> None:
    bench = start()
    bench.add(make_repo(tmp_path, {"nest.py": "f(\n" * 5000 + ")\n" * 5000}, name="nest"))
    assert [parsed(bench) for _ in range(2)] == [(1, 1), (0, 1)]
