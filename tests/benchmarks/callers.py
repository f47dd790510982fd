"""Who calls `Console.get_style` in rich 13.9.4: a question that graphs of names answer badly, for its name is passed about.

rich is installed among the peers. The truth was read from its source: 21 functions call it on a console, four more by a
name of their own (`get_style = console.get_style`). The target counts the 21; the others are no mistakes.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks import peers, targets
from tests.benchmarks.report import Figure
from tests.support.indexed import Indexed

_DEFINED_IN: Final = "rich/console.py"
_DIRECT: Final = frozenset(
    {
        "align.py Align.__rich_console__",
        "align.py VerticalCenter.__rich_console__",
        "console.py Console._collect_renderables",
        "console.py Console.get_style",
        "console.py Console.print",
        "emoji.py Emoji.__rich_console__",
        "live_render.py LiveRender.__rich_console__",
        "markdown.py HorizontalRule.__rich_console__",
        "markdown.py ListItem.render_bullet",
        "markdown.py ListItem.render_number",
        "markdown.py Markdown.__rich_console__",
        "markdown.py MarkdownContext.enter_style",
        "padding.py Padding.__rich_console__",
        "panel.py Panel.__rich_console__",
        "panel.py Panel.__rich_console__.align_text",
        "progress_bar.py ProgressBar.__rich_console__",
        "progress_bar.py ProgressBar._render_pulse",
        "screen.py Screen.__rich_console__",
        "styled.py Styled.__rich_console__",
        "table.py Table._render",
        "table.py Table.get_row_style",
    }
)
_RENAMED: Final = frozenset(
    {
        "table.py Table._get_cells",
        "text.py Text.get_style_at_offset",
        "text.py Text.render",
        "tree.py Tree.__rich_console__",
    }
)


def run() -> Sequence[Figure]:
    """Ask this project's graph, and jedi, which looks the references up when it is asked."""
    with tempfile.TemporaryDirectory() as folder:
        source, data = Path(folder) / "source", Path(folder) / "data"
        data.mkdir()
        shutil.copytree(peers.installed("rich"), source / "rich", ignore=shutil.ignore_patterns("__pycache__"))
        start = time.perf_counter()
        theirs = _by_jedi(source, Path(folder) / "jedi.json")
        seconds = time.perf_counter() - start
        ours = _by_graph(source, data)
    found, precision = _scores(ours)
    jedi, jedi_precision = _scores(theirs)
    load = f"{len(ours)} callers told, among them {len(ours & _RENAMED)} of {len(_RENAMED)} by another name"
    return [
        targets.reached("get-style-found", found, load=load),
        targets.reached("get-style-precision", precision, load=load),
        targets.peer("get-style-found", peers.JEDI, jedi, load=f"{seconds:.1f} s for this question"),
        targets.peer("get-style-precision", peers.JEDI, jedi_precision),
    ]


def _scores(told: Collection[str]) -> tuple[int, float]:
    right = _DIRECT | _RENAMED
    return len(_DIRECT.intersection(told)), len(right.intersection(told)) / max(1, len(told))


def _by_graph(source: Path, data: Path) -> set[str]:
    indexed = Indexed(data)
    try:
        repo = indexed.add(source)
        indexed.graph(repo)
        generation = indexed.generations.published(repo.id)
        graph, symbols = generation.graph, generation.symbols
        if graph is None:
            raise RuntimeError("there is no graph")
        asked = [row.id for row in symbols.in_file(_DEFINED_IN) if row.qualname == "Console.get_style"]
        callers = symbols.rows({edge.source for edge in graph.callers(asked)})
        return {f"{row.path.removeprefix('rich/')} {row.qualname}" for row in callers}
    finally:
        indexed.close()


def _by_jedi(source: Path, out: Path) -> set[str]:
    argv = [str(peers.python()), str(peers.adapter("jedi")), "--package", str(source), "--file", _DEFINED_IN]
    subprocess.run([*argv, "--name", "get_style", "--out", str(out)], check=True)
    return {f"{path.removeprefix('rich/')} {name}" for path, name in json.loads(out.read_text(encoding="utf-8"))}
