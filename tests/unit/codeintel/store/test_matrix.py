"""The vectors that searches read."""

import functools
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from appliance.codeintel.store.matrix import VectorMatrix, VectorState, quantise, write_matrix
from appliance.errors import InvalidInput, StoreCorrupt


def unit(count: int, dimensions: int = 384) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = np.random.default_rng(1).standard_normal((count, dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def matrix_of(count: int) -> VectorMatrix:
    rows, scale = quantise(unit(count))
    return VectorMatrix("m", rows, scale, np.full(count, VectorState.PRESENT, dtype=np.uint8))


@functools.cache
def clustered(count: int) -> VectorMatrix:
    """Return vectors as near to each other as those of code are: some hundred subjects, each with its variants."""
    draw = np.random.default_rng(2)
    subjects = draw.standard_normal((300, 64)).astype(np.float32)
    rows = subjects[draw.integers(0, 300, count)] + 0.7 * draw.standard_normal((count, 64)).astype(np.float32)
    stored, scale = quantise(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return VectorMatrix("m", stored, scale, np.full(count, VectorState.PRESENT, dtype=np.uint8))


def test_cosines_are_right_to_two_decimals() -> None:
    vectors, wanted = unit(5000), np.array([7, 4999, 0])
    scores = matrix_of(5000).cosines(vectors[7], wanted)
    assert np.abs(scores - vectors[wanted] @ vectors[7]).max() < 0.005
    assert int(scores.argmax()) == 0


def test_a_chunk_without_a_vector_scores_nan_and_is_never_near() -> None:
    matrix = matrix_of(4)
    matrix.state[:] = [VectorState.PENDING, VectorState.PRESENT, VectorState.SKIPPED, VectorState.FAILED]
    assert np.isnan(matrix.cosines(unit(1)[0], np.arange(5))).tolist() == [True, False, True, True, True]
    assert matrix.nearest(unit(1)[0], 3).tolist() == [1]
    gone = replace(matrix, dead=np.array([False, True, False, False, True]))
    assert gone.empty
    assert gone.nearest(unit(1)[0], 3).tolist() == []


@pytest.mark.parametrize("count", [400, 70_000])
@pytest.mark.parametrize("among", [None, np.arange(0, 70_000, 3)])
def test_of_the_nearest_hardly_one_is_missed(count: int, among: npt.NDArray[np.int64] | None) -> None:
    """Only few rows are looked at exactly, those whose signs agree with the query's; of so many that may cost a hit."""
    matrix, draw = clustered(count), np.random.default_rng(3)
    there = np.arange(count) if among is None else among[among < count]
    found = 0
    for row in draw.integers(0, count, 20):
        query = matrix.rows[row] * matrix.scale[row] + draw.standard_normal(64).astype(np.float32) * 0.05
        query /= np.linalg.norm(query)
        exact = there[np.argsort(-matrix.cosines(query, there))[:50]]
        found += len(np.intersect1d(exact, matrix.nearest(query, 50, among=among)))
    assert found >= (0.99 if count > 5000 else 1) * 20 * min(50, len(there))


def test_a_written_matrix_comes_back(tmp_path: Path) -> None:
    matrix = matrix_of(10)
    write_matrix(tmp_path / "v", matrix)
    read = VectorMatrix.open(tmp_path / "v", model="m")
    assert np.array_equal(read.rows, matrix.rows)
    assert np.array_equal(read.scale, matrix.scale)
    assert np.array_equal(read.state, matrix.state)


def test_an_empty_matrix_scores_nothing(tmp_path: Path) -> None:
    write_matrix(tmp_path / "v", matrix_of(0))
    assert VectorMatrix.open(tmp_path / "v", model="m").nearest(unit(1)[0], 5).shape == (0,)


def test_a_vector_of_zeros_keeps_its_zeros() -> None:
    rows, scale = quantise(np.zeros((1, 8), dtype=np.float32))
    assert not rows.any()
    assert scale.tolist() == [0.0]


def test_a_query_of_another_model_is_refused() -> None:
    with pytest.raises(InvalidInput):
        matrix_of(2).nearest(np.zeros(768, dtype=np.float32), 1)


def test_a_truncated_matrix_is_called_corrupt(tmp_path: Path) -> None:
    write_matrix(tmp_path / "v", matrix_of(10))
    rows = tmp_path / "v" / "rows.npy"
    rows.write_bytes(rows.read_bytes()[:-100])
    with pytest.raises(StoreCorrupt):
        VectorMatrix.open(tmp_path / "v", model="m")
