"""The tables of one generation: those of one that was built whole, and where it is a patch, what that puts over them."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from appliance.base.sqlite import connect_immutable, store_errors
from appliance.errors import StoreCorrupt

WHOLE_NAME: Final = "generation.db"
PATCH_NAME: Final = "patch.db"

_FILES: Final = "id, path, blob, hint, language, encoding, flags, lines, first_chunk, first_symbol, torn, problem"
_SYMBOLS: Final = "id, file, name, folded, qualname, kind, start_line, end_line, signature, doc, parent"
_LEFT_OUT: Final = "id, path, reason, detail, beside"
_ONE_LAYER: Final = """
CREATE TEMP VIEW every_file AS SELECT * FROM main.files;
CREATE TEMP VIEW dead AS SELECT 0 AS file, 0 AS patch WHERE 0;
"""


_TABLES: Final = (  # of both layers: columns, and which rows are there
    ("files", _FILES, "id NOT IN (SELECT file FROM patch.dead)"),
    ("symbols", _SYMBOLS, "file NOT IN (SELECT file FROM patch.dead)"),
    ("secrets", "file, line, kind", "file NOT IN (SELECT file FROM patch.dead)"),
    ("left_out", _LEFT_OUT, "id NOT IN (SELECT id FROM patch.dead_left_out)"),
)


def _views() -> Iterator[str]:
    """Yield what makes one of two layers."""
    for table, columns, alive in _TABLES:
        one, other = (f"SELECT {columns} FROM {layer}.{table} WHERE {alive}" for layer in ("main", "patch"))  # noqa: S608
        yield f"CREATE TEMP VIEW {table} AS {one} UNION ALL {other}"
    one, other = (f"SELECT {_FILES} FROM {layer}.files" for layer in ("main", "patch"))  # noqa: S608 - literals
    yield f"CREATE TEMP VIEW every_file AS {one} UNION ALL {other}"
    yield "CREATE TEMP VIEW dead AS SELECT file, patch FROM patch.dead"


def is_patched(folder: Path) -> bool:
    """Return whether the generation in *folder* is a patch over another one."""
    return (folder / PATCH_NAME).is_file()


def open_tables(folder: Path) -> sqlite3.Connection:
    """Open the tables of the generation in *folder* for reading; raise `StoreCorrupt`.

    ``files``, ``symbols``, ``secrets`` and ``left_out`` hold what the generation holds, whatever layer it stands in;
    ``every_file`` the dead files too, and ``dead`` says which those are. Join no table to another on the right of a LEFT
    JOIN: SQLite would put all of it together first, where a scalar subquery is looked up.
    """
    conn = connect_immutable(folder / WHOLE_NAME)
    try:
        with store_errors(folder / PATCH_NAME):
            conn.execute("PRAGMA temp_store=MEMORY")
            if not is_patched(folder):
                conn.executescript(_ONE_LAYER)
                return conn
            conn.execute("ATTACH ? AS patch", (f"{(folder / PATCH_NAME).absolute().as_uri()}?mode=ro&immutable=1",))
            for view in _views():
                conn.execute(view)
            conn.execute("SELECT count(*) FROM dead").fetchone()
    except sqlite3.OperationalError as exc:
        conn.close()
        raise StoreCorrupt(f"The patch in {folder} cannot be opened: {exc}.", path=str(folder)) from exc
    except BaseException:
        conn.close()
        raise
    return conn
