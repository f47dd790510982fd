from pathlib import Path

import numpy as np
import pytest

from appliance.codeintel.store.latent import LatentSpace, train_latent
from appliance.errors import StoreCorrupt
from tests.support.postings import postings_of

_TOPICS = (
    "socket connect tcp listen port",
    "parse token syntax tree grammar",
    "render html template page style",
    "encrypt key cipher sign digest",
)


def _docs(count: int) -> list[str]:
    """Four topics whose documents share only some of their words."""
    draw = np.random.default_rng(3)
    return [" ".join(draw.choice(_TOPICS[n % 4].split(), 3, replace=False)) + f" filler{n % 5}" for n in range(count)]


def _space(folder: Path, docs: list[str], *, dims: int = 4) -> LatentSpace:
    train_latent(folder, postings_of(folder / "words", docs), dims=dims)
    space = LatentSpace.open(folder)
    assert space is not None
    return space


def test_related_words_meet_though_they_never_stand_together(tmp_path: Path) -> None:
    docs = _docs(80)
    space = _space(tmp_path, docs)
    scores = space.scores(space.embed(["socket"]))
    own = [n for n in range(80) if n % 4 == 0 and "socket" not in docs[n]]
    assert min(scores[own]) > max(scores[[n for n in range(80) if n % 4]])


def test_training_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        train_latent(tmp_path / name, postings_of(tmp_path / name / "words", _docs(60)), dims=8)
    for file in ("matrix.npy", "scale.npy", "weights.npy", "words.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_rows_are_unit_vectors(tmp_path: Path) -> None:
    space = _space(tmp_path, _docs(40))
    assert np.allclose(np.linalg.norm(space.matrix * space.scale[:, None], axis=1), 1, atol=0.02)


def test_a_small_repository_gets_fewer_dimensions(tmp_path: Path) -> None:
    assert _space(tmp_path, _docs(10), dims=64).matrix.shape[1] < 10


@pytest.mark.parametrize("docs", [[], ["alpha"], ["alpha beta", "gamma delta"], ["", "", ""]])
def test_too_little_to_learn_from_gives_no_space(tmp_path: Path, docs: list[str]) -> None:
    train_latent(tmp_path, postings_of(tmp_path / "words", docs))
    assert LatentSpace.open(tmp_path) is None


def test_a_query_of_unknown_words_is_all_zeros(tmp_path: Path) -> None:
    assert not _space(tmp_path, _docs(40)).embed(["nowhere"]).any()


def test_a_document_without_known_words_is_near_nothing(tmp_path: Path) -> None:
    space = _space(tmp_path, [*_docs(40), "unseen"])
    assert space.scores(space.embed(["socket"]))[-1] == 0


def test_a_folder_that_is_no_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreCorrupt):
        LatentSpace.open(tmp_path)
