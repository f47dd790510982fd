"""What was meant by a name that nothing has."""

import time
from difflib import get_close_matches

import pytest

from appliance.codeintel.query.nearest import nearest
from appliance.codeintel.query.outline import no_file

WORDS = ("session", "token", "cache", "retry", "parser", "render", "queue", "lease", "worker", "buffer", "stream")
PATHS = [
    f"{first}/{second}_{number % 7}/{third}_{first}_{number}.py"
    for number, (first, second, third) in enumerate((a, b, c) for a in WORDS for b in WORDS for c in WORDS * 6)
]


@pytest.mark.parametrize(
    ("name", "known", "best"),
    [
        ("sessoin", ["lease", "session"], ["session"]),
        ("SESSION", ["lease", "session"], ["session"]),
        ("größe", ["grüße", "groß", "x"], ["grüße", "groß"]),
        ("abc", ["a\0bc", "\0", ""], ["a\0bc"]),
        ("anything", [], []),
        ("q" * 100_000, ["q", "r"], []),
    ],
)
def test_what_is_most_like_a_name_comes_first(name: str, known: list[str], best: list[str]) -> None:
    assert nearest(name, known, least=0.6) == best


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("cache/token_5/stream_cache_1.py", "Near are: cache/"),
        ("elsewhere/stream_session_10.py", "Near are: session/session_3/stream_session_10.py."),
        (PATHS[700].replace("_", "-"), f"Near are: {PATHS[700]}"),
        (PATHS[4000].removesuffix(".py"), f"Near are: {PATHS[4000]}"),
        ("zzz", "Search for it"),
    ],
)
def test_a_wrong_path_is_answered_with_the_paths_that_are_near(path: str, near: str) -> None:
    """A folder that is none, another sign, an ending that is lacking."""
    assert no_file(path, PATHS).remedy.startswith(near)


def test_a_wrong_path_among_many_files_is_answered_at_once() -> None:
    """Compared letter by letter, fifty thousand paths took seconds."""
    start = time.process_time()
    get_close_matches("parser/quee_3/lease.py", PATHS, cutoff=0.7)
    one_by_one, start = time.process_time() - start, time.process_time()
    assert no_file("parser/quee_3/lease.py", PATHS).remedy == "Search for it: `skellig search`."
    assert time.process_time() - start < one_by_one / 3
