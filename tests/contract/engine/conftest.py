import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from appliance.inference.client import EngineClient
from tests.support.engines import ScriptedEngine, program, served_in_thread
from tests.support.models import MINILM, SMOL, needed

CONTEXT = 1024


@pytest.fixture(scope="module", params=["scripted", "llama_server"])
def chat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """Give a chat engine with one slot and a context of CONTEXT tokens, behind its socket."""
    socket = tmp_path_factory.mktemp("engine") / "chat.sock"
    if request.param == "scripted":
        with served_in_thread(ScriptedEngine(_said, context=CONTEXT, pace=2000), socket) as client:
            yield client
    else:
        options = ["--context", str(CONTEXT), "--threads", "1", "--slots", "1"]
        with program("llama_server", name=SMOL, files=needed(SMOL), socket=socket, options=options) as client:
            yield client


@pytest.fixture(scope="module", params=["scripted", "onnx_embed"])
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """Give an embedding engine, behind its socket."""
    socket = tmp_path_factory.mktemp("engine") / "embed.sock"
    if request.param == "scripted":
        with served_in_thread(ScriptedEngine(dimensions=16), socket) as client:
            yield client
    else:
        with program("onnx_embed", name=MINILM, files=needed(MINILM), socket=socket) as client:
            yield client


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a path short enough for a socket."""
    return tmp_path_factory.mktemp("e")


def _said(request: ChatRequest) -> str:
    """Obey a schema of one constant, as a real engine is made to; else say enough to be cut off."""
    if request.schema is not None and "enum" in request.schema:
        values = request.schema["enum"]
        assert isinstance(values, list)
        return json.dumps(values[0], ensure_ascii=False)
    return "a word and another word, " * 200
