"""Where vectors are kept."""

import shutil
from collections.abc import Sequence

import numpy as np

from appliance.codeintel.store.code import CodeStore
from appliance.codeintel.store.vectors import VectorBatch, VectorStore


def vectors_in(store: CodeStore, *, model: str = "m", dimensions: int = 8) -> VectorStore:
    return VectorStore(store, model=model, dimensions=dimensions)


def batch_of(*keys: str) -> VectorBatch:
    rows = np.arange(len(keys) * 8, dtype=np.int8).reshape(-1, 8)
    return VectorBatch(keys, range(len(keys)), rows, np.full(len(keys), 0.5, dtype=np.float32))


def stored(vectors: VectorStore) -> list[tuple[str, int, Sequence[int], float]]:
    return [
        (key, ordinal, row.tolist(), float(scale))
        for batch in vectors.read()
        for key, ordinal, row, scale in zip(batch.keys, batch.ordinals, batch.rows, batch.scale, strict=True)
    ]


def test_committed_vectors_are_read_by_the_next_process(store: CodeStore) -> None:
    first = vectors_in(store)
    first.add(batch_of("a", "b"))
    first.commit()
    assert stored(vectors_in(store)) == [("a", 0, list(range(8)), 0.5), ("b", 1, list(range(8, 16)), 0.5)]


def test_vectors_that_were_never_committed_are_undone(store: CodeStore) -> None:
    """LanceDB syncs nothing: what came after the last sync may be there, be torn, or be gone."""
    first = vectors_in(store)
    first.add(batch_of("a"))
    first.commit()
    first.add(batch_of("b"))
    again = vectors_in(store)
    assert [row[0] for row in stored(again)] == ["a"]
    again.add(batch_of("c"))
    again.commit()
    assert [row[0] for row in stored(vectors_in(store))] == ["a", "c"]


def test_vectors_of_two_models_never_meet(store: CodeStore) -> None:
    one, other = vectors_in(store, model="one"), vectors_in(store, model="../other")
    one.add(batch_of("a"))
    one.commit()
    assert stored(other) == []
    assert {path.parent for path in store.paths.vectors.iterdir()} == {store.paths.vectors}


def test_a_table_that_cannot_be_read_is_started_over(store: CodeStore) -> None:
    first = vectors_in(store)
    first.add(batch_of("a"))
    first.commit()
    table = next(store.paths.vectors.glob("*.lance"))
    shutil.rmtree(table / "data")
    again = vectors_in(store)
    assert stored(again) == []
    again.add(batch_of("b"))
    again.commit()
    assert [row[0] for row in stored(vectors_in(store))] == ["b"]


def test_joining_small_pieces_keeps_every_vector(store: CodeStore) -> None:
    vectors = vectors_in(store)
    for number in range(30):
        vectors.add(batch_of(f"k{number}"))
        vectors.commit()
    vectors.compact()
    assert sorted(row[0] for row in stored(vectors_in(store))) == sorted(f"k{number}" for number in range(30))
