from appliance.codeintel.resolve.cells import Cells, Values
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
