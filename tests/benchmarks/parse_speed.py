"""What the facts of a file cost beside its bare parse, in one process, on Python's own library and the C headers here."""

import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from appliance.codeintel.facts import BlobTask
from appliance.codeintel.parse.blob import facts
from appliance.codeintel.parse.grammars import grammar
from appliance.ids import BlobId
from tests.benchmarks.report import Figure

_SHARE = 0.35
_ROUNDS = 3
_BYTES = 4_000_000


def run() -> Sequence[Figure]:
    """Compare processor times, the best of three rounds each: facts include symbols, references, chunks and tokens."""
    library = Path(sysconfig.get_paths()["stdlib"])
    figures: list[Figure] = []
    for language, paths in (("python", library.glob("*.py")), ("c", Path("/usr/include").glob("*.h"))):
        tasks = list(_tasks(sorted(paths)))
        if tasks:
            figures += _measured(language, tasks)
    return figures


def _tasks(paths: Sequence[Path]) -> Iterator[BlobTask]:
    size = 0
    for path in paths:
        content = path.read_bytes()
        size += len(content)
        if size > _BYTES:
            return
        yield BlobTask(BlobId("0" * 40), str(path), content)


def _measured(language: str, tasks: Sequence[BlobTask]) -> list[Figure]:
    parser = grammar(language).parser
    bare = _best(lambda: [parser.parse(task.content) for task in tasks])
    whole = _best(lambda: [facts(task) for task in tasks])
    size = sum(len(task.content) for task in tasks) / 1e6
    load = f"{len(tasks)} files, {size:.1f} MB, processor time"
    return [
        Figure(f"bare parse, {language}", size / bare, "MB/s", load=load),
        Figure(f"facts, {language}", size / whole, "MB/s", load=load),
        Figure(f"facts beside bare parse, {language}", bare / whole, "", limit=_SHARE, better="higher", load=load),
    ]


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)
