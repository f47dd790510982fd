from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.codeintel.facts import BlobFacts, BlobTask, unpack_facts
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.base import Entry, LeftOut, Source
from appliance.codeintel.source.filters import judge_content
from appliance.codeintel.source.opening import open_source
from appliance.codeintel.source.rules import rules_of
from appliance.codeintel.source.walk import survey
from appliance.config import Index
from appliance.ids import BlobId

LIMITS = Index(parse_seconds=0.5)

Taken = dict[str, BlobFacts | LeftOut]


def _take_in(source: Source) -> Taken:
    snapshot = source.snapshot(None)
    found: Taken = {}
    paths: dict[BlobId, str] = {}
    for item in survey(source, snapshot, limits=LIMITS, rules=rules_of(source, snapshot, RepoSettings())):
        if isinstance(item, Entry):
            paths[item.blob] = item.path
        else:
            found[item.path] = item
    tasks = []
    for blob, content in source.read(paths):
        left = judge_content(paths[blob], content, limits=LIMITS)
        if left is None:
            tasks.append(BlobTask(blob, paths[blob], content))
        else:
            found[left.path] = left
    pool = ParserPool(1, LIMITS)
    try:
        found |= {paths[blob]: unpack_facts(packed.facts, BlobFacts) for blob, packed in pool.map(tasks)}
    finally:
        pool.close()
    return found


@pytest.fixture
def source_at(tmp_path: Path) -> Iterator[Callable[[Path], Source]]:
    """Open sources and close them after the test."""
    opened: list[Source] = []

    def opener(location: Path) -> Source:
        opened.append(open_source(location, mirror=tmp_path / f"mirror-{len(opened)}", limits=LIMITS))
        return opened[-1]

    yield opener
    for source in opened:
        source.close()


@pytest.fixture
def take_in(source_at: Callable[[Path], Source]) -> Callable[[Path], Taken]:
    """Read, judge and parse everything at a location, as an index does; files of equal content count once."""
    return lambda location: _take_in(source_at(location))
