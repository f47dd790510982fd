"""What .gitignore files leave out, asked in any order."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.source.ignore import IgnoreRules
from tests.support.repos import make_repo

_ROOT = (b"a/", b"b/", b"keep", b"y.log")


@pytest.fixture
def rules(tmp_path: Path) -> Iterator[IgnoreRules]:
    with closing(IgnoreRules(make_repo(tmp_path, {"a": ""}, bare=True))) as made:
        yield made


@pytest.mark.parametrize("asked", [_ROOT[n:] + _ROOT[:n] for n in range(len(_ROOT))])
def test_rules_of_a_folder_count_whatever_was_asked_before_they_were_learnt(
    rules: IgnoreRules, asked: tuple[bytes, ...]
) -> None:
    """A folder that is asked about last is the one that git stands in when its rules come."""
    rules.learn(b"", b"*.log\n")
    assert rules.ignored(asked) == {b"y.log"}
    for folder in (b"a/", b"b/"):
        rules.learn(folder, b"local\n!y.log\n")
        assert rules.ignored([folder + b"c/", folder + b"local", folder + b"y.log"]) == {folder + b"local"}
        assert rules.ignored([folder + b"c/"]) == set()
        rules.learn(folder + b"c/", b"x\n")
        assert rules.ignored([folder + b"c/" + name for name in (b"x", b"y.log", b"z")]) == {folder + b"c/x"}
