"""The writer: cached facts in, the files of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.writer FOLDER PROJECT_DB RECIPE``) so that the memory that
it needs is given back when it ends, and so that it can be stopped at any point. It says on standard output how far it is,
one JSON line at a time, and ends when its standard input closes: it never outlives the process that asked.
"""

import gc
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from appliance.codeintel.build import running
from appliance.codeintel.build.assembly import Assembly, Counts
from appliance.codeintel.build.training import Training
from appliance.codeintel.store.lexical import LexicalIndex, build_lexical
from appliance.errors import StorageFault


def build(folder: Path, *, project_db: Path, recipe: str, tell: Callable[[int, int], None]) -> Counts:
    """Write the generation staged in *folder*, and hold it to its postconditions. *tell* hears of files done and in all."""
    with Assembly(folder, project_db=project_db, recipe=recipe, tell=tell) as assembly:
        with closing(Training(folder)) as training:
            build_lexical(folder / "lexical", training.after(assembly.documents()), check=_go_on)
            training.finish()
        counts = assembly.counts()
    documents = LexicalIndex.open(folder / "lexical").count
    if documents != counts.chunks:
        raise StorageFault(f"The lexical index holds {documents} of {counts.chunks} chunks.", path=str(folder))
    return counts


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, recipe = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    gc.disable()  # it makes millions of small objects, no cycles, and ends soon
    return running.serve(
        folder, lambda tell: running.Said(counts=build(folder, project_db=project_db, recipe=recipe, tell=tell))
    )


def _go_on() -> None:
    """Do nothing: this process is not asked to stop, it is ended."""


if __name__ == "__main__":
    sys.exit(main())
