"""What tests of the framework share."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def clean_path() -> Iterator[None]:
    """Take what a loader adds to the path of modules away with the test."""
    path, modules = sys.path[:], set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if not name.startswith("appliance"):
            del sys.modules[name]
