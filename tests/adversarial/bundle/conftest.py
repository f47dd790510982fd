from pathlib import Path

import pytest

from tests.support.bundles import DAY, NOON, Host, Workshop, copied


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("work") / "shop", threshold=2, count=3)


@pytest.fixture(scope="module")
def bundle(workshop: Workshop) -> Path:
    """Give a bundle of version 1.0.0; tests leave it as it is."""
    return workshop.bundle("1.0.0", name="one")


@pytest.fixture(scope="module")
def second(workshop: Workshop) -> Path:
    """Give a newer one."""
    return workshop.bundle("2.0.0", built=NOON + DAY, name="two")


@pytest.fixture
def host(tmp_path: Path, workshop: Workshop) -> Host:
    return Host(tmp_path / "host", workshop)


@pytest.fixture
def spoilt(tmp_path: Path, bundle: Path) -> Path:
    """Give a copy of the bundle that a test may spoil."""
    return copied(bundle, tmp_path / "spoilt")
