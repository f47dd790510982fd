"""How fast a warm search is: ranked, on an index of 50,000 chunks, and for text and expressions on Python's own library."""

import asyncio
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from appliance.codeintel.results import SearchResponse
from appliance.config import Index
from tests.benchmarks import targets
from tests.benchmarks.corpus import library
from tests.benchmarks.report import Figure
from tests.benchmarks.retrieval import InProcess, embedder
from tests.support.indexed import Indexed
from tests.support.models import store_root
from tests.support.repos import make_repo

_FILES = 5_000
_FUNCTIONS = 10  # a file; each is a chunk of its own
_WORDS = 20_000
_QUERIES = 200
_SEED = 11
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{4,30}")


class _Random:
    """Vectors of the default model's length that mean nothing; the time to search them is the same.

    With the real *engine* a text is embedded besides, so that a query costs what it does in the product.
    """

    model = "random"
    dimensions = 384

    def __init__(self, engine: InProcess | None = None) -> None:
        self._draw = np.random.default_rng(_SEED)
        self._engine = engine

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector a text."""
        if self._engine is not None:
            await self._engine.embed(texts)
        vectors = self._draw.standard_normal((len(texts), self.dimensions)).astype(np.float32)
        unit: npt.NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


class _Words:
    """Names as frequent as in code: a few everywhere, most of them rare."""

    def __init__(self) -> None:
        self.draw = random.Random(_SEED)  # noqa: S311 - a corpus, not a secret
        letters = "bcdfghjklmnprstvwz"
        self._all = [
            "".join(self.draw.choice(letters) + self.draw.choice("aeiou") for _ in range(self.draw.randint(2, 4)))
            for _ in range(_WORDS)
        ]

    def word(self) -> str:
        return self._all[min(_WORDS - 1, int(self.draw.paretovariate(0.7)) - 1)]

    def name(self) -> str:
        return f"{self.word()}_{self.word()}"

    def function(self) -> str:
        body = [f"    {self.name()} = self.{self.name()}({self.word()}, {self.name()})" for _ in range(14)]
        doc = " ".join(self.word() for _ in range(12))
        return "\n".join([f"def {self.name()}({self.word()}, {self.word()}):", f'    """{doc}."""', *body, ""])

    def file(self) -> str:
        return "\n\n".join(self.function() for _ in range(_FUNCTIONS))


def run() -> Sequence[Figure]:
    """Return the figures of ranked searches, then those of text."""
    return [*ranked(), *exact()]


def exact() -> Sequence[Figure]:
    """Look in the standard library for its own names, pieces of its lines, and expressions made of them: 20 lines a page.

    Names are drawn from all that there are, each as likely as the other, as people look for what is rare.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        indexed = Indexed(Path(folder) / "data", limits=Index())
        try:
            source = library(Path(folder) / "library")
            repo = indexed.add(source)
            info = indexed.generations.published(repo.id).info
            queries = patterns(source, indexed.generations.published(repo.id).files.paths)
            seconds, responses = asyncio.run(_timed(indexed, None, queries))
        finally:
            indexed.close()
    seconds.sort()
    lines = statistics.median(response.total for response in responses)
    load = f"{info.lines:,} lines, {_QUERIES} patterns, {lines:.0f} lines a pattern in the median, in this process"
    return [
        Figure("text and expressions, p50", statistics.median(seconds) * 1000, "ms", load=load),
        targets.reached("text-p95", seconds[int(len(seconds) * 0.95)] * 1000, load=load),
    ]


def patterns(source: Path, paths: Sequence[str]) -> list[str]:
    """Return queries for text and expressions, made of names and lines of some of the files at *paths* below *source*."""
    draw = random.Random(_SEED)  # noqa: S311 - a corpus, not a secret
    lines = [
        line
        for path in draw.sample(paths, 400)
        for line in (source / path).read_text("utf-8", "replace").splitlines()
        if 8 < len(line) < 200
    ]
    names = sorted({name for line in lines for name in _IDENTIFIER.findall(line)})
    forms = ("content:{0}", "content:{0} case:no", r"/\b{0}\b/", r"/{0}\s*\(/", r"/(def|class) \w*{0}/", r"/{0}.*{1}/")
    return [
        _piece(draw, lines) if draw.random() < 0.2 else draw.choice(forms).format(draw.choice(names), draw.choice(names))
        for _ in range(_QUERIES)
    ]


def _piece(draw: random.Random, lines: Sequence[str]) -> str:
    line = draw.choice(lines).strip()
    start = draw.randrange(max(1, len(line) - 10))
    text = line[start : start + draw.randint(8, 24)].replace("\\", "\\\\").replace('"', '\\"')
    return f'content:"{text}"'


def ranked() -> Sequence[Figure]:
    """Index a made-up repository with made-up vectors, then search it with words, names and questions."""
    words = _Words()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").mkdir()
        files = {f"{words.word()}/{words.word()}/{words.name()}_{n}.py": words.file() for n in range(_FILES)}
        indexed = Indexed(Path(folder) / "data")
        try:
            repo = indexed.add(make_repo(Path(folder), files, bare=True), embedder=_Random())
            indexed.graph(repo)
            load = f"{indexed.generations.published(repo.id).info.chunks:,} chunks, {_QUERIES} queries, in this process"
            queries = [_query(words) for _ in range(_QUERIES)]
            plain = asyncio.run(_timed(indexed, None, queries))
            return [*_ranked("words", *plain, load), *_ranked("embedder", *asyncio.run(_embedded(indexed, queries)), load)]
        finally:
            indexed.close()


async def _embedded(indexed: Indexed, queries: Sequence[str]) -> tuple[list[float], list[SearchResponse]]:
    threads = len(os.sched_getaffinity(0))
    async with embedder(store_root(), source=None, threads=threads) as engine:
        return await _timed(indexed, _Random(engine), queries)


def _ranked(kind: str, seconds: list[float], responses: Sequence[SearchResponse], load: str) -> list[Figure]:
    steps = {step: statistics.median(response.timings[step] for response in responses) for step in responses[0].timings}
    return [
        targets.reached(f"query-{kind}-p50", statistics.median(seconds) * 1000, load=load),
        targets.reached(f"query-{kind}-p95", sorted(seconds)[int(len(seconds) * 0.95)] * 1000, load=load),
        *(Figure(f"  of it {step}, median", value, "ms") for step, value in steps.items() if step != "total_ms"),
    ]


def _query(words: _Words) -> str:
    form = words.draw.random()
    if form < 0.3:
        return words.name()
    if form < 0.8:
        return " ".join(words.word() for _ in range(words.draw.randint(2, 5)))
    return "how does the " + " ".join(words.word() for _ in range(words.draw.randint(4, 8)))


async def _timed(
    indexed: Indexed, embedder: _Random | None, queries: Sequence[str]
) -> tuple[list[float], list[SearchResponse]]:
    searcher = indexed.searcher(embedder)
    for query in queries[:20]:
        await searcher.search(query, scope=indexed.scope)
    seconds, responses = [], []
    for query in queries:
        start = time.perf_counter()
        responses.append(await searcher.search(query, scope=indexed.scope))
        seconds.append(time.perf_counter() - start)
    return seconds, responses
