"""The lexical index of one generation: BM25 over chunks, and over whole files, by tantivy.

Text arrives as search tokens (`parse.tokens`), so tantivy only splits at spaces. Each field is scored by BM25 of its own
and weighted; the sum is near enough to BM25F. The folder is written once, and read through memory maps after that.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import tantivy

from appliance.base.sqlite import Guarded
from appliance.codeintel.needs import Check
from appliance.codeintel.store.added import Added, Ids, Scores, Statistics
from appliance.errors import StoreCorrupt

Alive = npt.NDArray[np.bool_]

_HEAP = 50_000_000  # bytes that tantivy gathers before it writes a segment
_CHECK_EVERY = 512  # documents
_MOST_TOKENS = 64  # of one query; the rest of a longer one adds nothing but time
_FILTER_BY_TERMS = 4096  # ids; a wider filter is applied to ever longer result lists instead
_SPARE = 64  # more than asked for, where some are dead
_LENGTHS = "lengths.json"
_LENGTHS_DECODER = msgspec.json.Decoder(dict[str, int])
_TEXT_FIELDS = ("tokens", "names", "path", "signature", "doc")
CHUNK_WEIGHTS: Mapping[str, float] = {"tokens": 1.0, "names": 1.0, "path": 0.5, "signature": 0.3, "doc": 0.5}
FILE_WEIGHTS: Mapping[str, float] = {"tokens": 1.0, "names": 0.25, "path": 0.5}


@dataclass(frozen=True, slots=True)
class LexicalDoc:
    """One chunk as it is indexed. Every text is already search tokens; the docs of one file follow each other."""

    chunk: int
    file: int
    tokens: str
    names: str  # of the symbols that the chunk defines, and of those that hold it
    path: str
    signature: str
    doc: str


def build_lexical(folder: Path, docs: Iterable[LexicalDoc], *, check: Check) -> None:
    """Write the index of *docs* into *folder*, in about 100 MB of memory whatever their number.

    *check* is called now and then and may raise. Nothing is synced: the caller does that before it publishes.
    """
    chunks = _Writer(folder / "chunks", _TEXT_FIELDS, phrases="tokens")
    files = _Writer(folder / "files", ("tokens", "names", "path"))
    for count, (doc, whole) in enumerate(with_files(docs)):
        if count % _CHECK_EVERY == 0:
            check()
        chunks.add(doc.chunk, tokens=doc.tokens, names=doc.names, path=doc.path, signature=doc.signature, doc=doc.doc)
        if whole:
            files.add(doc.file, tokens=" ".join(d.tokens for d in whole), names=distinct_names(whole), path=doc.path)
    check()
    chunks.finish()
    files.finish()


class LexicalIndex:
    """Reads what `build_lexical` wrote. Opening maps files and reads no documents. Safe to use from many threads."""

    def __init__(self, chunks: "_Reader | _Patched", files: "_Reader | _Patched") -> None:
        self._chunks = chunks
        self._files = files

    @classmethod
    def open(cls, folder: Path) -> "LexicalIndex":
        """Open *folder*; raise `StoreCorrupt` if it does not hold an index."""
        return cls(_Reader(folder / "chunks", CHUNK_WEIGHTS), _Reader(folder / "files", FILE_WEIGHTS))

    def patched(self, db: Guarded, *, chunks: Alive, files: Alive) -> "LexicalIndex":
        """Return this index with what a patch adds, by its tables in *db*, and without what is not *alive* any more."""
        return LexicalIndex(
            _Patched(_whole(self._chunks), Added(db, CHUNK_WEIGHTS, whole=False, alive=chunks), chunks),
            _Patched(_whole(self._files), Added(db, FILE_WEIGHTS, whole=True, alive=files), files),
        )

    @property
    def count(self) -> int:
        """How many chunks the index holds."""
        return self._chunks.count

    def chunks(
        self, tokens: Sequence[str], limit: int, *, phrases: Sequence[Sequence[str]] = (), within: Ids | None = None
    ) -> tuple[Ids, Scores]:
        """Return the best *limit* chunks for *tokens*, best first, and their scores.

        Each of *phrases* must stand in a chunk as it is; with *within* only those chunks count.
        """
        return self._chunks.best(tokens, limit, phrases=phrases, within=within)

    def files(self, tokens: Sequence[str], limit: int) -> tuple[Ids, Scores]:
        """Return the best *limit* files for *tokens*, best first, and their scores."""
        return self._files.best(tokens, limit, phrases=(), within=None)

    def chunk_scores(self, tokens: Sequence[str], ids: Ids) -> Scores:
        """Return the score of each of the chunks *ids*, 0 where no token matches."""
        return self._chunks.scores(tokens, ids)

    def file_scores(self, tokens: Sequence[str], ids: Ids) -> Scores:
        """Return the score of each of the files *ids*, 0 where no token matches."""
        return self._files.scores(tokens, ids)

    def rarity(self, tokens: Sequence[str]) -> Scores:
        """Return for each token its inverse document frequency over the chunks, 0 for one that stands nowhere."""
        return self._chunks.rarity(tokens)


class _Writer:
    def __init__(self, folder: Path, fields: Sequence[str], *, phrases: str = "") -> None:
        folder.mkdir(parents=True)
        builder = tantivy.SchemaBuilder().add_integer_field("id", indexed=True, fast=True)
        for name in fields:
            # Positions let a phrase be found; only the text of chunks is asked for phrases.
            option = "position" if name == phrases else "freq"
            builder = builder.add_text_field(name, tokenizer_name="whitespace", index_option=option)
        self._writer = tantivy.Index(builder.build(), path=str(folder)).writer(heap_size=_HEAP, num_threads=1)
        self._folder = folder
        self._lengths = dict.fromkeys(fields, 0)

    def add(self, number: int, **texts: str) -> None:
        self._writer.add_document(tantivy.Document(id=number, **{k: [v] for k, v in texts.items() if v}))
        for name, text in texts.items():
            self._lengths[name] += text.count(" ") + bool(text)

    def finish(self) -> None:
        self._writer.commit()
        self._writer.wait_merging_threads()
        (self._folder / _LENGTHS).write_text(json.dumps(self._lengths), encoding="ascii")


class _Reader:
    def __init__(self, folder: Path, weights: Mapping[str, float]) -> None:
        try:
            index = tantivy.Index.open(str(folder))
        except ValueError as exc:
            raise StoreCorrupt(
                f"The lexical index in {folder} cannot be read.", remedy="Index the repository again.", path=str(folder)
            ) from exc
        index.config_reader(reload_policy="manual")  # a published folder never changes
        self._schema = index.schema
        self._searcher = index.searcher()
        self._weights = weights
        self._lengths = _read_lengths(folder)  # now: the folder may be removed while it is read

    @property
    def count(self) -> int:
        return int(self._searcher.num_docs)

    def best(
        self, tokens: Sequence[str], limit: int, *, phrases: Sequence[Sequence[str]], within: Ids | None
    ) -> tuple[Ids, Scores]:
        query = self._query(tokens, phrases)
        if within is None:
            return self._run(query, limit)
        if len(within) <= _FILTER_BY_TERMS:
            return self._run(self._only(query, within), limit)
        return self._sift(query, limit, within)

    def scores(self, tokens: Sequence[str], ids: Ids) -> Scores:
        result = np.zeros(len(ids), dtype=np.float32)
        if len(ids) == 0:
            return result
        found, scores = self._run(self._only(self._query(tokens, ()), ids), len(ids))
        order = np.argsort(ids, kind="stable")
        result[order[np.searchsorted(ids, found, sorter=order)]] = scores
        return result

    def rarity(self, tokens: Sequence[str]) -> Scores:
        total = self._searcher.num_docs
        counts = np.array([self._searcher.doc_freq("tokens", token) for token in tokens], dtype=np.float32)
        return np.where(counts > 0, np.log1p((total - counts + 0.5) / (counts + 0.5)), 0).astype(np.float32)

    def known(self, tokens: Iterable[str]) -> dict[tuple[str, str], int]:
        """Return by field and token in how many documents it stands."""
        return {(field, token): self._searcher.doc_freq(field, token) for token in set(tokens) for field in self._weights}

    def statistics(self) -> Statistics:
        """Return what scores rest on; raise `StoreCorrupt`."""
        count = max(self.count, 1)
        return Statistics(self.count, {name: self._lengths.get(name, 0) / count for name in self._weights})

    def _query(self, tokens: Sequence[str], phrases: Sequence[Sequence[str]]) -> tantivy.Query:
        clauses = [
            (tantivy.Occur.Should, tantivy.Query.boost_query(tantivy.Query.term_query(self._schema, field, token), weight))
            for token in list(dict.fromkeys(tokens))[:_MOST_TOKENS]
            for field, weight in self._weights.items()
        ]
        clauses += [(tantivy.Occur.Must, self._phrase(words)) for words in phrases]
        return tantivy.Query.boolean_query(clauses)

    def _phrase(self, words: Sequence[str]) -> tantivy.Query:
        if len(words) == 1:  # tantivy refuses a phrase of one word
            return tantivy.Query.term_query(self._schema, "tokens", words[0])
        return tantivy.Query.phrase_query(self._schema, "tokens", list(words))

    def _only(self, query: tantivy.Query, ids: Ids) -> tantivy.Query:
        these = tantivy.Query.term_set_query(self._schema, "id", ids.tolist())
        unscored = tantivy.Query.const_score_query(these, 0.0)
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, unscored)])

    def _sift(self, query: tantivy.Query, limit: int, within: Ids) -> tuple[Ids, Scores]:
        total = self._searcher.num_docs
        depth = min(total, limit * 4 * max(1, total // len(within)))
        while True:
            ids, scores = self._run(query, depth)
            kept = np.isin(ids, within)
            if kept.sum() >= limit or len(ids) < depth or depth >= total:
                return ids[kept][:limit], scores[kept][:limit]
            depth = min(total, depth * 4)

    def _run(self, query: tantivy.Query, limit: int) -> tuple[Ids, Scores]:
        if limit <= 0 or self._searcher.num_docs == 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        hits = self._searcher.search(query, limit=limit, count=False).hits
        ids = self._searcher.fast_field_values("id", [address for _, address in hits])
        return np.array(ids, dtype=np.int64), np.array([score for score, _ in hits], dtype=np.float32)


class _Patched:
    """An index without what died in it, and what was added since."""

    def __init__(self, below: _Reader, added: Added, alive: Alive) -> None:
        self._below = below
        self._added = added
        self._alive = alive
        self._statistics = below.statistics()

    @property
    def count(self) -> int:
        return int(self._alive.sum())

    def best(
        self, tokens: Sequence[str], limit: int, *, phrases: Sequence[Sequence[str]], within: Ids | None
    ) -> tuple[Ids, Scores]:
        below, scores = self._best_below(tokens, limit, phrases, within)
        added, theirs = self._best_added(tokens, phrases)
        if within is not None:
            allowed = np.isin(added, within)
            added, theirs = added[allowed], theirs[allowed]
        ids, every = np.concatenate((below, added)), np.concatenate((scores, theirs))
        order = np.argsort(-every, kind="stable")[: max(0, limit)]
        return ids[order], every[order]

    def scores(self, tokens: Sequence[str], ids: Ids) -> Scores:
        result = np.zeros(len(ids), dtype=np.float32)
        old = ids < self._below.count
        result[old] = self._below.scores(tokens, ids[old])
        if not old.all():
            added, theirs = self._scored(tokens)
            there = np.isin(ids, added)
            result[there] = theirs[np.searchsorted(added, ids[there])]
        return result

    def rarity(self, tokens: Sequence[str]) -> Scores:
        total = self.count
        known = np.array([self._below.known([token])["tokens", token] for token in tokens], dtype=np.float32)
        counts = np.minimum(known + self._added.frequencies(tokens, "tokens"), total)
        return np.where(counts > 0, np.log1p((total - counts + 0.5) / (counts + 0.5)), 0).astype(np.float32)

    def _scored(self, tokens: Sequence[str]) -> tuple[Ids, Scores]:
        wanted = list(dict.fromkeys(tokens))[:_MOST_TOKENS]
        return self._added.scored(wanted, self._statistics, self._below.known(wanted))

    def _best_added(self, tokens: Sequence[str], phrases: Sequence[Sequence[str]]) -> tuple[Ids, Scores]:
        ids, scores = self._scored(tokens)
        if not phrases:
            return ids, scores
        known = self._below.known(word for phrase in phrases for word in phrase)
        holding, more = self._added.phrases(phrases, self._statistics, known)
        held = np.isin(holding, ids)
        more[held] += scores[np.searchsorted(ids, holding[held])]
        return holding, more

    def _best_below(
        self, tokens: Sequence[str], limit: int, phrases: Sequence[Sequence[str]], within: Ids | None
    ) -> tuple[Ids, Scores]:
        if within is not None:
            below = within[within < self._below.count]
            return self._below.best(tokens, limit, phrases=phrases, within=below[self._alive[below]])
        depth = limit
        while True:
            ids, scores = self._below.best(tokens, depth, phrases=phrases, within=None)
            kept = self._alive[ids]
            if kept.sum() >= limit or len(ids) < depth:
                return ids[kept][:limit], scores[kept][:limit]
            depth = 2 * depth + _SPARE


def _whole(index: "_Reader | _Patched") -> _Reader:
    if isinstance(index, _Patched):
        raise StoreCorrupt("A lexical index cannot be patched twice.")
    return index


def with_files(docs: Iterable[LexicalDoc]) -> Iterator[tuple[LexicalDoc, list[LexicalDoc]]]:
    """Yield each doc, and with the last one of a file all docs of that file."""
    held: list[LexicalDoc] = []
    for doc in docs:
        if held:
            yield held[-1], held if held[-1].file != doc.file else []
            if held[-1].file != doc.file:
                held = []
        held.append(doc)
    if held:
        yield held[-1], held


def distinct_names(docs: Iterable[LexicalDoc]) -> str:
    """Return the names of *docs*, each once."""
    return " ".join(dict.fromkeys(name for doc in docs for name in doc.names.split()))


def _read_lengths(folder: Path) -> dict[str, int]:
    """Return how many tokens each field has in all; nothing for an index that was built before that was kept."""
    path = folder / _LENGTHS
    try:
        return _LENGTHS_DECODER.decode(path.read_bytes()) if path.is_file() else {}
    except (OSError, msgspec.DecodeError) as exc:
        raise StoreCorrupt(f"The lengths in {folder} cannot be read.", remedy="Index the repository again.") from exc
