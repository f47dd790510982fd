"""What is embedded for a chunk: where it stands, then what it says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from appliance.base.paths import display
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.generation import Generation
from appliance.ids import BlobId

_MOST_CHARACTERS = 2_000  # the window of an embedder is shorter still
_FILES = 200  # read with one request


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The text of one chunk; "" when its blob cannot be read any more."""

    chunk: int
    text: str


def chunk_texts(generation: Generation, source: Source, chunks: Sequence[int]) -> Iterator[ChunkText]:
    """Yield the text of each of *chunks*, which are in order: ``path > enclosing definition``, a line end, the lines."""
    by_file = [(file, list(group)) for file, group in groupby(chunks, key=lambda chunk: int(generation.chunk_file[chunk]))]
    for start in range(0, len(by_file), _FILES):
        batch = by_file[start : start + _FILES]
        blobs = list(dict.fromkeys(generation.files.blobs[file] for file, _ in batch))
        wanted: dict[BlobId, list[int]] = {}
        for file, group in batch:
            wanted.setdefault(generation.files.blobs[file], []).extend(group)
        for blob, content in source.read(blobs):
            lines = decode(content).lines()
            for chunk in wanted.pop(blob):
                yield ChunkText(chunk, _text(generation, chunk, lines))
        for group in wanted.values():
            yield from (ChunkText(chunk, "") for chunk in group)


def _text(generation: Generation, chunk: int, lines: list[str]) -> str:
    symbol = generation.chunk_symbol(chunk)
    path = display(generation.files.paths[int(generation.chunk_file[chunk])])
    header = f"{path} > {symbol.qualname}" if symbol else path
    body = "\n".join(lines[generation.chunk_start[chunk] - 1 : generation.chunk_end[chunk]])
    return f"{header}\n{body}"[:_MOST_CHARACTERS]
