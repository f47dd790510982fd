"""What a benchmark says: a figure beside the limit or the peer that it is held to, from one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. *better* says which side of *limit* is good; without a limit it only informs."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    better: Literal["lower", "higher"] = "lower"
    load: str = ""

    @property
    def held(self) -> bool | None:
        """Whether the limit holds, or None where there is none."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.better == "lower" else self.value >= self.limit


Benchmark = Callable[[], Sequence[Figure]]


def show(figures: Sequence[Figure]) -> None:
    """Print *figures* as a table."""
    table = Table("figure", "value", "limit", "held", "load")
    for figure in figures:
        sign = "≤" if figure.better == "lower" else "≥"
        limit = "" if figure.limit is None else f"{sign} {figure.limit:,.4g} {figure.unit}"
        held = {True: "yes", False: "NO", None: ""}[figure.held]
        table.add_row(figure.name, f"{figure.value:,.4g} {figure.unit}", limit, held, figure.load)
    Console(width=140).print(table)
