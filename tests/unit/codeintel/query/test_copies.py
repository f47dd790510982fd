"""The same code in many places is one result, and stands in a pack once."""

import asyncio
from collections.abc import Iterator

import pytest

from appliance.codeintel.citations import Texts
from appliance.codeintel.query.context import pack
from appliance.codeintel.query.querylang import parse
from tests.support.indexed import Indexed
from tests.support.repos import make_repo

_CODE = '''"""Counting retries."""


def backoff(attempt, ceiling):
    """Return how long to wait before the next attempt, in seconds."""
    delay = 2 ** attempt
    if delay > ceiling:
        delay = ceiling
    jitter = delay / 10
    if attempt == 0:
        jitter = 0
    total = delay + jitter
    assert total >= 0
    return total
'''
_NEAR = _CODE.replace("delay / 10", "delay / 8").replace('"""Counting retries."""', '"""Counting retries, our way."""')
_OTHER = '''def retries(settings):
    """Return how many attempts the settings allow before backoff ends."""
    return settings["retries"]
'''


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    root = tmp_path_factory.mktemp("copies")
    (root / "data").mkdir()
    indexed = Indexed(root / "data")
    for number in range(5):
        folder = "examples" if number == 0 else "lib"
        indexed.add(make_repo(root, {f"{folder}/backoff.py": _CODE, "src/only.py": f"x = {number}\n"}, name=f"copy{number}"))
    near = {"src/backoff.py": _NEAR, "src/other.py": _OTHER, "src/renamed.py": _CODE.replace("jitter", "jitter")}
    indexed.add(make_repo(root, near, name="near"))
    yield indexed
    indexed.close()


@pytest.mark.parametrize("query", ["backoff", "how long to wait before the next attempt"])
def test_copies_and_near_copies_are_one_result_that_counts_them(site: Indexed, query: str) -> None:
    found = asyncio.run(site.searcher().search(query, scope=site.scope, limit=10))
    copies = [hit for hit in found.hits if "def backoff" in hit.text]
    assert len(copies) == 1
    assert "also in 6 places" in copies[0].why
    places = {*(f"copy{n}: lib/backoff.py" for n in range(1, 5)), "near: src/backoff.py", "near: src/renamed.py"}
    shown = f"{copies[0].span.repo_name}: {copies[0].span.path}"
    assert {*copies[0].also, shown} == places | {"copy0: examples/backoff.py"}
    assert len(copies[0].also) == 6
    assert not copies[0].span.path.startswith("examples/")
    assert any("def retries" in hit.text for hit in found.hits)


def test_a_copy_among_examples_is_shown_where_there_is_no_other(site: Indexed) -> None:
    found = asyncio.run(site.searcher().search("backoff repo:copy0", scope=site.scope))
    assert [hit.span.path for hit in found.hits if "def backoff" in hit.text] == ["examples/backoff.py"]


def test_a_pack_has_the_same_code_once(site: Indexed) -> None:
    gathered = asyncio.run(site.searcher().gather(parse("how long to wait before the next attempt"), scope=site.scope))
    texts = Texts({part.repo.id: site.generations.source(part.repo.id) for part in gathered.parts})
    made = pack(gathered, texts=texts)
    assert sum("def backoff" in block.text for block in made.blocks) == 1
