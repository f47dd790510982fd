from pathlib import Path

import pytest

from appliance.errors import HostUnfit
from appliance.inference.choice import RESERVE, check_fit, check_processor, choose_chat, required_memory
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore
from tests.unit.inference.making import catalog, model, model_file

GOOD = frozenset({"avx2", "fma", "f16c"})
LARGE = model(model_file(b"large"), name="large", memory=2_000_000_000, rank=20)
SMALL = model(model_file(b"small"), name="small", memory=1_000_000_000, rank=10, purpose="small")
NEVER = model(model_file(b"never"), name="never", memory=10, rank=0, purpose="small")
MODELS = catalog(SMALL, NEVER, LARGE)


def machine(free: int, *, flags: frozenset[str] = GOOD) -> Hardware:
    return Hardware(2, 8_000_000_000, free, "x86_64", flags)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path, catalog=MODELS)


def test_best_that_fits_is_chosen_with_the_reason(store: ModelStore) -> None:
    choice = choose_chat(MODELS, store, machine(6_000_000_000))
    assert choice.model.name == "large"
    assert "best that fits" in choice.why
    assert "2.0 GB" in choice.why


def test_smaller_one_says_what_answers_would_need(store: ModelStore) -> None:
    choice = choose_chat(MODELS, store, machine(2_000_000_000))
    assert choice.model.name == "small"
    assert "too small for good answers" in choice.why
    assert "Large" in choice.why


def test_context_and_slots_count(store: ModelStore) -> None:
    room = required_memory(LARGE) + RESERVE
    assert choose_chat(MODELS, store, machine(room)).model.name == "large"
    assert choose_chat(MODELS, store, machine(room), slots=2).model.name == "small"


def test_nothing_that_fits_is_a_sentence(store: ModelStore) -> None:
    with pytest.raises(HostUnfit, match="No chat model fits") as refused:
        choose_chat(MODELS, store, machine(100))
    assert "search works without" in refused.value.remedy


def test_processor_without_avx2_is_a_sentence(store: ModelStore) -> None:
    """llama.cpp would die of an illegal instruction, and say nothing."""
    with pytest.raises(HostUnfit, match="AVX2"):
        choose_chat(MODELS, store, machine(6_000_000_000, flags=frozenset({"sse"})))
    with pytest.raises(HostUnfit, match="AVX2"):
        check_processor(machine(1, flags=frozenset()))


def test_choice_knows_what_is_in_the_store(store: ModelStore, tmp_path: Path) -> None:
    file = SMALL.file[0]
    (tmp_path / file.sha256).mkdir()
    (tmp_path / file.sha256 / file.name).write_bytes(b"small")
    choice = choose_chat(MODELS, store, machine(6_000_000_000))
    assert not choice.installed
    assert choice.instead is SMALL
    assert choose_chat(MODELS, store, machine(2_000_000_000)).installed


def test_model_that_was_asked_for_by_name_must_fit() -> None:
    check_fit(LARGE, machine(3_000_000_000))
    with pytest.raises(HostUnfit, match=r"needs about 2\.0 GB"):
        check_fit(LARGE, machine(1_500_000_000))
