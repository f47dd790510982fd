import pytest

from appliance.codeintel.source.base import FileFlags
from appliance.codeintel.store.standing import Standing

_NONE = FileFlags.NONE


def _flags(*paths: str, asked: str = "") -> list[int]:
    found: list[int] = Standing(paths).flags(range(len(paths)), asked=frozenset(asked.split())).tolist()
    return found


def test_a_version_beside_a_newer_one_is_an_older_one() -> None:
    assert _flags("src/v3/types.ts", "src/v4/core/types.ts", "src/v10/types.ts") == [
        FileFlags.LEGACY,
        FileFlags.LEGACY,
        _NONE,
    ]


def test_a_lone_version_is_none() -> None:
    assert _flags("api/v1/routes.py", "api/app.py", "api/deps.py") == [_NONE] * 3


@pytest.mark.parametrize("around", ["", "package/"])
def test_a_version_whose_files_stand_without_it_too_is_an_older_one(around: str) -> None:
    names = ("main.py", "fields.py", "types.py")
    paths = [*(f"{around}{name}" for name in names), *(f"{around}v1/{name}" for name in names)]
    assert _flags(*paths) == [*[_NONE] * 3, *[FileFlags.LEGACY] * 3]


@pytest.mark.parametrize("folder", ["legacy", "Deprecated", "compat"])
def test_a_folder_that_says_so_holds_an_older_version(folder: str) -> None:
    assert _flags(f"lib/{folder}/a.js", "lib/a.js") == [FileFlags.LEGACY, _NONE]


@pytest.mark.parametrize(
    ("path", "asked"), [("v1/a.py", "v1 fields"), ("compat/a.py", "the compatibility layer"), ("legacy/b.py", "legacy")]
)
def test_who_asks_for_an_older_version_gets_it(path: str, asked: str) -> None:
    assert _flags(path, "v2/a.py", asked=asked)[0] == _NONE
    assert _flags(path, "v2/a.py", asked="other words")[0] == FileFlags.LEGACY


def test_internal_is_what_is_called_so_or_begins_with_one_underscore() -> None:
    paths = ("a/internal/x.go", "_private/x.py", "a/_x.py", "__init__.py", "a/__main__.py", "internals.py")
    assert _flags(*paths) == [FileFlags.INTERNAL, FileFlags.INTERNAL, FileFlags.INTERNAL, _NONE, _NONE, _NONE]


def test_a_header_is_marked_where_its_implementation_stands_beside_it() -> None:
    assert _flags("src/idna.h", "src/idna.c", "include/idna.h", "src/queue.h") == [FileFlags.HEADER, _NONE, _NONE, _NONE]


def test_versions_all_over_a_large_repository_are_told_in_one_pass() -> None:
    """Each against all others would outlast the time that a test has."""
    assert set(_flags(*(f"service{number}/v1/api.py" for number in range(60_000)))) == {_NONE}
