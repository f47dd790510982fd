"""Every table that an index keeps, taken from what stands on the disk, without the numbers that its rows go by."""

import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from functools import partial
from typing import Final, Self

import lancedb
import msgspec
import numpy as np

from appliance.base.sqlite import connect_immutable
from appliance.codeintel.build.growing import states
from appliance.codeintel.facts import BlobFacts, texts, unpack_facts
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.adjacency import CENTRALITY, COLUMNS
from appliance.codeintel.store.generation import GenerationInfo
from appliance.codeintel.store.graph import GRAPH_NAME, GraphInfo
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.matrix import VectorMatrix, VectorState, matrix_folder
from appliance.codeintel.store.trigrams import Need
from tests.support.indexing import IndexBench
from tests.support.tables import tables

Rows = list[tuple[object, ...]]
_OWN: Final = frozenset(
    {"id", "repo", "commit", "created_at", "patches", "worn", "patch", "changed", "solved"}
)  # of each index


class Held:
    """What the published generation of one branch consists of, and what its project keeps of its files."""

    def __init__(self, bench: IndexBench, repo: Repo, branch: str, *, words: Collection[str]) -> None:
        self.words = words
        self.key = (repo.id, branch)
        self.generation = bench.generation(repo, branch)
        self.folder = self.generation.folder
        self._open = ExitStack()
        self.store = self._open.enter_context(closing(bench.store(repo)))
        self.tables = self._open.enter_context(closing(open_tables(self.folder)))
        self.project = self._open.enter_context(closing(sqlite3.connect(self.store.paths.db)))
        self.graph = self._open.enter_context(closing(connect_immutable(self.folder / GRAPH_NAME)))
        self.paths = {number: path for path, number in self.generation.files.by_path.items()}
        self.first = dict(self.tables.execute("SELECT id, first_symbol FROM files").fetchall())
        self._symbols: dict[int, int] = dict(self.tables.execute("SELECT id, file FROM symbols").fetchall())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def used(self) -> set[tuple[str, str]]:
        """The blobs of files, each with the language that its path suggests."""
        files = self.generation.files
        return {(files.blobs[number], files.hints[number]) for number in self.paths}

    def symbol(self, number: int) -> tuple[str, int]:
        """Return a symbol's path and its place in the file; of -1 - f the file itself."""
        if number < 0:
            return self.paths[-1 - number], -1
        file = self._symbols[number]
        return self.paths[file], number - self.first[file]

    def names(self) -> set[str]:
        """Return the name of every table and file that there is, without the numbers in it."""
        found = {f"project.db/{name}" for name in _tables(self.project)}
        for path in self.folder.rglob("*"):
            name = re.sub(r"\d+", "", str(path.relative_to(self.folder)))
            if path.suffix == ".db":
                with closing(connect_immutable(path)) as conn:
                    found |= {f"{name}/{table}" for table in _tables(conn)}
            elif path.is_file():
                found.add(f"{name.partition('/')[0]}/" if name.startswith(("lexical", "latent")) else name)
        return found

    def content(self) -> dict[str, object]:
        """Return all of it."""
        return {read.__name__: read(self) for read in dict.fromkeys(COMPARED.values())}


def _tables(conn: sqlite3.Connection) -> set[str]:
    return {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def files(held: Held) -> Rows:
    """Return the files, each with how many symbols and chunks it has."""
    query = (
        "SELECT path, blob, hint, language, encoding, flags, lines, problem,"
        " (SELECT count(*) FROM symbols s WHERE s.file = f.id), id FROM files f ORDER BY path"
    )
    bounds = held.generation.files.first_chunk
    return [(*row[:-1], int(bounds[row[-1] + 1] - bounds[row[-1]])) for row in held.tables.execute(query)]


def symbols(held: Held) -> Rows:
    """Return the symbols by their place in their file."""
    query = "SELECT id, file, parent, name, folded, qualname, kind, start_line, end_line, signature, doc FROM symbols"
    return sorted(
        (held.symbol(row[0]), row[2] if row[2] < 0 else held.symbol(row[2]), *row[3:])
        for row in map(tuple, held.tables.execute(query))
    )


def left_out(held: Held) -> Rows:
    """Return what is left out."""
    return sorted(map(tuple, held.tables.execute("SELECT path, reason, detail, beside FROM left_out")))


def secrets(held: Held) -> Rows:
    """Return where secrets were found."""
    return sorted((held.paths[row[0]], *row[1:]) for row in held.tables.execute("SELECT file, line, kind FROM secrets"))


def chunks(held: Held) -> dict[str, Rows]:
    """Return the chunks of each file, in their order."""
    generation = held.generation
    return {
        path: [
            (
                int(generation.chunk_file[chunk]) == file,
                int(generation.chunk_start[chunk]),
                int(generation.chunk_end[chunk]),
                held.symbol(int(generation.chunk_symbol_id[chunk])) if generation.chunk_symbol_id[chunk] >= 0 else -1,
                *map(held.symbol, generation.chunk_defines_ids(chunk)),
            )
            for chunk in _chunks(held, file)
        ]
        for file, path in held.paths.items()
    }


def _chunks(held: Held, file: int) -> range:
    return range(*map(int, held.generation.files.first_chunk[file : file + 2]))


def words(held: Held) -> dict[str, object]:
    """Return where each word is found, through the readers that a search has."""
    return tables(held.generation, held.words)


def latent(held: Held) -> Rows:
    """Return the chunks whose row in the latent space is not that of their words; the spaces themselves may differ."""
    space, facts = held.generation.latent, blobs(held)
    wrong: Rows = []
    if space is None:
        return wrong
    rows = np.concatenate((space.matrix * space.scale[:, None], space.added))
    for file, path in held.paths.items():
        key = held.generation.files.blobs[file], held.generation.files.hints[file]
        for place, chunk in enumerate(_chunks(held, file)):
            expected = space.embed(texts(facts[key][-1].texts, facts[key][-1].words)[place].split())
            if not np.allclose(rows[chunk], expected, atol=0.02):
                wrong.append((path, place))
    return wrong


def text(held: Held) -> dict[str, list[str]]:
    """Return the text of each file, and the lines in which each word is found."""
    index, files = held.generation.text, held.generation.files
    paths: dict[int, list[str]] = {}
    found: dict[str, list[str]] = {}
    for file, path in held.paths.items():
        number, lines = int(index.of_file[file]), int(files.lines[file])
        paths.setdefault(number, []).append(path)
        found[path] = index.lines(number, 1, lines) if lines else []
    wanted = np.ones(len(index), dtype=np.bool_)
    for word in held.words:
        blocks = index.search(Need(word.encode()), partial(_lines_with, word.encode()), wanted=wanted)
        hits = [(path, line) for block in blocks for number, line in block for path in paths.get(number, ())]
        found[f"/{word}/"] = [f"{path}:{line}" for path, line in sorted(hits)]
    return found


def _lines_with(word: bytes, block: bytes) -> list[int]:
    starts, place = [], 0
    for line in block.splitlines(keepends=True):
        if word in line:
            starts.append(place)
        place += len(line)
    return starts


def edges(held: Held) -> Rows:
    """Return the edges between symbols and files."""
    rows = held.graph.execute("SELECT target, source, line, kind, how, confidence FROM edges")
    return sorted((held.symbol(row[0]), held.symbol(row[1]), *row[2:]) for row in map(tuple, rows))


def outside(held: Held) -> Rows:
    """Return the edges that lead out of the repository."""
    return sorted((held.symbol(row[0]), *row[1:]) for row in map(tuple, held.graph.execute("SELECT * FROM outside")))


def unresolved(held: Held) -> Rows:
    """Return the calls that could not be told."""
    return sorted((held.symbol(row[0]), *row[1:]) for row in map(tuple, held.graph.execute("SELECT * FROM unresolved")))


def families(held: Held) -> Rows:
    """Return what was counted of each family of languages."""
    return sorted(map(tuple, held.graph.execute("SELECT * FROM families")))


def packed(held: Held) -> tuple[Rows, dict[str, float]]:
    """Return the edges as arrays have them, and how central each file is."""
    data = {row[0]: row[1] for row in held.graph.execute("SELECT name, data FROM packed")}
    assert data.keys() == {*COLUMNS, CENTRALITY}
    columns = [np.frombuffer(data[name], dtype=kind).tolist() for name, kind in COLUMNS.items()]
    rows = sorted((held.symbol(row[0]), held.symbol(row[1]), *row[2:]) for row in zip(*columns, strict=True))
    ranks = np.frombuffer(data[CENTRALITY], dtype=np.float32)
    return rows, {path: round(float(ranks[file]), 3) for file, path in held.paths.items()}


def vectors(held: Held) -> dict[str, Rows]:
    """Return what is known of the vector of each chunk, and the vector where there is one."""
    row = held.store.matrix(held.folder.name)
    assert row is not None
    matrix = VectorMatrix.open(matrix_folder(held.folder, row.serial), model=row.model)
    known = states(held.generation, matrix)
    there = known == VectorState.PRESENT
    return {
        path: [
            (int(known[n]), matrix.rows[n].tobytes() if there[n] else b"", float(matrix.scale[n]) if there[n] else 0.0)
            for n in _chunks(held, file)
        ]
        for file, path in held.paths.items()
    }


def blobs(held: Held) -> dict[tuple[str, str], tuple[str, str, str, BlobFacts]]:
    """Return what was found in the blobs of files."""
    rows = held.project.execute("SELECT blob, hint, recipe, reason, detail, facts FROM blobs").fetchall()
    return {row[:2]: (*row[2:5], unpack_facts(row[5], BlobFacts)) for row in rows if row[:2] in held.used}


def recipes(held: Held) -> set[tuple[object, ...]]:
    """Under what facts are kept."""
    return set(held.project.execute("SELECT recipe FROM recipes"))


def unsure(held: Held) -> set[tuple[object, ...]]:
    """Return which blobs of files are worth another try."""
    return {row for row in held.project.execute("SELECT blob, hint, limits FROM unsure") if row[:2] in held.used}


def flows(held: Held) -> dict[tuple[str, str], tuple[object, ...]]:
    """Return the flows of the blobs of files."""
    rows = held.project.execute("SELECT blob, hint, version, flow FROM flows").fetchall()
    return {row[:2]: (row[2], zlib.decompress(row[3])) for row in rows if row[:2] in held.used}


def published(held: Held) -> tuple[object, ...]:
    """Return what readers are told of the generation, of its vectors and of its graph."""
    now = held.store.published(*held.key)
    assert now is not None
    matrix, graph = held.store.matrix(now.folder), held.store.graph(now.folder)
    assert matrix is not None
    assert graph is not None
    counts = (matrix.model, matrix.embedded, matrix.skipped, matrix.failed)
    return held.store.recipe(now.folder), _told(held.store.info(now.generation)), counts, _told(graph)


def _told(info: GenerationInfo | GraphInfo) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(info).items() if name not in _OWN}


def stored_vectors(held: Held) -> dict[str, object]:
    """Return the vectors that LanceDB has of chunks that have one, by model."""
    known = states(held.generation, None)
    wanted = {
        (held.generation.vector_key(file), place)
        for file in held.paths
        for place, chunk in enumerate(_chunks(held, file))
        if known[chunk] == VectorState.PENDING
    }
    found: dict[str, object] = {}
    for name in held.store.vector_tables():
        rows = lancedb.connect(str(held.store.paths.vectors)).open_table(name).to_arrow().to_pylist()
        places = {(row["key"], row["ordinal"]): (row["scale"], row["vector"]) for row in rows}
        found[name] = {place: places.get(place) for place in wanted}
    return found if wanted else {}  # a table of what is gone says as little as none


COMPARED: Final[Mapping[str, Callable[[Held], object]]] = {
    **{f"{layer}.db/files": files for layer in ("generation", "patch")},
    **{f"{layer}.db/symbols": symbols for layer in ("generation", "patch")},
    **{f"{layer}.db/left_out": left_out for layer in ("generation", "patch")},
    **{f"{layer}.db/secrets": secrets for layer in ("generation", "patch")},
    **{f"{name}.npy": chunks for name in ("chunk_file", "chunk_start", "chunk_end", "chunk_symbol", "defines_start")},
    "defines.npy": chunks,
    "patch.db/chunks": chunks,
    "patch.db/defines": chunks,
    "patch.db/postings": words,
    "patch.db/lengths": words,
    "lexical/": words,
    "latent/": latent,
    "text-": text,
    "graph.db/edges": edges,
    "graph.db/outside": outside,
    "graph.db/unresolved": unresolved,
    "graph.db/packed": packed,
    "graph.db/families": families,
    **{f"vectors-/{name}.npy": vectors for name in ("rows", "scale", "state")},
    "project.db/blobs": blobs,
    "project.db/unsure": unsure,
    "project.db/recipes": recipes,
    "project.db/flows": flows,
    **{f"project.db/{name}": published for name in ("generations", "published", "matrices", "graphs")},
    "project.db/vector_tables": stored_vectors,
}
NOT_COMPARED: Final[Mapping[str, str]] = {
    "patch.db/dead": "numbers of files that are no more: none of the other tables may have rows of them",
    "patch.db/dead_left_out": "numbers of what is not left out any more: the rows that remain are compared",
}
