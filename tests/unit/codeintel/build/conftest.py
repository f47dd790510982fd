from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.codeintel.parse.pool import ParserPool
from appliance.config import Index
from tests.support.indexing import IndexBench, QuickBench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IndexBench]:
    bench = QuickBench(tmp_path / "data")
    yield bench
    bench.close()


@pytest.fixture(scope="session")
def pool() -> Iterator[ParserPool]:
    """Parsers for many small repositories: to start them takes longer than all that they have to parse."""
    pool = ParserPool(1, Index(workers=1))
    yield pool
    pool.close()
