import pytest

from appliance.inference.engines.llama import fault_in
from appliance.inference.engines.llama_parameters import FAULT


@pytest.mark.parametrize(
    "said",
    [
        [f"{FAULT}llama.cpp cannot load a.gguf."],
        ["loading", f"E srv          {FAULT}llama.cpp cannot load a.gguf.", "init: exiting due to model loading error"],
    ],
)
def test_the_sentence_is_found_in_whatever_line_of_the_library_it_fell(said: list[str]) -> None:
    """The library logs from threads of its own, piece by piece."""
    assert fault_in(said) == "llama.cpp cannot load a.gguf."


def test_a_child_that_gave_no_reason_has_none() -> None:
    assert fault_in(["loading", "error"]) == ""
