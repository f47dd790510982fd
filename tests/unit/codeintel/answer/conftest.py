from collections.abc import Iterator

import pytest

from tests.support.shop import CORNERS, Shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Two indexed repositories, "shop" and "corners", that no test changes."""
    made = Shop(tmp_path_factory.mktemp("shop"))
    made.make("shop")
    made.make("corners", CORNERS)
    yield made
    made.close()


@pytest.fixture
def own_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Make an empty one, for a test that adds or breaks something."""
    made = Shop(tmp_path_factory.mktemp("own"))
    yield made
    made.close()
