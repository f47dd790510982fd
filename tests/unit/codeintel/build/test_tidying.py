"""What is left on the disk of a repository that was removed: nothing."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.build.embedding import VectorFiller
from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.build.pipeline import Indexer
from appliance.codeintel.facts import BlobFacts, texts, unpack_facts
from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.vectors import VectorStore
from appliance.errors import StoreCorrupt
from tests.support.indexed import Indexed, WordEmbedder
from tests.support.indexing import go_on, silent
from tests.support.repos import make_repo

ONLY_THERE = "grapefruit"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Indexed]:
    (tmp_path / "data").mkdir()
    with closing(Indexed(tmp_path / "data")) as site:
        site.add(
            make_repo(tmp_path, {"own.py": f'"""{ONLY_THERE}."""\n', "same.py": "x = 1\n"}, name="gone"),
            embedder=WordEmbedder(),
        )
        yield site


def tidy(site: Indexed) -> None:
    Indexer(site.registry, paths=site.paths, limits=site.limits, clock=site.clock).tidy(site.project)
    VectorFiller(site.registry, paths=site.paths, clock=site.clock).tidy(site.project)


def facts(site: Indexed) -> list[tuple[str, str]]:
    """Return the words of every blob whose facts are cached."""
    with closing(sqlite3.connect(site.paths.project(site.project).db)) as conn:
        rows = conn.execute("SELECT blob, facts FROM blobs ORDER BY blob").fetchall()
    found = [(blob, unpack_facts(packed, BlobFacts)) for blob, packed in rows]
    return [(blob, texts(each.texts, each.words)[0]) for blob, each in found]


def vectors(site: Indexed) -> set[str]:
    """Return the keys of every vector that is stored, in whichever version of the table."""
    with closing(CodeStore(site.paths.project(site.project))) as store:
        table = VectorStore(store, model=WordEmbedder.model, dimensions=WordEmbedder.dimensions)
        return {key.partition("/")[0] for batch in table.read() for key in batch.keys}


def followed(site: Indexed) -> set[str]:
    """Return the blobs whose flows are cached."""
    with closing(FlowStore(site.paths.project(site.project).db)) as flows:
        return {blob for blob, _ in flows.known()}


def follow(site: Indexed) -> None:
    graphs = GraphBuilder(site.registry, paths=site.paths, limits=site.limits)
    for repo in site.registry.repos():
        graphs.build(repo.id, progress=silent, check=go_on)


def drop(site: Indexed, name: str) -> None:
    repo = site.registry.repo(name)
    site.registry.remove_repo(repo.id)
    site.generations.forget(repo.id)


def test_what_only_the_removed_repo_had_is_forgotten_and_what_others_use_is_kept(site: Indexed, tmp_path: Path) -> None:
    site.add(make_repo(tmp_path, {"other.py": "y = 2\n", "same.py": "x = 1\n"}, name="stays"), embedder=WordEmbedder())
    follow(site)
    assert any(ONLY_THERE in words for _, words in facts(site))
    assert len(facts(site)) == len(vectors(site)) == len(followed(site)) == 3
    drop(site, "gone")
    tidy(site)
    left = facts(site)
    assert len(left) == 2
    assert followed(site) == {blob for blob, _ in left}
    assert not any(ONLY_THERE in words for _, words in left)
    assert vectors(site) == {blob for blob, _ in left}
    stays = site.registry.repo("stays")
    assert site.embed(stays, WordEmbedder()) == 0
    site.index(stays)


def test_of_the_last_repo_nothing_stays(site: Indexed) -> None:
    follow(site)
    drop(site, "gone")
    tidy(site)
    assert facts(site) == []
    assert followed(site) == set()
    paths = site.paths.project(site.project)
    assert not [path for folder in (paths.generations, paths.mirrors, paths.vectors) for path in folder.iterdir()]
    log = paths.db.with_name("project.db-wal")
    assert not log.exists() or log.stat().st_size == 0


def test_a_mirror_that_a_running_job_made_again_goes_too_and_one_that_is_being_added_stays(site: Indexed) -> None:
    mirrors = site.paths.project(site.project).mirrors
    (mirrors / "repo_0000000000000000.git").mkdir()
    (mirrors / ".probe-now").mkdir()
    old = mirrors / ".probe-old"
    old.mkdir()
    os.utime(old, (0, 0))
    tidy(site)
    assert {path.name for path in mirrors.iterdir()} == {f"{site.registry.repo('gone').id}.git", ".probe-now"}


def test_nothing_is_forgotten_while_a_generation_cannot_be_read(site: Indexed) -> None:
    """What it holds is not known then, and would have to be made again."""
    repo = site.registry.repo("gone")
    generation = site.generations.published(repo.id).folder
    (generation / "generation.db").write_bytes(b"not a database, but as long as one would be at the least")
    before = facts(site)
    with pytest.raises(StoreCorrupt):
        tidy(site)
    assert facts(site) == before


def test_a_former_generation_that_cannot_be_read_holds_nothing_up(site: Indexed, tmp_path: Path) -> None:
    repo = site.registry.repo("gone")
    (site.generations.published(repo.id).folder / "generation.db").write_bytes(b"not a database")
    site.index(repo)
    site.add(make_repo(tmp_path, {"other.py": "y = 2\n"}, name="stays"))
    kept = facts(site)
    tidy(site)
    assert facts(site) == kept
