"""The text of the files of a generation, kept for who looks for it as it is written."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from appliance.base.durable import storage_errors
from appliance.base.sqlite import store_errors
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.decode import decode
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.layers import open_tables
from appliance.codeintel.store.text import held_texts, text_file, text_files, write_text
from appliance.ids import BlobId

_MOST_FILES: Final = 9  # each costs a search a little
_AT_ONCE: Final = 400  # texts: so many are read without another process
_TELL_EVERY: Final = 250  # texts


def keep_text(folder: Path, source: Source, *, progress: Progress, check: Check) -> int:
    """Write the texts of those blobs of the patch in *folder* that no file there has yet; return how many.

    Files there may be links to those of another generation: none of them is changed. Once there are many, what is not in
    the first one is written anew as one. A blob that *source* cannot hand over has no text: searches say so.
    """
    known = text_files(folder)
    kept = known if len(known) < _MOST_FILES else known[:1]
    missing = dict.fromkeys(_added(folder))
    for path in kept:
        for blob in missing.keys() & held_texts(path):
            del missing[blob]
    if not missing:
        return 0
    count = write_texts(folder, list(missing), source, progress=progress, check=check)
    with storage_errors(folder):
        for path in known[len(kept) :]:
            path.unlink()
    return count


def write_texts(folder: Path, blobs: Sequence[BlobId], source: Source, *, progress: Progress, check: Check) -> int:
    """Write the texts of *blobs* into a new file of the generation in *folder*; return how many *source* handed over."""
    with storage_errors(folder):
        return write_text(text_file(folder), _texts(blobs, source, progress), check=check)


def _added(folder: Path) -> list[BlobId]:
    """Return the blobs of the files that the patch in *folder* adds: the others' texts were kept with what is below."""
    query = "SELECT blob FROM patch.files WHERE id NOT IN (SELECT file FROM dead) ORDER BY id"
    with closing(open_tables(folder)) as conn, store_errors(folder):
        return [BlobId(row[0]) for row in conn.execute(query)]


def _texts(blobs: Sequence[BlobId], source: Source, progress: Progress) -> Iterator[tuple[BlobId, str]]:
    contents = source.read(blobs) if len(blobs) > _AT_ONCE else source.blobs(blobs).items()
    for count, (blob, content) in enumerate(contents):
        if count % _TELL_EVERY == 0:
            progress("text", count, len(blobs))
        yield blob, decode(content).plain()
