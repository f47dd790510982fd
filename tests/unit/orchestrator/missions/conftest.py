from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.missions import Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """Open a desk and a runner over a database of their own."""
    made = Office(tmp_path)
    yield made
    made.close()
