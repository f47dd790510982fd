"""Which languages are followed."""

from pathlib import Path

import pytest

from appliance.codeintel.parse.flow.languages import FRONT_ENDS
from appliance.codeintel.resolve.families import FOLLOWED

_ROOT = Path(__file__).parents[4]
_CALLED = {
    "python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TypeScript", "go": "Go",
    "rust": "Rust", "java": "Java", "kotlin": "Kotlin", "csharp": "C#", "c": "C", "cpp": "C++",
}  # fmt: skip


def test_each_language_that_is_followed_has_a_front_end_and_the_other_way_round() -> None:
    assert set(FOLLOWED) == set(FRONT_ENDS)
    assert len(FOLLOWED) == len(set(FOLLOWED))


@pytest.mark.parametrize(("page", "before"), [("README.md", "followed in "), ("docs/explanation/calls.md", "Followed are ")])
def test_the_texts_name_all_languages_that_are_followed_and_no_others(page: str, before: str) -> None:
    said = " ".join((_ROOT / page).read_text(encoding="utf-8").split()).partition(before)[2].partition(".")[0]
    named = said.replace(" and ", ", ").split(", ")
    assert sorted(named) == sorted({_CALLED[language] for language in FOLLOWED})
