"""Real models for tests, from a store that is never filled by a test: skipped with the reason where one is not there."""

import os
from pathlib import Path

import pytest

from appliance.inference.catalog import Catalog
from appliance.inference.store import ModelStore

SMOL = "smollm2-135m-instruct-q4_1"
MINILM = "all-minilm-l6-v2-int8"
SMALL = "qwen2.5-coder-0.5b-instruct-q4_k_m"
ANSWERS = "qwen2.5-coder-1.5b-instruct-q4_k_m"
_HERE = Path(__file__).resolve().parents[2] / ".cache" / "models"


def store_root() -> Path:
    """Return ``$SKELLIG_TEST_MODELS``, or the checkout's own ``.cache/models``."""
    return Path(os.environ.get("SKELLIG_TEST_MODELS") or _HERE)


def model_store() -> ModelStore:
    """Return the store with the tests' models."""
    return ModelStore(store_root(), catalog=Catalog.load())


def needed(name: str) -> tuple[Path, ...]:
    """Return the files of the model *name*, or skip the test."""
    store = model_store()
    if not store.have(name):
        pytest.skip(f"the model {name} is not in {store_root()}: `skellig model pull {name} --store {store_root()}` gets it")
    return store.trusted(name)
