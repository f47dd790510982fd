"""The files of queries: what is sought from the root of a tree stands apart."""

import importlib.resources
import re

import pytest

from appliance.codeintel.parse.grammars import LANGUAGES, grammar

_QUERIES = importlib.resources.files("appliance.codeintel.parse") / "queries"


def first_words(file: str) -> set[str]:
    """Return what the patterns of *file* begin with, the empty set if there is no such file."""
    found = _QUERIES / file
    return set(re.findall(r"^\((\w+)", found.read_text(encoding="ascii"), re.MULTILINE)) if found.is_file() else set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_patterns_of_a_root_stand_in_a_file_of_their_own_and_no_others_do(language: str) -> None:
    """Among the rest, one costs time at every node; one of another kind, looked for at the root alone, finds nothing."""
    root = grammar(language).parser.parse(b"").root_node.type
    assert root not in first_words(f"{language}.scm")
    assert first_words(f"{language}.root.scm") <= {root}
