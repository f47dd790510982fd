from pathlib import Path

import pytest

from appliance.errors import HostUnfit
from appliance.inference.choice import RESERVE, Choice, check_fit, check_processor, choose_chat, required_memory
from appliance.inference.hardware import Hardware
from appliance.inference.store import ModelStore
from tests.unit.inference.making import catalog, model, model_file

GOOD = frozenset({"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"})
LARGE = model(model_file(b"large"), name="large", memory=2_000_000_000, rank=20)
MIDDLE = model(model_file(b"middle"), name="middle", memory=1_000_000_000, rank=10)
SMALL = model(model_file(b"small"), name="small", memory=500_000_000, rank=0, purpose="small")
TINY = model(model_file(b"tiny"), name="tiny", memory=10, rank=0, purpose="plumbing")
MODELS = catalog(SMALL, TINY, MIDDLE, LARGE)


def machine(free: int, *, cores: int = 2, flags: frozenset[str] = GOOD) -> Hardware:
    return Hardware(cores, 8_000_000_000, free, "x86_64", flags)


def chosen(found: Choice) -> str:
    return "" if found.model is None else found.model.name


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path, catalog=MODELS)


def test_best_that_fits_is_chosen_with_the_reason(store: ModelStore) -> None:
    choice = choose_chat(MODELS, store, machine(6_000_000_000))
    assert chosen(choice) == "large"
    assert "best that fits" in choice.why
    assert "2.0 GB" in choice.why


@pytest.mark.parametrize("free", [1_899_999_999, 1_500_000_000, 1_000_000_000, 0])
def test_where_no_model_for_answers_fits_none_is_taken_whatever_smaller_one_would(store: ModelStore, free: int) -> None:
    """A small model would be believed, and is mostly wrong: nobody gets one without having named it."""
    choice = choose_chat(MODELS, store, machine(free))
    assert choice.model is None
    assert "Middle needs 1.9 GB of free memory" in choice.why
    assert "answers are evidence without prose" in choice.why
    assert "Free memory" in choice.why
    assert ("SKELLIG_CHAT__MODEL=small" in choice.why) is (free >= 1_400_000_000), "what would not run is not proposed"


def test_a_machine_with_one_core_is_told_that_answers_are_slow(store: ModelStore) -> None:
    slow = choose_chat(MODELS, store, machine(6_000_000_000, cores=1))
    assert chosen(slow) == "large"
    assert "on 1 core. With one core the first words of an answer take about twice as long" in slow.why
    assert "twice as long" not in choose_chat(MODELS, store, machine(6_000_000_000)).why


def test_context_and_slots_count(store: ModelStore) -> None:
    room = required_memory(LARGE) + RESERVE
    assert chosen(choose_chat(MODELS, store, machine(room))) == "large"
    assert chosen(choose_chat(MODELS, store, machine(room), slots=2)) == "middle"


def test_processor_without_avx2_is_a_sentence(store: ModelStore) -> None:
    """llama.cpp would die of an illegal instruction, and say nothing."""
    with pytest.raises(HostUnfit, match="AVX2"):
        choose_chat(MODELS, store, machine(6_000_000_000, flags=frozenset({"sse"})))
    with pytest.raises(HostUnfit, match="AVX2"):
        check_processor(machine(1, flags=frozenset()))


def test_choice_knows_what_is_in_the_store(store: ModelStore, tmp_path: Path) -> None:
    file = MIDDLE.file[0]
    (tmp_path / file.sha256).mkdir()
    (tmp_path / file.sha256 / file.name).write_bytes(b"middle")
    choice = choose_chat(MODELS, store, machine(6_000_000_000))
    assert not choice.installed
    assert choice.instead is MIDDLE
    assert choose_chat(MODELS, store, machine(2_000_000_000)).installed


def test_model_that_was_asked_for_by_name_must_fit() -> None:
    check_fit(LARGE, machine(3_000_000_000))
    with pytest.raises(HostUnfit, match=r"needs about 2\.0 GB"):
        check_fit(LARGE, machine(1_500_000_000))
