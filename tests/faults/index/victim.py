"""A process that indexes one repo and may be killed: ``python -m tests.faults.index.victim DATA REPO [PHASE DONE]``.

With PHASE and DONE it kills itself, as ``kill -9`` would, once progress in that phase has come so far.
"""

import os
import signal
import sys
from pathlib import Path

from tests.support.indexing import IndexBench, go_on


def main() -> None:
    data, repo = Path(sys.argv[1]), sys.argv[2]
    die_in, die_at = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else ("", 0)

    def progress(phase: str, done: int, _total: int | None) -> None:
        sys.stdout.write(f"{phase} {done}\n")
        sys.stdout.flush()
        if phase == die_in and done >= die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    bench = IndexBench(data)
    bench.indexer.index(bench.registry.repo(repo).id, progress=progress, check=go_on)
    bench.close()


if __name__ == "__main__":
    main()
