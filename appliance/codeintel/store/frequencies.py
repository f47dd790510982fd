"""How often each word stands in each document, weighed: TF-IDF over the words worth keeping, from a field's postings."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from appliance.codeintel.store.postings import Floats, Postings

_MOST_WORDS = 20_000  # of the vocabulary: the rest is too rare to have learnt anything
_MOST_SHARE = 0.5  # a word in more than half of the documents tells them apart badly
_FEW = 20  # documents: among so few a word of all of them may count


def weighted(postings: Postings) -> tuple[list[str], Floats, csr_matrix]:
    """Return the words that are kept, in order, the inverse document frequency of each, and what they weigh in documents.

    The matrix has a row a document and a column a word; each row is of unit length, or empty.
    """
    words, holding = postings.vocabulary()
    count = len(postings.lengths)
    kept = np.flatnonzero((holding <= _MOST_SHARE * count) | (count < _FEW))
    kept = np.sort(kept[np.argsort(-holding[kept], kind="stable")[:_MOST_WORDS]])  # of equally rare ones the first
    vocabulary = [words[place] for place in kept.tolist()]
    idf = np.log((1 + count) / (1 + holding[kept].astype(np.float32))) + 1
    rows = postings.table(vocabulary)
    rows.data = (1 + np.log(rows.data)) * idf[rows.indices]
    return vocabulary, idf, _of_unit_length(rows)


def _of_unit_length(rows: csr_matrix) -> csr_matrix:
    lengths: npt.NDArray[np.int64] = np.diff(rows.indptr)
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    norms = np.sqrt(np.bincount(document, weights=rows.data * rows.data, minlength=len(lengths)))
    rows.data /= np.maximum(norms, 1e-9).astype(np.float32)[document]
    return rows
