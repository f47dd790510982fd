"""What a benchmark says: a figure beside the limit that it is held to, from one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. *better* says which side of *limit* is good; without a limit it only informs.

    *target* is the line of the table of targets that it answers, and *peer* whose figure it is, if not this project's.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    better: Literal["lower", "higher"] = "lower"
    load: str = ""
    target: str = ""
    peer: str = ""

    @property
    def held(self) -> bool | None:
        """Whether the limit holds, or None where there is none."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.better == "lower" else self.value >= self.limit

    @property
    def said(self) -> str:
        """The value with its unit."""
        return f"{self.value:,.4g} {self.unit}".rstrip()


Benchmark = Callable[[], Sequence[Figure]]


def show(figures: Sequence[Figure]) -> None:
    """Print *figures* as a table."""
    table = Table("figure", "value", "limit", "held", "load")
    for figure in figures:
        sign = "≤" if figure.better == "lower" else "≥"
        limit = "" if figure.limit is None else f"{sign} {figure.limit:,.4g} {figure.unit}"
        held = {True: "yes", False: "NO", None: ""}[figure.held]
        table.add_row(figure.name, figure.said, limit, held, figure.load)
    Console(width=140).print(table)


def show_targets(lines: Sequence[Sequence[str]]) -> None:
    """Print the table of targets."""
    table = Table("target", "limit", "this project", "best peer", "load", "held", title="Targets", show_lines=True)
    for line in lines:
        table.add_row(*line)
    Console(width=180).print(table)
