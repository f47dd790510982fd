"""A fake host for each file, and the bundles that are carried to it; where no container can run, the claims are skipped."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.install import host, workshop
from tests.install.host import FakeHost
from tests.install.playing import Controller
from tests.install.workshop import Workshop
from tests.support import podman

BUILD: Final = Path(__file__).parent / "fakehost" / "build"
VARIABLES: Final = {
    # podman's own way of nesting control groups fails in a host that is a container on version 1 of them
    "skellig_podman_args": ["--cgroups=enabled"],
    "skellig_start_seconds": 60,
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the steps of a story in their order, whatever plugin shuffled them: each stands on those before it."""
    places = [place for place, item in enumerate(items) if item.get_closest_marker("install")]
    told = sorted((items[place] for place in places), key=lambda item: (item.path, item.reportinfo()[1] or 0))
    for place, item in zip(places, told, strict=True):
        items[place] = item


@pytest.fixture(scope="session")
def fake_host_image() -> str:
    """Return the image of the fake host, made if it is not there."""
    if os.geteuid() != 0:
        pytest.skip("containers take root here")
    ended = subprocess.run([BUILD], capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"no fake host can be made: {ended.stderr.strip()[-300:]}")
    return ended.stdout.strip()


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def stand_ins(shop: Workshop, fake_host_image: str) -> dict[str, Path]:
    """Return bundles of a small image that keeps the run contract; the last version never becomes ready."""
    made = {}
    for version, broken in (("0.1.0", False), ("0.2.0", False), ("0.3.0", True)):
        image = workshop.stand_in(shop.place, fake_host=fake_host_image, version=version, broken=broken)
        made[version] = shop.build(version, image=image)
    return made


@pytest.fixture(scope="module")
def fake_host(tmp_path_factory: pytest.TempPathFactory, fake_host_image: str) -> Iterator[FakeHost]:
    with host.running(tmp_path_factory.mktemp("host"), image=fake_host_image) as running:
        yield running


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory, fake_host: FakeHost, shop: Workshop) -> Controller:
    return Controller(tmp_path_factory.mktemp("controller"), fake_host, {**VARIABLES, "skellig_key": shop.key})


@pytest.fixture(scope="session")
def real_image() -> str:
    """Return the image of this checkout, or the one in the archive $SKELLIG_TEST_ARCHIVE, by its id."""
    if archive := os.environ.get("SKELLIG_TEST_ARCHIVE"):
        return podman.run("load", "--quiet", f"--input={archive}", seconds=600).rpartition(" ")[2]
    return podman.built()
