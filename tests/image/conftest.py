"""The image of this checkout, built once a run; without podman every claim about it is skipped, with the reason."""

import pytest

from tests.support import podman


@pytest.fixture(scope="session")
def image() -> str:
    """Return the image's id."""
    if reason := podman.missing():
        pytest.skip(reason)
    return podman.built()
