from collections.abc import Iterator
from contextlib import closing

import pytest

from appliance.services import Services
from tests.support.appliance import Client, make_services, serving


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Yield services without a repository, shared by a file's tests: each of them must leave them usable."""
    with closing(make_services(tmp_path_factory.mktemp("data"))) as services:
        yield services


@pytest.fixture(scope="module")
def client(services: Services) -> Iterator[Client]:
    """Yield a client that may do everything."""
    with serving(services) as client:
        yield client


@pytest.fixture(scope="module")
def stranger(services: Services) -> Iterator[Client]:
    """Yield a client that nobody knows."""
    with serving(services, key=None) as client:
        yield client
