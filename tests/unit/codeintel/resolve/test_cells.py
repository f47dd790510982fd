import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.codeintel.resolve.cells import NOTHING, Cells, Values
from appliance.codeintel.resolve.values import Constant


def values(*names: str) -> Values:
    return frozenset(Constant(name) for name in names)


def test_what_was_worked_out_is_kept_until_what_it_read_has_grown() -> None:
    cells, times = Cells(), []

    def work_out() -> Values:
        times.append(1)
        return cells.read("a") | values("x")

    assert cells.recall("key", work_out) == values("x")
    assert cells.recall("key", work_out) == values("x")
    cells.add("b", values("y"))
    cells.due()
    cells.recall("key", work_out)
    assert len(times) == 1
    cells.add("a", values("z"))
    cells.due()
    assert cells.recall("key", work_out) == values("x", "z")
    assert len(times) == 2


def test_a_task_is_due_again_once_what_it_read_through_others_has_grown() -> None:
    cells = Cells()
    cells.watch(7, lambda: _ignore(cells.recall("key", lambda: cells.read("a"))))
    cells.watch(8, lambda: _ignore(cells.read("b")))
    assert cells.due() == set()
    cells.add("a", values("x"))
    assert cells.due() == {7}
    assert cells.due() == set()


def test_what_depends_on_itself_grows_until_it_is_whole() -> None:
    cells = Cells()
    steps = {"one": ("two", "a"), "two": ("one", "b")}

    def work_out(name: str) -> Values:
        other, own = steps[name]
        return cells.recall(other, lambda: work_out(other)) | values(own)

    for _ in range(4):
        for number, name in enumerate(steps):
            cells.watch(number, lambda name=name: _ignore(cells.recall(name, lambda: work_out(name))))  # type: ignore[misc]
        cells.due()
    assert cells.recall("one", lambda: work_out("one")) == cells.recall("two", lambda: work_out("two")) == values("a", "b")


def test_a_long_way_is_gone_in_rounds() -> None:
    cells = Cells()

    def step(number: int) -> Values:
        return values("end") if number == 500 else cells.recall(number + 1, lambda: step(number + 1))

    found, rounds = values(), 0
    while not found and rounds < 50:
        rounds += 1
        cells.watch(0, lambda: _ignore(cells.recall(0, lambda: step(0))))
        cells.due()
        found = cells.recall(0, lambda: step(0))
    assert found == values("end")


def test_a_set_that_tells_nobody_anything_stops_growing() -> None:
    cells = Cells()
    for number in range(100):
        cells.add("a", values(f"n{number}"))
        cells.due()
        size = len(cells.recall("key", lambda: cells.read("a")))
    assert size == 48


def _ignore(_: Values) -> None:
    """Take a result that only the reading of it matters of."""


def test_what_is_full_is_never_worked_out_again() -> None:
    """It cannot change, and those of one circle had each other worked out a hundred thousand times for nothing."""
    cells, times = Cells(most=3), []

    def work_out() -> Values:
        times.append(1)
        return cells.read("a") | cells.recall("key", work_out)

    cells.add("a", values("x", "y", "z"))
    assert cells.recall("key", work_out) == values("x", "y", "z")
    cells.add("b", values("v"))
    assert cells.recall("key", lambda: work_out() | cells.read("b")) == values("x", "y", "z")
    assert len(times) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_recalled_is_what_would_be_worked_out_afresh(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    cells, leaf = Cells(most=1_000, terms=13), 12  # which reads nothing that can change
    of = {term: [*chance.sample(range(term), min(term, 3)), leaf] for term in range(12)}  # what each is made of
    of[leaf] = []
    put: dict[str, Values] = {}

    def work_out(term: int) -> Values:
        own = values("leaf") if term == leaf else cells.read(f"cell {term % 4}")
        return own.union(*(ask(each) for each in of[term]))

    def ask(term: int) -> Values:
        known = cells.known(term)
        return cells.recall(term, lambda: work_out(term)) if known is None else known

    def afresh(term: int) -> Values:
        own = values("leaf") if term == leaf else put.get(f"cell {term % 4}", NOTHING)
        return own.union(*(afresh(each) for each in of[term]))

    for number in range(20):
        key = f"cell {chance.randrange(4)}"
        put[key] = put.get(key, NOTHING) | values(f"n{number}")
        cells.watch(0, lambda: _ignore(ask(11)))
        cells.add(key, values(f"n{number}"))
        assert cells.due() == {0}
        asked = chance.randrange(12)
        assert ask(asked) == afresh(asked)


def test_a_term_that_is_fixed_is_read_by_nobody_in_particular() -> None:
    cells = Cells(terms=2)
    assert cells.fix(1, values("x")) == values("x")
    cells.watch(3, lambda: _ignore(cells.known(1) or NOTHING))
    assert cells.known(1) == values("x")
    assert cells.known(0) is None
    assert cells.due() == set()


def test_what_was_worked_out_from_what_cannot_change_is_read_by_nobody_either() -> None:
    """Most of what a repository says is so: nothing is remembered of who has read it, and it is worked out once."""
    cells, times = Cells(terms=3), []

    def work_out() -> Values:
        times.append(1)
        return values("x").union(cells.known(0) or NOTHING)

    cells.fix(0, values("y"))
    for task in range(9):
        cells.watch(task, lambda: _ignore(cells.recall(1, lambda: cells.recall("key", work_out))))
        cells.add("a", values(f"n{task}"))
        assert cells.due() == set()
    assert cells.known(1) == values("x", "y")
    assert len(times) == 1
    assert len(cells._readers) == 1


def test_sets_that_nothing_holds_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance.codeintel.resolve.cells._FEW", 4)
    cells = Cells()
    for number in range(40):
        cells.add("a", values(f"n{number}"))
        cells.due()
    assert len(cells.read("a")) == 40
    assert len(cells._one) <= 6
