"""The vectors that searches read."""

from pathlib import Path

import numpy as np
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


def test_scores_are_cosines_to_two_decimals() -> None:
    vectors = unit(5000)
    scores = matrix_of(5000).scores(vectors[7])
    assert scores.shape == (5000,)
    assert np.abs(scores - vectors @ vectors[7]).max() < 0.005
    assert int(scores.argmax()) == 7


def test_a_chunk_without_a_vector_scores_nan() -> None:
    matrix = matrix_of(4)
    matrix.state[:] = [VectorState.PENDING, VectorState.PRESENT, VectorState.SKIPPED, VectorState.FAILED]
    scores = matrix.scores(unit(1)[0])
    assert np.isnan(scores).tolist() == [True, False, True, True]


def test_a_written_matrix_comes_back(tmp_path: Path) -> None:
    matrix = matrix_of(10)
    write_matrix(tmp_path / "v", matrix)
    read = VectorMatrix.open(tmp_path / "v", model="m")
    assert np.array_equal(read.rows, matrix.rows)
    assert np.array_equal(read.scale, matrix.scale)
    assert np.array_equal(read.state, matrix.state)


def test_an_empty_matrix_scores_nothing(tmp_path: Path) -> None:
    write_matrix(tmp_path / "v", matrix_of(0))
    assert VectorMatrix.open(tmp_path / "v", model="m").scores(unit(1)[0]).shape == (0,)


def test_a_vector_of_zeros_keeps_its_zeros() -> None:
    rows, scale = quantise(np.zeros((1, 8), dtype=np.float32))
    assert not rows.any()
    assert scale.tolist() == [0.0]


def test_a_query_of_another_model_is_refused() -> None:
    with pytest.raises(InvalidInput):
        matrix_of(2).scores(np.zeros(768, dtype=np.float32))


def test_a_truncated_matrix_is_called_corrupt(tmp_path: Path) -> None:
    write_matrix(tmp_path / "v", matrix_of(10))
    rows = tmp_path / "v" / "rows.npy"
    rows.write_bytes(rows.read_bytes()[:-100])
    with pytest.raises(StoreCorrupt):
        VectorMatrix.open(tmp_path / "v", model="m")
