"""The text of the files of a generation, kept for who looks for it as it is written."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.layers import is_patched, open_tables
from appliance.codeintel.store.text import held_texts, text_file, text_files, write_text
from appliance.ids import BlobId

_MOST_FILES: Final = 9  # each costs a search a little
_AT_ONCE: Final = 400  # texts: so many are read without another process
_TELL_EVERY: Final = 250  # texts


def keep_text(folder: Path, source: Source, *, progress: Progress, check: Check) -> int:
    """Write the texts of those blobs of the generation in *folder* that no file there has yet; return how many.

    Files there may be links to those of another generation: none of them is changed. Once there are many, what is not in
    the first one is written anew as one. A blob that *source* cannot hand over has no text: searches say so.
    """
    known = text_files(folder)
    kept = known if len(known) < _MOST_FILES else known[:1]
    held = {blob for path in kept for blob in held_texts(path)}
    blobs = _added(folder) if kept == known and is_patched(folder) else _blobs(folder)
    missing = [blob for blob in blobs if blob not in held]
    if not missing:
        return 0
    count = write_texts(folder, missing, source, progress=progress, check=check)
    with storage_errors(folder):
        for path in known[len(kept) :]:
            path.unlink()
    return count


def write_texts(folder: Path, blobs: Sequence[BlobId], source: Source, *, progress: Progress, check: Check) -> int:
    """Write the texts of *blobs* into a new file of the generation in *folder*; return how many *source* handed over."""
    with storage_errors(folder):
        return write_text(text_file(folder), _texts(blobs, source, progress), check=check)


def _blobs(folder: Path) -> list[BlobId]:
    """Return every blob once, in the order of the files that it stands at."""
    return _asked(folder, "SELECT blob FROM files ORDER BY id")


def _added(folder: Path) -> list[BlobId]:
    """Return the blobs of the files that the patch in *folder* adds: the others' texts were kept with what is below."""
    return _asked(folder, "SELECT blob FROM patch.files WHERE id NOT IN (SELECT file FROM dead) ORDER BY id")


def _asked(folder: Path, query: str) -> list[BlobId]:
    with closing(open_tables(folder)) as conn, store_errors(folder):
        rows: list[sqlite3.Row] = conn.execute(query).fetchall()
    return list(dict.fromkeys(BlobId(row[0]) for row in rows))


def _texts(blobs: Sequence[BlobId], source: Source, progress: Progress) -> Iterator[tuple[BlobId, str]]:
    contents = source.read(blobs) if len(blobs) > _AT_ONCE else source.blobs(blobs).items()
    for count, (blob, content) in enumerate(contents):
        if count % _TELL_EVERY == 0:
            progress("text", count, len(blobs))
        yield blob, decode(content).plain()
