"""What vLLM's engine does beyond every chat engine's promise: one sentence for each way in which vLLM does not start."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import ApplianceError, EngineUnavailable, InvalidInput
from appliance.inference.catalog import Catalog
from appliance.inference.engines import vllm
from appliance.inference.engines.base import EngineInfo
from appliance.inference.engines.program import Options
from appliance.inference.engines.vllm import Vllm
from tests.contract.engine.conftest import FOLDER, folder_model, weights
from tests.support import vllm_stand_in
from tests.support.vllm_stand_in import LAST_WORDS

SENTENCES = {
    "gpu": "found no GPU",
    "memory": "does not fit into the GPU's memory",
    "free": "does not fit into the GPU's memory",
    "cache": "lower chat.context",
    "context": "lower chat.context",
    "architecture": "refuses the model's files",
    "weights": "refuses the model's files",
    "header": "refuses the model's files",
    "socket": "socket cannot be bound",
    "option": "does not know an option",
}


def engine(folder: Path, programs: Path) -> Vllm:
    files = weights(folder)
    info = EngineInfo("chat", FOLDER, 1024)
    return Vllm(info, program=str(programs / "vllm"), files=files, socket=folder / "e.sock", slots=1)


def reason(made: Vllm) -> str:
    """Start *made*, which cannot start, and return why."""

    async def start_it() -> str:
        try:
            await made.start()
        except EngineUnavailable as exc:
            return str(exc)
        finally:
            await made.close()
        raise AssertionError("It started.")

    return asyncio.run(start_it())


@pytest.mark.parametrize("wrong", LAST_WORDS)
def test_vllm_that_cannot_start_is_a_sentence(folder: Path, wrong: str) -> None:
    made = engine(folder, vllm_stand_in.install(folder / "bin", says=LAST_WORDS[wrong]))
    said = reason(made)
    assert said.startswith("vLLM ended with status 1: ")
    assert SENTENCES[wrong] in said
    assert f"It said: {LAST_WORDS[wrong]}"[:100] in said
    assert "Traceback" not in said
    assert made.health.state == "failed"


def test_death_by_a_signal_is_a_sentence(folder: Path) -> None:
    """The kernel's killer of what takes too much memory leaves no word."""
    made = engine(folder, vllm_stand_in.install(folder / "bin", kills=signal.SIGKILL))
    assert "vLLM ended with signal 9" in reason(made)


def test_words_that_nobody_knows_are_told_as_they_are(folder: Path) -> None:
    made = engine(folder, vllm_stand_in.install(folder / "bin", says="ValueError: Quantum flux.", status=3))
    assert "vLLM ended with status 3: ValueError: Quantum flux." in reason(made)


def test_vllm_that_is_not_installed_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(vllm.PROGRAM, path=os.defpath):
        pytest.skip("vLLM is installed for all on this machine")
    monkeypatch.setenv("PATH", str(folder))
    model = Catalog.load(folder_model(folder, weights(folder))).get(FOLDER)
    with pytest.raises(ApplianceError, match="vLLM is not installed"):
        vllm.build(Options(model, (), folder / "e.sock", threads=1, context=1024, slots=1, gpu=False))


def test_vllm_sees_the_models_files_and_nothing_else(folder: Path) -> None:
    made = engine(folder, vllm_stand_in.install(folder / "bin"))

    async def look() -> list[str]:
        await made.start()
        try:
            return sorted(path.name for path in (folder / "e.vllm" / "model").iterdir())
        finally:
            await made.close()

    assert asyncio.run(look()) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert not (folder / "e.vllm" / "model").exists()
    assert not list(folder.glob("*.child.sock"))


def test_an_answer_that_cannot_fit_is_cut_and_not_refused(folder: Path) -> None:
    """A prompt where the tokens asked for would not fit behind it is refused by vLLM."""
    made = engine(folder, vllm_stand_in.install(folder / "bin"))

    async def ask() -> tuple[int, str]:
        await made.start()
        try:
            prompt = "word " * 1000
            last = [delta async for delta in made.chat(ChatRequest([Message("user", prompt)], max_tokens=900))][-1]
            return last.completion_tokens, last.finish
        finally:
            await made.close()

    count, finish = asyncio.run(ask())
    assert 0 < count < 30
    assert finish == "length"


@pytest.mark.parametrize(("schema", "word"), [({"type": "nonsense"}, "Grammar error"), ({"enum": 5}, "Failed to convert")])
def test_schema_that_vllm_refuses_is_told_as_the_callers_fault(folder: Path, schema: dict[str, object], word: str) -> None:
    """It refuses some with a status, and some in the middle of an answer that has begun with 200."""
    made = engine(folder, vllm_stand_in.install(folder / "bin"))

    async def ask() -> None:
        await made.start()
        try:
            async for _ in made.chat(ChatRequest([Message("user", "x")], schema=schema)):
                pass
        finally:
            await made.close()

    with pytest.raises(InvalidInput, match=f"vLLM refuses the request: {word}"):
        asyncio.run(ask())


@pytest.mark.parametrize("name", ["pytorch_model.bin", "modeling_custom.py", "model.pt", "weights.pkl"])
def test_model_with_code_in_it_never_gets_into_the_catalogue(folder: Path, name: str) -> None:
    files = [*weights(folder), folder / name]
    files[-1].write_text("import os")
    with pytest.raises(InvalidInput, match="safetensors"):
        Catalog.load(folder_model(folder, files))
