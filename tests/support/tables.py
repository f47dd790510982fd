"""Everything that a generation holds, without the numbers that it goes by: equal for equal states."""

from collections.abc import Iterable
from functools import partial

import msgspec
import numpy as np

from appliance.codeintel.store.generation import Generation, GenerationInfo
from tests.support.ranked import best_chunks, best_files

Table = dict[str, object]


def tables(generation: Generation, words: Iterable[str]) -> Table:
    """Return what *generation* holds, and where it finds each of *words*."""
    files, symbols = generation.files, generation.symbols
    chunks = {path: _chunks(generation, number) for path, number in files.by_path.items()}
    return {
        "info": _counts(generation.info),
        "files": {
            path: (
                files.blobs[n],
                files.hints[n],
                files.languages[n],
                files.encodings[n],
                int(files.flags[n]),
                int(files.lines[n]),
            )
            for path, n in files.by_path.items()
        },
        "order": list(files.by_path),
        "symbols": {
            path: [
                (
                    row.name,
                    row.qualname,
                    row.kind,
                    row.start_line,
                    row.end_line,
                    row.signature,
                    row.doc,
                    row.parent,
                    row.blob,
                )
                for row in symbols.in_file(path)
            ]
            for path in files.by_path
        },
        "chunks": chunks,
        "left out": sorted((item.path, item.reason, item.detail) for item in generation.left_out(limit=10_000)),
        "chunks of words": {word: _chunk_hits(generation, word) for word in words},
        "files of words": {
            word: {files.paths[n] for n in best_files(generation.lexical, [word], 10_000)[0]} for word in words
        },
        "named": {word: [(row.path, row.qualname) for row in symbols.named(word)] for word in words},
    }


def edges(generation: Generation) -> set[tuple[object, ...]]:
    """Return every call that the graph of *generation* knows, by places."""
    graph = generation.graph
    assert graph is not None
    ids = [row.id for path in generation.files.by_path for row in generation.symbols.in_file(path)]
    tops = [-1 - number for number in generation.files.numbers]
    name = partial(_named, generation)
    found: set[tuple[object, ...]] = {
        (name(row.source), name(row.target), row.line, row.kind, row.how, row.confidence)
        for row in graph.callees(ids + tops)
    }
    found |= {(name(row.source), row.name, row.line, row.kind, "outside") for row in graph.outside(ids + tops)}
    return found | {(name(number), graph.unresolved([number])) for number in ids + tops}


def with_vector(generation: Generation) -> dict[tuple[str, int], bytes]:
    """Return the vector of every chunk that has one, by path and first line."""
    matrix, found = generation.vectors, {}
    assert matrix is not None
    every = np.arange(len(generation.chunk_file))
    there = ~np.isnan(matrix.cosines(np.ones(matrix.rows.shape[1], dtype=np.float32), every))
    for chunk in np.flatnonzero(there).tolist():
        path = generation.files.paths[generation.chunk_file[chunk]]
        found[path, int(generation.chunk_start[chunk])] = matrix.rows[chunk].tobytes()
    return found


def _chunks(generation: Generation, number: int) -> list[tuple[object, ...]]:
    first, last = generation.files.first_chunk[number : number + 2]
    return [
        (
            int(generation.chunk_start[chunk]),
            int(generation.chunk_end[chunk]),
            symbol.qualname if (symbol := generation.chunk_symbol(chunk)) else "",
            [row.qualname for row in generation.chunk_defines(chunk)],
        )
        for chunk in range(first, last)
    ]


def _chunk_hits(generation: Generation, word: str) -> set[tuple[str, int]]:
    ids, scores = best_chunks(generation.lexical, [word], 10_000)
    assert (np.diff(scores) <= 0).all()
    return {(generation.files.paths[generation.chunk_file[chunk]], int(generation.chunk_start[chunk])) for chunk in ids}


def _named(generation: Generation, number: int) -> str:
    if number < 0:
        return generation.files.paths[-1 - number]
    (row,) = generation.symbols.rows([number])
    return f"{row.path}:{row.qualname}"


def _counts(info: GenerationInfo) -> Table:
    kept = ("files", "lines", "chunks", "left_out", "encodings", "languages", "problems", "torn", "tree")
    return {name: value for name, value in msgspec.structs.asdict(info).items() if name in kept}
