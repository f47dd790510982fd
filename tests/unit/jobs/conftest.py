from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.jobs.queue import JobQueue
from appliance.jobs.schema import SCHEMA
from tests.support.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(tmp_path: Path, clock: FakeClock) -> Iterator[JobQueue]:
    queue = JobQueue(sqlite.connect(tmp_path / "global.db", migrations=[SCHEMA]), clock=clock)
    yield queue
    queue.close()
