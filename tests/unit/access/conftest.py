import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.access.desk import SCHEMA, Access
from appliance.base import sqlite
from tests.support.clock import FakeClock

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    return lambda: sqlite.connect(tmp_path / "global.db", migrations=[SCHEMA])


@pytest.fixture
def access(connect: Connect, clock: FakeClock) -> Iterator[Access]:
    with closing(Access(connect, clock=clock)) as access:
        yield access
