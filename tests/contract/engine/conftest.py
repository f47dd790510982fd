import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from appliance.inference.catalog import Catalog
from appliance.inference.client import EngineClient
from tests.support import vllm_stand_in
from tests.support.engines import ScriptedEngine, needed_package, program, served_in_thread
from tests.support.models import MINILM, SMOL, needed

CONTEXT = 1024


CHAT = ["llama_server", "llama_cpp_python"]
FOLDER = "a-model-folder"
EMBED = ["onnx_embed", "llama_cpp_python"]


@pytest.fixture(scope="module", params=["scripted", *CHAT, "vllm"])
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


@pytest.fixture(scope="module")
def _vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    """Give vLLM's engine before the stand-in, or before the real one where ``SKELLIG_TEST_VLLM`` names its folder."""
    folder = tmp_path_factory.mktemp("v")
    real = os.environ.get("SKELLIG_TEST_VLLM")
    programs = Path(real) if real else vllm_stand_in.install(folder / "bin")
    files = sorted(Path(os.environ["SKELLIG_TEST_VLLM_MODEL"]).glob("[!.]*")) if real else weights(folder)
    options = ["--catalog", str(folder_model(folder, files)), "--context", str(CONTEXT)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        patience = 900 if real else 60
        with program(
            "vllm", name=FOLDER, files=files, socket=folder / "c.sock", options=options, patience=patience
        ) as client:
            yield client


def weights(folder: Path) -> list[Path]:
    """Write the files of a model that is one by its names alone."""
    files = [folder / name for name in ("config.json", "model.safetensors", "tokenizer.json")]
    for file in files:
        file.write_text(f"{file.name} of no model\n")
    return files


def folder_model(folder: Path, files: Sequence[Path]) -> Path:
    """Write a catalogue with one model for vLLM, of *files*."""
    rows = [f'[[model.file]]\nname = "{f.name}"\nsize = {f.stat().st_size}\nsha256 = "{_digest(f)}"' for f in files]
    head = [
        f'[[model]]\nname = "{FOLDER}"\ntitle = "A folder"\nrole = "chat"\npurpose = "plumbing"\nengine = "vllm"',
        'licence = "Apache-2.0"\ncontext = 8192\nmemory = 1',
    ]
    catalog = folder / "catalog.toml"
    catalog.write_text("\n".join(["version = 1", *head, *rows]))
    return catalog


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


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
