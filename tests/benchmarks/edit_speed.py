"""How soon an edit is seen: one file of ten thousand, and a branch that differs in two hundred.

From the moment at which a commit, or a saved file, is there to the moment at which a search finds what it brought: listing,
parsing, the new generation made durable and published, and its opening by a reader. The best of the peers, a graph over
1,800 files, took 3.96 s for one edited file.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.registry import Repo
from appliance.codeintel.source.base import Changed
from appliance.config import Index
from tests.benchmarks import targets
from tests.benchmarks.corpus import many_files
from tests.benchmarks.report import Figure
from tests.support.indexed import WordEmbedder
from tests.support.indexing import IndexBench, go_on, silent
from tests.support.ranked import best_chunks

_FILES = 10_000
_EDITS = 60
_WARM_UP = 3
_TOUCHED = 200
_EMBEDDED = 1_000  # files of the repository whose vectors are counted
_GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-C")


def run() -> Sequence[Figure]:
    """Index once, then edit again and again."""
    with tempfile.TemporaryDirectory() as scratch:
        bench = IndexBench(Path(scratch) / "data", limits=Index())
        try:
            return [
                *_committed(bench, Path(scratch) / "repository"),
                _embedded_again(bench, Path(scratch) / "embedded"),
                *_saved(bench, Path(scratch) / "folder"),
            ]
        finally:
            bench.close()


def _committed(bench: IndexBench, source: Path) -> list[Figure]:
    repo = _repository(bench, source, files=_FILES)
    before = bench.generation(repo)
    load = f"{len(before.files):,} files, {len(before.chunk_file):,} chunks"

    def edited(number: int) -> str:
        word = _write(source, number)
        _git(source, "commit", "-qam", word)
        return word

    figures = _figures("committed", _timed(bench, repo, edited, hint=None), load)
    _branch(source)
    figures.append(targets.reached("branch-switch", _indexed(bench, repo), load=load))
    _git(source, "checkout", "-q", "main")
    _write(source, 5)
    _git(source, "commit", "-qam", "main")
    figures.append(Figure("switch back, to known files", _indexed(bench, repo), "s", 2.0, load=load))
    return figures


def _embedded_again(bench: IndexBench, source: Path) -> Figure:
    """Embed a smaller repository, then its branch, and count what is embedded once it is where it was."""
    repo = _repository(bench, source, files=_EMBEDDED)
    embedder = WordEmbedder()
    first = bench.fill(repo, embedder)
    _branch(source)
    bench.index(repo)
    changed = bench.fill(repo, embedder)
    _git(source, "checkout", "-q", "main")
    bench.index(repo)
    if not 0 < changed < first:
        raise SystemExit(f"Of {first} chunks the branch changed {changed}.")
    load = f"{first:,} chunks, {changed:,} of them changed by the branch"
    return targets.reached("branch-embedded", bench.fill(repo, embedder), load=load)


def _repository(bench: IndexBench, source: Path, *, files: int) -> Repo:
    """Make *source* a repository of so many files and index it."""
    many_files(source, files)
    _git(source, "init", "-q", "-b", "main")
    _git(source, "add", "-A")
    _git(source, "commit", "-qm", "first")
    repo = bench.add(source)
    bench.index(repo)
    return repo


def _branch(source: Path) -> None:
    _git(source, "checkout", "-q", "-b", "side")
    for number in range(_TOUCHED):
        _write(source, number)
    _git(source, "commit", "-qam", "side")


def _saved(bench: IndexBench, folder: Path) -> list[Figure]:
    many_files(folder, _FILES)
    repo = bench.add(folder)
    bench.index(repo)
    load = f"{len(bench.generation(repo).files):,} files"
    figures = _figures("saved, watched", _timed(bench, repo, lambda n: _write(folder, n), hint=_hint), load)
    return figures + _figures("saved, not watched", _timed(bench, repo, lambda n: _write(folder, n), hint=None), load)


def _timed(
    bench: IndexBench, repo: Repo, edit: Callable[[int], str], *, hint: Callable[[int], Changed] | None
) -> list[tuple[float, float]]:
    """Return seconds, and seconds of this process's processor, from each edit until a search finds it."""
    found = []
    for number in range(_EDITS + _WARM_UP):
        word = edit(number)
        start, processor = time.perf_counter(), time.process_time()
        changed = None if hint is None else hint(number)
        bench.indexer.index(repo.id, progress=silent, check=go_on, hint=changed)
        ids, _ = best_chunks(bench.generation(repo).lexical, query_tokens(word)[-1:], 10)
        found.append((time.perf_counter() - start, time.process_time() - processor))
        if len(ids) != 1:
            raise SystemExit(f"The edit {word!r} is found {len(ids)} times.")
    return found[_WARM_UP:]


def _figures(kind: str, times: Sequence[tuple[float, float]], load: str) -> list[Figure]:
    wall, processor = sorted(each[0] * 1000 for each in times), [each[1] * 1000 for each in times]
    said = f"{load}, {kind}, machine's load {os.getloadavg()[0]:.1f}"
    found = (("edit-p50", statistics.median(wall)), ("edit-p95", wall[int(0.95 * len(wall))]))
    return [
        *(targets.reached(target, value, load=said) for target, value in found),
        Figure(f"one file {kind} -> seen, processor, p50", statistics.median(processor), "ms", load=said),
    ]


def _indexed(bench: IndexBench, repo: Repo) -> float:
    start = time.perf_counter()
    bench.index(repo)
    bench.generation(repo)
    return time.perf_counter() - start


def _hint(number: int) -> Changed:
    return Changed(frozenset({_path(number)}), whole=True)


def _path(number: int) -> str:
    return f"part{number % 100:02d}/unit{number // 100:03d}.py"


def _write(root: Path, number: int) -> str:
    """Add a function to a file and return its name, which nothing else has."""
    word = f"edited{time.time_ns()}x"
    path = root / _path(number)
    path.write_text(path.read_text(encoding="utf-8") + f"\n\ndef {word}(value):\n    return value\n", encoding="utf-8")
    return word


def _git(source: Path, *arguments: str) -> None:
    subprocess.run([*_GIT, str(source), *arguments], check=True)
