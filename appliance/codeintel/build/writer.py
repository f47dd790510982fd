"""The writer: cached facts in, the files of one generation out.

It is a program of its own (``python -m appliance.codeintel.build.writer FOLDER PROJECT_DB RECIPE``) so that the
memory that it needs is given back when it ends, and so that it can be stopped at any point. It says on standard output how
far it is, one JSON line at a time, and ends when its standard input closes: it never outlives the process that asked.
"""

import gc
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.build import running
from appliance.codeintel.build.assembly import Assembly
from appliance.codeintel.build.counts import Counts
from appliance.codeintel.store.latent import train_latent
from appliance.codeintel.store.layers import WHOLE_NAME
from appliance.codeintel.store.lexical import LexicalWriter, chunk_texts
from appliance.codeintel.store.schema import GENERATION, GENERATION_INDEXES
from appliance.errors import StorageFault


def build(folder: Path, *, project_db: Path, recipe: str, tell: Callable[[int, int], None]) -> Counts:
    """Write the generation staged in *folder*, and hold it to its postconditions. *tell* hears of files done and in all."""
    with (
        closing(sqlite3.connect(folder / WHOLE_NAME, isolation_level=None)) as db,
        closing(Assembly(db, folder, project_db=project_db, recipe=recipe, tell=tell)) as assembly,
        store_errors(folder / WHOLE_NAME),
        storage_errors(folder),
    ):
        _write(folder, db, assembly)
        counts = assembly.counts()
        texts = chunk_texts(folder / "lexical")
        train_latent(folder / "latent", texts)
    if len(texts.lengths) != counts.chunks:
        raise StorageFault(f"The lexical index holds {len(texts.lengths)} of {counts.chunks} chunks.", path=str(folder))
    return counts


def _write(folder: Path, db: sqlite3.Connection, assembly: Assembly) -> None:
    """Draw what *assembly* has, and write tables, arrays and the lexical index."""
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
        db.execute(f"PRAGMA {pragma}")
    db.executescript(GENERATION)
    db.execute("BEGIN")
    lexical = LexicalWriter(folder / "lexical")
    for file in assembly.files():
        lexical.add(file)
    db.execute("COMMIT")
    db.executescript(GENERATION_INDEXES)
    for name, values in assembly.arrays.items():
        np.save(folder / f"{name}.npy", np.frombuffer(values, dtype=np.int32), allow_pickle=False)
    lexical.finish()


def main() -> int:
    """Do what the arguments say; return the exit status."""
    folder, project_db, recipe = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    gc.disable()  # it makes millions of small objects, no cycles, and ends soon
    return running.serve(
        folder, lambda tell: running.Said(counts=build(folder, project_db=project_db, recipe=recipe, tell=tell))
    )


if __name__ == "__main__":
    sys.exit(main())
