"""The flows of the blobs of one project: how values move through each, packed, found once."""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.sqlite import Guarded, connect
from appliance.codeintel.facts import Mentions, unpack_facts
from appliance.codeintel.flow import FLOW_VERSION, Flow, unpack_flow
from appliance.codeintel.store.schema import PROJECT
from appliance.errors import StoreCorrupt

_ZLIB_LEVEL: Final = 1
_REMEDY: Final = "It is found anew when the repository is indexed again."
Key = tuple[str, str]
"""A blob, and the language that its path suggests."""


class FlowStore:
    """What is known of the flows of one project's blobs. Safe to use from many threads."""

    def __init__(self, project_db: Path) -> None:
        self._db = Guarded(connect(project_db, migrations=PROJECT))

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def known(self) -> set[Key]:
        """Return the blobs whose flows this version has found."""
        with self._db.read() as conn:
            rows = conn.execute("SELECT blob, hint FROM flows WHERE version = ?", (FLOW_VERSION,))
            return {(row[0], row[1]) for row in rows}

    def put(self, rows: Sequence[tuple[Key, bytes]]) -> None:
        """Keep packed flows; an empty one says that there is none to be had."""
        with self._db.write() as conn:
            conn.executemany(
                "INSERT OR REPLACE INTO flows VALUES (?, ?, ?, ?)",
                [(*key, FLOW_VERSION, zlib.compress(flow, _ZLIB_LEVEL)) for key, flow in rows],
            )

    def flow(self, key: Key) -> Flow | None:
        """Return the flow of a blob, None where there is none to be had.

        Raise `StoreCorrupt` if nobody has looked, or if it is damaged; then it is forgotten, and found anew at the next try.
        """
        with self._db.read() as conn:
            row = conn.execute("SELECT flow FROM flows WHERE blob = ? AND hint = ?", key).fetchone()
        if row is None:
            raise StoreCorrupt("The flow of an indexed file is missing.", remedy=_REMEDY)
        try:
            packed = zlib.decompress(row[0])
            return unpack_flow(packed) if packed else None
        except (zlib.error, msgspec.DecodeError) as exc:
            with self._db.write() as conn:
                conn.execute("DELETE FROM flows WHERE blob = ? AND hint = ?", key)
            raise StoreCorrupt("A cached flow cannot be read.", remedy=_REMEDY) from exc

    def mentions(self, key: Key) -> Mentions | None:
        """Return what a blob mentions, None where its facts are not known; raise `StoreCorrupt` if they are damaged."""
        with self._db.read() as conn:
            row = conn.execute("SELECT facts FROM blobs WHERE blob = ? AND hint = ? AND reason = ''", key).fetchone()
        return None if row is None else unpack_facts(row[0], Mentions)

    def forget(self, *, used: Iterable[Key]) -> None:
        """Forget, and overwrite, the flows of all but the *used* blobs."""
        kept = set(used)
        with self._db.read() as conn:
            conn.execute("PRAGMA secure_delete=ON")
        with self._db.write() as conn:
            rows = conn.execute("SELECT rowid, blob, hint FROM flows").fetchall()
            conn.executemany(
                "DELETE FROM flows WHERE rowid = ?", [(row[0],) for row in rows if (row[1], row[2]) not in kept]
            )
