from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.indexing import IndexBench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[IndexBench]:
    bench = IndexBench(tmp_path / "data")
    yield bench
    bench.close()
