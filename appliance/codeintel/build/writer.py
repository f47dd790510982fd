"""The writer: cached facts in, the files of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.writer FOLDER PROJECT_DB RECIPE PROCESSES``) so that the
memory that it needs is given back when it ends, and so that it can be stopped at any point. It says on standard output how
far it is, one JSON line at a time, and ends when its standard input closes: it never outlives the process that asked.
"""

import gc
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.build import running
from appliance.codeintel.build.assembly import Assembly
from appliance.codeintel.build.counts import Counts
from appliance.codeintel.build.training import Training
from appliance.codeintel.store.layers import WHOLE_NAME
from appliance.codeintel.store.lexical import LexicalDoc, LexicalIndex, build_lexical
from appliance.codeintel.store.schema import GENERATION, GENERATION_INDEXES
from appliance.errors import StorageFault


def build(folder: Path, *, project_db: Path, recipe: str, tell: Callable[[int, int], None], processes: int = 1) -> Counts:
    """Write the generation staged in *folder*, and hold it to its postconditions. *tell* hears of files done and in all."""
    with (
        closing(sqlite3.connect(folder / WHOLE_NAME, isolation_level=None)) as db,
        closing(Assembly(db, folder, project_db=project_db, recipe=recipe, tell=tell)) as assembly,
        closing(Training(folder, processes=processes)) as training,
    ):
        build_lexical(folder / "lexical", _documents(folder, db, assembly, training), check=_go_on)
        training.finish()
        counts = assembly.counts()
    documents = LexicalIndex.open(folder / "lexical").count
    if documents != counts.chunks:
        raise StorageFault(f"The lexical index holds {documents} of {counts.chunks} chunks.", path=str(folder))
    return counts


def _documents(folder: Path, db: sqlite3.Connection, assembly: Assembly, training: Training) -> Iterator[LexicalDoc]:
    """Yield what *assembly* does; once all is drawn, tables, arrays and what *training* trains on are complete."""
    with store_errors(folder / WHOLE_NAME), storage_errors(folder):
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(GENERATION)
        db.execute("BEGIN")
        for document in assembly.documents():
            training.add(document.tokens)
            yield document
        db.execute("COMMIT")
        db.executescript(GENERATION_INDEXES)
        for name, values in assembly.arrays.items():
            np.save(folder / f"{name}.npy", np.frombuffer(values, dtype=np.int32), allow_pickle=False)


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, recipe, processes = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    gc.disable()  # it makes millions of small objects, no cycles, and ends soon
    return running.serve(
        folder,
        lambda tell: running.Said(
            counts=build(folder, project_db=project_db, recipe=recipe, tell=tell, processes=processes)
        ),
    )


def _go_on() -> None:
    """Do nothing: this process is not asked to stop, it is ended."""


if __name__ == "__main__":
    sys.exit(main())
