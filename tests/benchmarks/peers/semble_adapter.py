"""semble as the harness for rankings asks: ``--dir ROOT --queries FILE --out FILE``. Run by the peers' own Python.

Its model comes from a hub that a closed network has not: it ranks by words here, with its rules about code.
"""

import argparse
import importlib
import json
import tempfile
import time
from pathlib import Path

import numpy as np


def _no_model(folder: str) -> None:
    """Write a model into *folder* that holds all texts for alike: with it the words alone decide."""
    models = importlib.import_module("tokenizers.models")
    words = models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]")  # noqa: S106 - a word, no secret
    tokenizer = importlib.import_module("tokenizers").Tokenizer(words)
    tokenizer.pre_tokenizer = importlib.import_module("tokenizers.pre_tokenizers").Whitespace()
    vectors = np.ones((2, 8), dtype=np.float32)
    importlib.import_module("model2vec").StaticModel(vectors, tokenizer).save_pretrained(folder)


def main() -> None:
    """Index the folder, search, write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--dir", "--queries", "--out"):
        parser.add_argument(name, required=True)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as model:
        _no_model(model)
        start, before = time.perf_counter(), time.process_time()
        index = importlib.import_module("semble").SembleIndex.from_path(given.dir, model_path=model)
        index_ms, processor_ms = (time.perf_counter() - start) * 1000, (time.process_time() - before) * 1000
        latency, results = [], []
        for query in json.loads(Path(given.queries).read_text()):
            start = time.perf_counter()
            found = [result.chunk for result in index.search(query, top_k=10, alpha=0.0)]
            latency.append((time.perf_counter() - start) * 1000)
            results.append([{"path": c.file_path, "start_line": c.start_line, "end_line": c.end_line} for c in found])
    said = {"index_ms": index_ms, "index_processor_ms": processor_ms, "latency_ms": latency, "results": results}
    Path(given.out).write_text(json.dumps(said))


if __name__ == "__main__":
    main()
