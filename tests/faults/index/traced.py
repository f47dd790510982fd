"""Indexes the one repository of a data directory and gives it its vectors: ``python -m tests.faults.index.traced DATA``.

Then it changes a file of the repository, and does both again: that makes a patch.
"""

import sys
from pathlib import Path

from tests.support.embedders import FakeEmbedder
from tests.support.indexing import IndexBench
from tests.support.repos import commit


def main() -> None:
    bench = IndexBench(Path(sys.argv[1]))
    (repo,) = bench.registry.repos()
    bench.index(repo)
    bench.fill(repo, FakeEmbedder())
    commit(Path(str(repo.source)), {"m3.py": "def changed(): pass\n", "m4.py": None})
    bench.index(repo)
    bench.fill(repo, FakeEmbedder())
    bench.close()


if __name__ == "__main__":
    main()
