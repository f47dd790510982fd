from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.build.training import Training
from appliance.codeintel.store.latent import train_latent
from appliance.errors import StorageFault

_TEXTS = [f"socket port{n % 7} é tcp{n % 3}" for n in range(200)] + ["", "render page"]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("processes", "beside"), [(2, 0), (2, 2_000), (2, 1 << 20), (1, 0)])
def test_a_process_beside_trains_as_one_does_here(tmp_path: Path, processes: int, beside: int) -> None:
    train_latent(tmp_path / "here", _TEXTS)
    with closing(Training(tmp_path, processes=processes, beside=beside)) as training:
        for text in _TEXTS:
            training.add(text)
        training.finish()
    assert _files(tmp_path / "latent") == _files(tmp_path / "here")
    assert {path.name for path in tmp_path.iterdir()} == {"here", "latent"}


def test_a_training_that_fails_beside_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latent").write_text("in the way")
    with closing(Training(tmp_path, processes=2, beside=0)) as training:
        training.add("text")
        with pytest.raises(StorageFault, match="not trained"):
            training.finish()
