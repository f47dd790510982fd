"""``project.db``: the facts of every blob seen, and which generation of each branch of each repo is the published one.

The branch "" is a repo's own: the one that readers get who name none.
"""

import shutil
import sqlite3
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import msgspec

from appliance.base.durable import make_directory, sync_filesystem, sync_own
from appliance.base.paths import ProjectPaths
from appliance.base.sqlite import Guarded, connect
from appliance.codeintel.store.generation import GenerationInfo
from appliance.codeintel.store.graph import GraphInfo
from appliance.codeintel.store.schema import PROJECT
from appliance.errors import StoreCorrupt
from appliance.ids import BlobId, GenerationId, RepoId

MOST_TRIES: Final = 3  # for a file whose parser died or took too long
_WORTH_A_TRY: Final = "FROM unsure WHERE tries < ? OR limits <> ?"


@dataclass(frozen=True, slots=True)
class BlobRow:
    """What is known of one blob: its facts, or the *reason* why it is left out.

    ``hint`` is the language that the path alone suggests: the same bytes are parsed once for each. ``unsure``: under these
    limits its syntax could not be used, which may not have been the file's fault.
    """

    blob: BlobId
    hint: str
    facts: bytes = b""
    reason: str = ""
    detail: str = ""
    unsure: str = ""


_PUBLISHED: Final = (
    "SELECT p.branch, g.id, g.folder, coalesce(m.serial, 0) serial, coalesce(r.info, x'') graph FROM published p"
    " JOIN generations g ON g.id = p.generation LEFT JOIN matrices m ON m.folder = g.folder"
    " LEFT JOIN graphs r ON r.folder = g.folder"
)
_INFO = msgspec.msgpack.Decoder(GenerationInfo)
_GRAPH_INFO = msgspec.msgpack.Decoder(GraphInfo)


@dataclass(frozen=True, slots=True)
class Published:
    """Which generation readers should use now; cheap to ask, so that readers can ask before every query."""

    generation: GenerationId
    folder: str
    matrix: int  # serial of its vector matrix; 0: none yet
    graph: bytes  # what its graph holds, packed; b"": none yet


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """The published vector matrix of one generation's folder."""

    serial: int
    model: str
    embedded: int
    skipped: int
    failed: int


class CodeStore:
    """One project's database and generations folder. Safe to use from many threads."""

    def __init__(self, paths: ProjectPaths) -> None:
        make_directory(paths.generations)
        self.paths = paths
        self._db = Guarded(connect(paths.db, migrations=PROJECT))

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def put(self, rows: Sequence[BlobRow], *, recipe: str) -> None:
        """Keep what was found in blobs, as made by *recipe*. On return it survives a power cut."""
        with self._db.write() as conn:
            conn.execute("INSERT OR IGNORE INTO recipes VALUES (?)", (recipe,))
            conn.executemany(
                "INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?, ?)",
                [(recipe, row.blob, row.hint, row.reason, row.detail, row.facts) for row in rows],
            )
            conn.executemany(
                "DELETE FROM unsure WHERE blob = ? AND hint = ?", [(row.blob, row.hint) for row in rows if not row.unsure]
            )
            conn.executemany(
                "INSERT INTO unsure VALUES (?, ?, ?, 1) ON CONFLICT DO UPDATE SET limits = excluded.limits,"
                " tries = CASE limits WHEN excluded.limits THEN tries + 1 ELSE 1 END",
                [(row.blob, row.hint, row.unsure) for row in rows if row.unsure],
            )

    def unsure(self, *, limits: str) -> set[tuple[str, str]]:
        """Return blob and hint of whatever is worth another try under *limits*: `MOST_TRIES` under the same ones in all."""
        with self._db.read() as conn:
            return {(row[0], row[1]) for row in conn.execute(f"SELECT blob, hint {_WORTH_A_TRY}", (MOST_TRIES, limits))}

    def try_again(self, *, limits: str) -> None:
        """Forget the facts of all that is worth another try under *limits*."""
        with self._db.write() as conn:
            conn.execute(
                f"DELETE FROM blobs WHERE (blob, hint) IN (SELECT blob, hint {_WORTH_A_TRY})",  # noqa: S608 - a literal
                (MOST_TRIES, limits),
            )

    def forget_facts(self, *, used: AbstractSet[tuple[str, str]], everything: bool) -> int:
        """Forget, and overwrite, the facts of all but the *used* pairs of blob and hint; return of how many.

        That a blob is left out, and why, is kept as well unless *everything* goes: it says nothing of what stands in it.
        """
        with self._db.read() as conn:
            conn.execute("PRAGMA secure_delete=ON")
        with self._db.write() as conn:
            rows = conn.execute("SELECT rowid, blob, hint FROM blobs WHERE reason = '' OR ?", (everything,)).fetchall()
            gone = [(row[0],) for row in rows if everything or (row[1], row[2]) not in used]
            conn.executemany("DELETE FROM blobs WHERE rowid = ?", gone)
            conn.execute("DELETE FROM unsure WHERE (blob, hint) NOT IN (SELECT blob, hint FROM blobs)")
        return len(gone)

    def forget_other_policies(self, policy: str) -> bool:
        """Forget, and overwrite, what was found in blobs under another *policy* of secrets; return whether anything was."""
        with self._db.read() as conn:
            if conn.execute("SELECT 1 FROM recipes WHERE instr(recipe, ?) = 0", (policy,)).fetchone() is None:
                return False
            conn.execute("PRAGMA secure_delete=ON")
        with self._db.write() as conn:
            for table in ("blobs", "recipes"):
                conn.execute(f"DELETE FROM {table} WHERE instr(recipe, ?) = 0", (policy,))  # noqa: S608 - one of two
            conn.execute("DELETE FROM flows")
            conn.execute("DELETE FROM unsure")
        return True

    def shrink(self) -> None:
        """Give the space of what was forgotten back to the disk, once it is more than what is left, and empty the log."""
        with self._db.read() as conn:
            free, pages = (conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
            if 2 * free > pages:
                conn.execute("VACUUM")
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def generations(self) -> list[tuple[str, GenerationInfo]]:
        """Return the folder of every generation, and what it holds."""
        with self._db.read() as conn:
            return [(row[0], _info(row[1])) for row in conn.execute("SELECT folder, info FROM generations")]

    def published(self, repo: RepoId, branch: str = "") -> Published | None:
        """Return what readers of *branch* of *repo* should read now, or None when nothing was ever published."""
        with self._db.read() as conn:
            row = conn.execute(f"{_PUBLISHED} WHERE p.repo = ? AND p.branch = ?", (repo, branch)).fetchone()
        return None if row is None else _published(row)

    def branches(self, repo: RepoId) -> dict[str, Published]:
        """Return what readers of each branch of *repo* should read now, its own first."""
        with self._db.read() as conn:
            rows = conn.execute(f"{_PUBLISHED} WHERE p.repo = ? ORDER BY p.branch", (repo,)).fetchall()
        return {row["branch"]: _published(row) for row in rows}

    def keep_branches(self, repo: RepoId, branches: Collection[str]) -> None:
        """Let readers of *repo* have only its own branch and *branches*."""
        with self._db.write() as conn:
            held = [row[0] for row in conn.execute("SELECT branch FROM published WHERE repo = ? AND branch <> ''", (repo,))]
            gone = [(repo, branch) for branch in held if branch not in branches]
            conn.executemany("DELETE FROM published WHERE repo = ? AND branch = ?", gone)

    def info(self, generation: GenerationId) -> GenerationInfo:
        """Return what *generation* holds, with the vectors that it has by now; raise `StoreCorrupt` if it is gone."""
        with self._db.read() as conn:
            row = conn.execute("SELECT info, folder FROM generations WHERE id = ?", (generation,)).fetchone()
            if row is None:
                raise StoreCorrupt(f"The generation {generation} is gone.", remedy="Index the repository again.")
            matrix = self._matrix(conn, row["folder"])
        info = _info(row["info"])
        if matrix is None:
            return info
        return msgspec.structs.replace(
            info, vectors=matrix.embedded, vectors_skipped=matrix.skipped, vectors_failed=matrix.failed
        )

    def same_tree(self, tree: str, *, repo: RepoId, recipe: str) -> tuple[str, GenerationInfo] | None:
        """Return the folder and info of *repo*'s newest generation of exactly this *tree*, made by *recipe*; or None.

        Another repo's is not the same: objects that one of them lacks, or forged, are its own affair.
        """
        with self._db.read() as conn:
            row = conn.execute(
                "SELECT folder, info FROM generations WHERE tree = ? AND repo = ? AND recipe = ? ORDER BY rowid DESC",
                (tree, repo, recipe),
            ).fetchone()
        if row is None or not (self.paths.generations / row["folder"]).is_dir():
            return None
        return row["folder"], _info(row["info"])

    def publish(self, info: GenerationInfo, *, folder: str, recipe: str, adopt: bool = False, branch: str = "") -> bool:
        """Make *info*, whose files stand in *folder*, the generation that readers of *branch* of its repo read.

        On return it survives a power cut; until then readers get the former one. With *adopt* the folder must belong to a
        generation that exists at that moment; False says that it does not any more, and nothing was changed.
        """
        if not adopt:
            sync_filesystem(self.paths.generations)
        row = (info.id, info.repo, folder, info.tree, recipe, info.created_at, msgspec.msgpack.encode(info))
        with self._db.write() as conn:
            if adopt and not conn.execute("SELECT 1 FROM generations WHERE folder = ?", (folder,)).fetchone():
                return False
            conn.execute("INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            conn.execute("INSERT OR REPLACE INTO published VALUES (?, ?, ?)", (info.repo, branch, info.id))
        return True

    def publish_patch(
        self,
        info: GenerationInfo,
        *,
        folder: str,
        recipe: str,
        branch: str,
        matrix: MatrixRow | None,
        graph: GraphInfo | None,
    ) -> None:
        """Do as `publish` does for a patch in *folder*, which has the vectors and the graph of what it was laid over.

        What it shares with that is on the disk already: only what is its own is synced.
        """
        sync_own(self.paths.generations / folder)
        row = (info.id, info.repo, folder, info.tree, recipe, info.created_at, msgspec.msgpack.encode(info))
        with self._db.write() as conn:
            conn.execute("INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            if matrix is not None:
                _put_matrix(conn, folder, matrix)
            if graph is not None:
                _put_graph(conn, folder, graph)
            conn.execute("INSERT OR REPLACE INTO published VALUES (?, ?, ?)", (info.repo, branch, info.id))

    def recipe(self, folder: str) -> str:
        """Return how the newest generation in *folder* was made, "" if there is none."""
        with self._db.read() as conn:
            row = conn.execute("SELECT recipe FROM generations WHERE folder = ? ORDER BY rowid DESC", (folder,)).fetchone()
        return "" if row is None else str(row[0])

    def retire(self, *, live: Collection[RepoId], policy: str = "", keep: int = 2) -> None:
        """Forget all but the newest *keep* generations of each *live* repo, and every one of the others.

        Of those that were made under another *policy* of secrets none is kept for being new. The published generations of a
        live repo are never forgotten.
        """
        with self._db.write() as conn:
            known = [RepoId(row[0]) for row in conn.execute("SELECT DISTINCT repo FROM generations")]
            for repo in known:
                if repo not in live:
                    conn.execute("DELETE FROM published WHERE repo = ?", (repo,))
                conn.execute(
                    "DELETE FROM generations WHERE repo = ?1 AND id NOT IN (SELECT generation FROM published) AND id NOT IN"
                    " (SELECT id FROM generations WHERE repo = ?1 AND (?3 = '' OR instr(recipe, ?3) > 0)"
                    " ORDER BY rowid DESC LIMIT ?2)",
                    (repo, keep if repo in live else 0, policy),
                )
            for table in ("matrices", "graphs"):
                conn.execute(f"DELETE FROM {table} WHERE folder NOT IN (SELECT folder FROM generations)")  # noqa: S608

    def sweep(self) -> int:
        """Remove every folder that no generation owns, as dead attempts leave them, and return how many there were.

        Call it only while no attempt is under way. A reader that still has such a folder open keeps reading: its files
        are mapped.
        """
        with self._db.read() as conn:
            owned = {row[0] for row in conn.execute("SELECT folder FROM generations")}
        dead = [path for path in self.paths.generations.iterdir() if path.is_dir() and path.name not in owned]
        for path in dead:
            shutil.rmtree(path, ignore_errors=True)
        return len(dead)

    def matrix(self, folder: str) -> MatrixRow | None:
        """Return the published vector matrix of the generation in *folder*, or None when it has none yet."""
        with self._db.read() as conn:
            return self._matrix(conn, folder)

    def publish_matrix(self, folder: str, row: MatrixRow) -> bool:
        """Let readers of *folder* use matrix ``row.serial``, which is on the disk; False if no generation owns it now."""
        with self._db.write() as conn:
            if not conn.execute("SELECT 1 FROM generations WHERE folder = ?", (folder,)).fetchone():
                return False
            _put_matrix(conn, folder, row)
        return True

    def graph(self, folder: str) -> GraphInfo | None:
        """Return what the graph of the generation in *folder* holds, or None when it has none yet."""
        with self._db.read() as conn:
            row = conn.execute("SELECT info FROM graphs WHERE folder = ?", (folder,)).fetchone()
        return None if row is None else _GRAPH_INFO.decode(row[0])

    def publish_graph(self, folder: str, info: GraphInfo) -> bool:
        """Let readers of *folder* use its graph, which is on the disk; False if no generation owns the folder now."""
        sync_filesystem(self.paths.generations)
        with self._db.write() as conn:
            if not conn.execute("SELECT 1 FROM generations WHERE folder = ?", (folder,)).fetchone():
                return False
            _put_graph(conn, folder, info)
        return True

    def forget_matrix(self, folder: str) -> None:
        """Let readers of *folder* do without vectors."""
        with self._db.write() as conn:
            conn.execute("DELETE FROM matrices WHERE folder = ?", (folder,))

    def vector_version(self, model: str) -> int:
        """Return the version of the vector table of *model* that is known to be on the disk; 0: none."""
        with self._db.read() as conn:
            row = conn.execute("SELECT version FROM vector_tables WHERE model = ?", (model,)).fetchone()
        return 0 if row is None else int(row[0])

    def vector_tables(self) -> dict[str, int]:
        """Return every vector table's name and the version that is known to be on the disk."""
        with self._db.read() as conn:
            return {row[0]: int(row[1]) for row in conn.execute("SELECT model, version FROM vector_tables")}

    def forget_vector_table(self, name: str) -> None:
        """Note that the vector table *name* is no more."""
        with self._db.write() as conn:
            conn.execute("DELETE FROM vector_tables WHERE model = ?", (name,))

    def set_vector_version(self, model: str, version: int) -> None:
        """Note that *version* of the vector table of *model* is on the disk."""
        with self._db.write() as conn:
            conn.execute("INSERT OR REPLACE INTO vector_tables VALUES (?, ?)", (model, version))

    @staticmethod
    def _matrix(conn: sqlite3.Connection, folder: str) -> MatrixRow | None:
        row = conn.execute(
            "SELECT serial, model, embedded, skipped, failed FROM matrices WHERE folder = ?", (folder,)
        ).fetchone()
        return None if row is None else MatrixRow(*row)


def _put_matrix(conn: sqlite3.Connection, folder: str, row: MatrixRow) -> None:
    values = (folder, row.serial, row.model, row.embedded, row.skipped, row.failed)
    conn.execute("INSERT OR REPLACE INTO matrices VALUES (?, ?, ?, ?, ?, ?)", values)


def _put_graph(conn: sqlite3.Connection, folder: str, info: GraphInfo) -> None:
    values = (folder, info.recipe, msgspec.msgpack.encode(info))
    conn.execute("INSERT OR REPLACE INTO graphs VALUES (?, ?, ?)", values)


def _published(row: sqlite3.Row) -> Published:
    return Published(GenerationId(row["id"]), row["folder"], row["serial"], row["graph"])


def _info(packed: bytes) -> GenerationInfo:
    try:
        return _INFO.decode(packed)
    except msgspec.DecodeError as exc:
        raise StoreCorrupt("What a generation holds cannot be read.", remedy="Index the repository again.") from exc
