"""The worth of a file by the meaning of its chunks: vectorised, held to a plain loop."""

from types import SimpleNamespace

import numpy as np
import pytest

from appliance.codeintel.query import signals


@pytest.mark.parametrize("seed", range(20))
def test_the_best_three_of_each_file_count(seed: int) -> None:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(0, 6, 12)
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    dense = draw.uniform(-1, 1, bounds[-1]).astype(np.float32)
    dense[draw.random(len(dense)) < 0.3] = np.nan
    files = draw.integers(0, 12, draw.integers(0, 30))
    wanted = []
    for file in files:
        best = sorted(score for score in dense[bounds[file] : bounds[file + 1]].tolist() if not np.isnan(score))[-3:]
        wanted.append(best[-1] + sum(best) / len(best) / 2 if best else np.nan)
    generation = SimpleNamespace(files=SimpleNamespace(first_chunk=bounds))
    found = signals._file_prior(generation, dense, files)  # type: ignore[arg-type]
    assert np.allclose(found, wanted, equal_nan=True, atol=1e-6)
    assert np.isnan(signals._file_prior(generation, None, files)).all()  # type: ignore[arg-type]
