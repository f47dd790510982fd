"""What is used by what is used is central."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from appliance.codeintel.query.querylang import parse
from appliance.codeintel.query.signals import Signals, collect
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.generation import Generation
from tests.support.indexed import Indexed
from tests.support.repos import commit, make_repo

FILES = {
    "core.py": "def run(job):\n    return job\n",
    "api.py": "from core import run\n\ndef start(job):\n    return run(job)\n",
    "web.py": "from api import start\nfrom core import run\n\ndef page(job):\n    start(job)\n    return run(job)\n",
    "alone.py": "def page(job):\n    return job\n",
    "tests/test_alone.py": "from alone import page\n\ndef test_page():\n    assert page(1)\n",
    "notes.md": "# A job\n\nruns.\n",
}


class _Site:
    def __init__(self, root: Path) -> None:
        (root / "data").mkdir()
        self.folder = make_repo(root, FILES)
        self.indexed = Indexed(root / "data")
        self.repo: Repo = self.indexed.add(self.folder)

    @property
    def generation(self) -> Generation:
        return self.indexed.generations.published(self.repo.id)

    def central(self) -> Mapping[str, float]:
        generation = self.generation
        assert generation.graph is not None
        ranks = generation.graph.centrality
        return {path: float(ranks[number]) for path, number in generation.files.by_path.items() if number < len(ranks)}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[_Site]:
    made = _Site(tmp_path)
    yield made
    made.indexed.close()


def test_a_file_that_others_use_is_central_and_a_test_says_little(site: _Site) -> None:
    site.indexed.graph(site.repo)
    ranks = site.central()
    assert ranks["core.py"] > ranks["api.py"] > ranks["web.py"]
    assert ranks["core.py"] > ranks["alone.py"]
    assert np.mean(list(ranks.values())) == pytest.approx(1.0, abs=1e-4)


def _signals(generation: Generation) -> dict[str, float]:
    signals: Signals = collect(generation, parse("what runs a job"), vector=None)
    return {
        generation.files.paths[file]: float(central) for file, central in zip(signals.files, signals.central, strict=True)
    }


def test_without_a_graph_no_file_is_more_central_than_another(site: _Site) -> None:
    assert set(_signals(site.generation).values()) == {0.0}


def test_a_file_that_came_after_the_graph_counts_as_any_other(site: _Site) -> None:
    site.indexed.graph(site.repo)
    graph = site.generation.graph
    commit(site.folder, {"zone.py": "def run_a_job(job):\n    return job\n"})
    site.indexed.index(site.repo)
    central = _signals(site.generation.with_graph(graph))
    assert 0 < central["zone.py"] < central["core.py"] == 1.0


def test_a_repository_without_a_definition_has_no_centre(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    indexed = Indexed(tmp_path / "data")
    try:
        repo = indexed.add(make_repo(tmp_path, {"a.py": "import b\n", "b.py": "print(1)\n"}))
        indexed.graph(repo)
        graph = indexed.generations.published(repo.id).graph
    finally:
        indexed.close()
    assert graph is not None
    assert graph.centrality.mean() == pytest.approx(1.0, abs=1e-4)
