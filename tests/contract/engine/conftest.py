import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from appliance.inference.catalog import Catalog
from appliance.inference.client import EngineClient
from tests.support.engines import ScriptedEngine, needed_package, program, served_in_thread
from tests.support.models import MINILM, SMOL, needed

CONTEXT = 1024


CHAT = ["llama_server", "llama_cpp_python"]
EMBED = ["onnx_embed", "llama_cpp_python"]


@pytest.fixture(scope="module", params=["scripted", *CHAT])
def chat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """Give a chat engine with one slot and a context of CONTEXT tokens, behind its socket."""
    if request.param == "scripted":
        socket = tmp_path_factory.mktemp("engine") / "chat.sock"
        with served_in_thread(ScriptedEngine(_said, context=CONTEXT, pace=2000), socket) as client:
            yield client
    else:
        yield request.getfixturevalue(f"_{request.param}")


@pytest.fixture(scope="module", params=CHAT)
def model(request: pytest.FixtureRequest) -> EngineClient:
    """Give a chat engine with a model, as `chat`."""
    client = request.getfixturevalue(f"_{request.param}")
    assert isinstance(client, EngineClient)
    return client


@pytest.fixture(scope="module", params=["scripted", *EMBED])
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """Give an embedding engine, behind its socket."""
    folder = tmp_path_factory.mktemp("engine")
    socket = folder / "embed.sock"
    if request.param == "scripted":
        with served_in_thread(ScriptedEngine(dimensions=16), socket) as client:
            yield client
    elif request.param == "onnx_embed":
        with program("onnx_embed", name=MINILM, files=needed(MINILM), socket=socket) as client:
            yield client
    else:
        needed_package(request.param)
        options = ["--role", "embed", "--catalog", str(_encoders(folder)), "--threads", "1"]
        with program(request.param, name="encoder", files=needed(SMOL), socket=socket, options=options) as client:
            yield client


@pytest.fixture(scope="module")
def _llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    yield from _small("llama_server", tmp_path_factory)


@pytest.fixture(scope="module")
def _llama_cpp_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    needed_package("llama_cpp_python")
    yield from _small("llama_cpp_python", tmp_path_factory)


def _small(kind: str, folders: pytest.TempPathFactory) -> Iterator[EngineClient]:
    options = ["--context", str(CONTEXT), "--threads", "1", "--slots", "1"]
    with program(kind, name=SMOL, files=needed(SMOL), socket=folders.mktemp("e") / "c.sock", options=options) as client:
        yield client


def _encoders(folder: Path) -> Path:
    """Write a catalogue with one GGUF that makes vectors: the smallest chat model, whose states are vectors too."""
    file = Catalog.load().get(SMOL).file[0]
    catalog = folder / "catalog.toml"
    catalog.write_text(f"""version = 1
[[model]]
name = "encoder"
title = "Vectors of the smallest model"
role = "embed"
purpose = "embeddings"
engine = "llama_cpp_python"
licence = "Apache-2.0"
context = 256
memory = 250_000_000
dimensions = 576
[[model.file]]
name = "{file.name}"
size = {file.size}
sha256 = "{file.sha256}"
""")
    return catalog


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
