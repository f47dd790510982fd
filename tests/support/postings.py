"""Postings of texts given by hand."""

from collections.abc import Sequence
from pathlib import Path

from appliance.codeintel.store.inverting import Inverter
from appliance.codeintel.store.postings import Postings


def postings_of(folder: Path, documents: Sequence[str], *, most: int = 1_000_000) -> Postings:
    """Return the postings of *documents*, words with blanks between them, in segments of about *most* words."""
    folder.mkdir(parents=True, exist_ok=True)
    inverter = Inverter(folder, "words", places=True, most=most)
    for text in documents:
        inverter.add_words(text.split(), [len(text.split())])
    inverter.finish()
    return Postings(folder, "words")
