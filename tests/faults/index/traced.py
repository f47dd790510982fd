"""Indexes the one repository of a data directory and gives it its vectors: ``python -m tests.faults.index.traced DATA``."""

import sys
from pathlib import Path

from tests.support.embedders import FakeEmbedder
from tests.support.indexing import IndexBench


def main() -> None:
    bench = IndexBench(Path(sys.argv[1]))
    (repo,) = bench.registry.repos()
    bench.index(repo)
    bench.fill(repo, FakeEmbedder())
    bench.close()


if __name__ == "__main__":
    main()
