from collections.abc import Iterator

import pytest

from tests.support.explored import Explored


@pytest.fixture(scope="session")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explored]:
    bench = Explored(tmp_path_factory.mktemp("explored"))
    yield bench
    bench.shop.close()
