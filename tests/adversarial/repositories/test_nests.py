"""Files within every limit of size that are one nest, or one error: what they cost, and what becomes of their neighbours."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.codeintel.facts import BlobFacts
from tests.adversarial.repositories.conftest import LIMITS, Taken
from tests.support.repos import make_repo

TakeIn = Callable[[Path], Taken]
SIZE = 190_000
NESTS = {  # name and what is written again and again: to the end, or half of it with its closing half
    "class.js": ("function f() {\n", "}\n"),
    "class.java": ("class A {\n", "}\n"),
    "class.kt": ("class A {\n", "}\n"),
    "class.scala": ("object A {\n", "}\n"),
    "generic.java": ("B<\n", ">\n"),
    "module.rb": ("module A\n", "end\n"),
    "call.py": ("f(\n", ")\n"),
    "chain.c": ("a.b()\n.", ""),
    "bracket.py": ("[\n", ""),
    "brace.cpp": ("{\n", ""),
    "paren.java": ("(\n", ""),
    "paren.go": ("(\n", ""),
    "string.js": ("`${\n", ""),
}
EXPENSIVE = {"colons.cs": "a::b", "less.java": "a<", "comments.py": "/*", "quotes.cs": "'"}


def nest(opening: str, closing: str) -> str:
    times = SIZE // len(opening + closing)
    return opening * times + closing * times


def lines(pattern: str) -> str:
    line = pattern * (1000 // len(pattern)) + "\n"
    return line * (SIZE // len(line))


def cost(taken: Callable[[], Taken]) -> tuple[float, Taken]:
    """Return the processor seconds of the processes that ended meanwhile, and what was found."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = taken()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, found


def problems(taken: Taken) -> dict[str, str]:
    return {path: found.problem for path, found in taken.items() if isinstance(found, BlobFacts)}


def test_many_nests_are_indexed_by_lines_and_hold_nobody_up(tmp_path: Path, take_in: TakeIn) -> None:
    """What they cost grows with their size and with nothing else."""
    hostile = {f"{at}{name}": nest(*NESTS[name]) + "\n" * at for at, name in enumerate(sorted(NESTS) * 2)}  # no two alike
    good = {f"good{number}.py": f"def good{number}(): pass\n" for number in range(20)}
    repo = make_repo(tmp_path, hostile | good)
    seconds, taken = cost(lambda: take_in(repo))
    assert problems(taken) == dict.fromkeys(hostile, "parse-nest") | dict.fromkeys(good, "")
    assert all(found.chunks for found in taken.values() if isinstance(found, BlobFacts))
    assert seconds < len(hostile) * 0.5


@pytest.mark.parametrize("name", EXPENSIVE)
def test_what_the_parser_itself_chokes_on_costs_its_limit_twice_at_most(tmp_path: Path, take_in: TakeIn, name: str) -> None:
    repo = make_repo(tmp_path, {name: lines(EXPENSIVE[name]), "good.py": "def good(): pass\n"})
    seconds, taken = cost(lambda: take_in(repo))
    found = problems(taken)
    assert found.pop("good.py") == ""
    assert found[name] in {"parse-nest", "parse-timeout", "parse-crash"}
    assert seconds < 2 * LIMITS.parse_seconds + 2.0
