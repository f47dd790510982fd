"""Flowcharts in Mermaid's language. Every label is text: none can become an element, a link or a directive."""

from collections.abc import Sequence
from typing import Final, Literal

Form = Literal["box", "round", "diamond", "hexagon", "double", "stop"]

_FORMS: Final[dict[Form, tuple[str, str]]] = {
    "box": ("[", "]"),
    "round": ("(", ")"),
    "diamond": ("{", "}"),
    "hexagon": ("{{", "}}"),
    "double": ("[[", "]]"),
    "stop": ("((", "))"),
}
_LONGEST: Final = 80  # characters of a label


def flowchart(nodes: Sequence[tuple[str, str, Form]], edges: Sequence[tuple[str, str, str]]) -> str:
    """Return the chart of *nodes* (name, label, form) and *edges* (from, to, label), from the top down."""
    numbers = {name: f"n{number}" for number, (name, _, _) in enumerate(nodes)}
    lines = ["flowchart TD"]
    for name, label, form in nodes:
        before, behind = _FORMS[form]
        lines.append(f'    {numbers[name]}{before}"{_escaped(label)}"{behind}')
    for source, target, label in edges:
        arrow = f'-->|"{_escaped(label)}"|' if label else "-->"
        lines.append(f"    {numbers[source]} {arrow} {numbers[target]}")
    return "\n".join([*lines, ""])


def _escaped(label: str) -> str:
    """Return *label* on one line, everything but letters, digits and harmless signs as a numbered entity."""
    line = " ".join(label.split())
    cut = f"{line[: _LONGEST - 1]}…" if len(line) > _LONGEST else line
    return "".join(each if each.isalnum() or each in " .,:_-+=/…" else f"#{ord(each)};" for each in cut)
