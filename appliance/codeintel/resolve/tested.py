"""What a test is named for: ``test_gross`` for ``gross``, ``CartTest`` for ``Cart``, ``test_cart.py`` for ``cart.py``."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MARKS: Final = frozenset({"test", "tests", "spec", "specs", "it", "should"})


def named_for(name: str, subjects: Mapping[tuple[str, ...], int]) -> int | None:
    """Return which of *subjects*, by the words of their names, the test *name* is named for: the one that says most."""
    words = words_of(name)
    if words[:1] == ("test",):
        words = words[1:]
    elif words[-1:] in {("test",), ("tests",), ("spec",)}:
        words = words[:-1]
    else:
        return None
    return next((subjects[words[:many]] for many in range(len(words), 0, -1) if words[:many] in subjects), None)


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of an identifier, in small letters."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def files_named_for(paths: Sequence[str], tests: Sequence[bool]) -> dict[int, int]:
    """Return for each test of *paths* the number of the one file that it is named for, where there is one."""
    stems: dict[str, list[int]] = defaultdict(list)
    for number, path in enumerate(paths):
        if not tests[number]:
            stems[_stem(path).lower()].append(number)
    found: dict[int, int] = {}
    for number, path in enumerate(paths):
        parts = [part for part in re.split(r"[._-]", _stem(path).lower()) if part]
        rest = [part for part in parts if part not in _MARKS]
        meant = stems.get("_".join(rest), ()) if tests[number] and rest != parts else ()
        if len(meant) == 1:
            found[number] = meant[0]
    return found


def _stem(path: str) -> str:
    name = PurePosixPath(path).name
    return name.rpartition(".")[0] or name
