"""Maps of several repositories."""

import asyncio
from pathlib import Path

from appliance.codeintel.query.graphs import GraphReader
from appliance.codeintel.query.search import Searcher
from appliance.codeintel.results import Scope
from tests.support.indexing import IndexBench


def test_the_repository_with_what_is_asked_for_comes_first(tmp_path: Path) -> None:
    """All of a repository of one file leans on that file: its rank says nothing of another repository's."""
    bench = IndexBench(tmp_path / "data")
    for name, files in (("alone", 1), ("shop", 9)):
        (tmp_path / name).mkdir()
        for number in range(files):
            (tmp_path / name / f"{name}{number}.py").write_text(f"def {name}{number}():\n    pass\n")
        repo = bench.add(tmp_path / name)
        bench.index(repo)
    reader = GraphReader(bench.generations, Searcher(bench.generations, None, bench.clock), bench.clock)
    maps = {}
    for focus in ("", "shop3", "alone0"):
        asked = reader.repomap(scope=Scope(repo.project), focus=(focus,) if focus else ())
        maps[focus] = [each.file.repo_name for each in asyncio.run(asked).files]
    bench.close()
    assert maps[""] == maps["alone0"] == ["alone", *["shop"] * 9]
    assert maps["shop3"] == [*["shop"] * 9, "alone"]
