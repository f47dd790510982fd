"""Claims about the table of targets: nothing in it is left out in silence, and a limit that does not hold is seen."""

from tests.benchmarks import targets
from tests.benchmarks.__main__ import ALL

PUBLIC = {targets.HARNESS: "/harness", targets.CHECKOUTS: "/checkouts"}


def test_each_target_belongs_to_a_benchmark_that_runs() -> None:
    assert {target.benchmark for target in targets.TARGETS.values()} <= set(ALL)


def test_a_target_says_what_must_be_set_for_it() -> None:
    for line in targets.lines([], ran=["public"], given={targets.HARNESS: "/harness"}):
        assert line[2] == f"not measured: set {targets.CHECKOUTS}"
    assert not targets.unmeasured([], ran=["public"], given={})


def test_a_target_that_could_be_measured_and_is_not_is_a_fault() -> None:
    figures = [targets.reached("pycg-recall", 0.99, load=""), targets.peer("pycg-precision", "another", 0.9)]
    missing = targets.unmeasured(figures, ran=["public"], given=PUBLIC)
    assert targets.TARGETS["pycg-precision"].what in missing
    assert targets.TARGETS["pycg-recall"].what not in missing


def test_the_worst_of_several_figures_stands_in_the_table_beside_the_peers() -> None:
    figures = [targets.reached("edit-p50", value, load=f"load {value}") for value in (80.0, 151.0, 140.0)]
    figures.append(targets.peer("edit-p50", "another 1.0", 900.0))
    (line,) = (
        line for line in targets.lines(figures, ran=["edit"], given={}) if line[0] == targets.TARGETS["edit-p50"].what
    )
    assert line[1:] == (
        "≤ 150 ms",
        "151 ms",
        "3,960 ms at 1,800 files (handed down)\n900 ms (another 1.0, this run)",
        "load 151.0",
        "NO",
    )
