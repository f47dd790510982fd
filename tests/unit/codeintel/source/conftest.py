from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.base.clock import Clock
from appliance.codeintel.source.base import Source
from appliance.codeintel.source.opening import open_source
from appliance.config import Index

Opener = Callable[..., Source]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opener]:
    """Open sources under one mirror folder and close them after the test."""
    sources: list[Source] = []

    def opener(location: Path, *, limits: Index | None = None, clock: Clock | None = None, mirror: str = "mirror") -> Source:
        source = open_source(location, mirror=tmp_path / mirror, limits=limits or Index(), clock=clock)
        sources.append(source)
        return source

    yield opener
    for source in sources:
        source.close()
