"""What an engine program does as a process: one clear sentence when it cannot work, and nothing left when it ends."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.base import proc
from appliance.codeintel.query import context
from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import EngineUnavailable
from appliance.inference.card import read_card
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineInfo
from appliance.inference.engines.llama import LlamaEngine
from appliance.inference.engines.llama_cpp_python import LlamaCppPython
from appliance.inference.engines.llama_server import LlamaServer
from appliance.inference.hardware import probe
from tests.contract.engine.conftest import CHAT
from tests.support.engines import ScriptedEngine, needed_package, served_in_thread, wait_ready
from tests.support.models import MINILM, SMOL, needed

Start = Callable[..., "subprocess.Popen[bytes]"]
_PATIENCE_S = 60.0


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Give a function that starts an engine program on the folder's socket; whatever still runs at the end is killed."""
    children = []

    def started(kind: str, *options: str) -> "subprocess.Popen[bytes]":
        argv = [sys.executable, "-m", f"appliance.inference.engines.{kind}", "--socket", str(folder / "e.sock"), *options]
        child = proc.spawn(argv, stderr=subprocess.PIPE)
        children.append(child)
        return child

    yield started
    for child in children:
        proc.end_group(child, grace=0)


@pytest.fixture(params=CHAT)
def smol(request: pytest.FixtureRequest, start: Start, folder: Path) -> tuple["subprocess.Popen[bytes]", EngineClient]:
    """Give a running program with the smallest model, and its client."""
    needed_package(request.param)
    child = start(request.param, "--name", SMOL, "--model", str(needed(SMOL)[0]), "--context", "512", "--threads", "1")
    client = EngineClient(folder / "e.sock", expected=EngineInfo("chat", SMOL, 512))
    wait_ready(client)
    return child, client


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--name", "no-such-model", "--model", "x.gguf"], "No model is called 'no-such-model'"),
        (["--name", MINILM, "--model", "/nowhere/all-minilm-l6-v2-int8.onnx"], "is missing"),
        (["--name", MINILM, "--model", "x.onnx", "--threads", "0"], "at least 1"),
        (["--name", SMOL, "--model", "x.gguf"], "is for the role chat, not embed"),
        (["--name", SMOL, "--model", "x.gguf", "--catalog", "/nowhere.toml"], "does not exist"),
    ],
    ids=["unknown", "missing", "threads", "role", "catalogue"],
)
def test_program_that_cannot_work_says_why_and_exits(start: Start, options: list[str], sentence: str) -> None:
    child = start("onnx_embed", *options)
    _, said = child.communicate(timeout=_PATIENCE_S)
    assert child.returncode == 1
    assert sentence in said.decode()
    assert "Traceback" not in said.decode()


@pytest.mark.parametrize(
    ("kind", "role"), [("onnx_embed", "embed"), ("llama_server", "chat"), ("llama_cpp_python", "chat"), ("vllm", "chat")]
)
def test_program_that_cannot_work_announces_itself_in_its_own_role(start: Start, folder: Path, kind: str, role: str) -> None:
    start(kind, "--name", "no-such-model", "--model", "x.bin").communicate(timeout=_PATIENCE_S)
    card = read_card(folder / "e.sock")
    assert card is not None
    assert (card.info.role, card.info.model) == (role, "no-such-model")
    assert card.failure


@pytest.mark.parametrize("kind", CHAT)
def test_engine_that_must_run_on_a_gpu_says_why_it_cannot(start: Start, kind: str) -> None:
    """A model on two cores where everybody waits for a card's speed looks like a broken appliance."""
    if probe().gpus:
        pytest.skip(f"this machine has a GPU: {probe().gpus}")
    needed_package(kind)
    child = start(kind, "--name", SMOL, "--model", str(needed(SMOL)[0]), "--gpu")
    _, said = child.communicate(timeout=_PATIENCE_S)
    assert child.returncode == 1
    assert "gpu is `required`" in said.decode()


def test_engine_that_answers_one_at_a_time_refuses_slots(start: Start) -> None:
    needed_package("llama_cpp_python")
    child = start("llama_cpp_python", "--name", SMOL, "--model", str(needed(SMOL)[0]), "--slots", "2")
    _, said = child.communicate(timeout=_PATIENCE_S)
    assert child.returncode == 1
    assert "one request at a time" in said.decode()


def test_model_with_another_digest_does_not_reach_the_engine(start: Start, folder: Path) -> None:
    files = []
    for path in needed(MINILM):
        files.append(Path(shutil.copy(path, folder / path.name)))
        files[-1].chmod(0o600)
    with files[0].open("r+b") as file:
        file.seek(1000)
        file.write(b"flip")
    child = start("onnx_embed", "--name", MINILM, *(part for path in files for part in ("--model", str(path))))
    _, said = child.communicate(timeout=_PATIENCE_S)
    assert child.returncode == 1
    assert "sha256" in said.decode()
    client = EngineClient(folder / "e.sock", expected=EngineInfo("embed", MINILM, 256))
    assert "sha256" in asyncio.run(client.health()).detail


@pytest.mark.parametrize(("kind", "package"), [(LlamaServer, "llama_server"), (LlamaCppPython, "llama_cpp_python")])
def test_file_that_llama_cannot_load_is_a_sentence(folder: Path, kind: type[LlamaEngine], package: str) -> None:
    """Digest and header may be right, and the rest of no use to this version of the library."""
    needed_package(package)
    (folder / "hollow.gguf").write_bytes(b"GGUF")
    info = EngineInfo("chat", "hollow", 512)
    engine = kind(info, model=folder / "hollow.gguf", socket=folder / "e.sock", threads=(1, 1))

    async def start_it() -> None:
        try:
            await engine.start()
        finally:
            await engine.close()

    with pytest.raises(EngineUnavailable, match=r"cannot load .*hollow\.gguf"):
        asyncio.run(start_it())
    assert engine.health.state == "failed"


def test_second_program_on_one_socket_says_so_and_exits(start: Start, folder: Path) -> None:
    with served_in_thread(ScriptedEngine(), folder / "e.sock") as client:
        child = start("onnx_embed", "--name", MINILM, "--model", "x")
        _, said = child.communicate(timeout=_PATIENCE_S)
        assert child.returncode == 1
        assert "Another engine listens" in said.decode()
        assert asyncio.run(client.health()).state == "ready"


def test_pack_reckons_tokens_of_code_as_a_model_counts_them(smol: tuple["subprocess.Popen[bytes]", EngineClient]) -> None:
    code = Path(context.__file__).read_text(encoding="utf-8")
    counted = asyncio.run(smol[1].tokens(code))
    assert 0.8 <= context.tokens_of(code) / counted <= 1.2


def test_no_engine_listens_on_tcp(smol: tuple["subprocess.Popen[bytes]", EngineClient]) -> None:
    """Nothing but unix sockets: the same appliance must run under a filter that knows no AF_INET."""
    ours = {inode for pid in family(smol[0].pid) for inode in sockets_of(pid)}
    listening = {
        line.split()[9]
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]
    }
    assert ours
    assert not ours & listening


def test_stop_ends_the_child_and_removes_the_sockets(
    smol: tuple["subprocess.Popen[bytes]", EngineClient], folder: Path
) -> None:
    child, client = smol
    pids = family(child.pid)
    child.send_signal(signal.SIGTERM)
    assert child.wait(_PATIENCE_S) == 0
    assert gone(pids)
    assert not list(folder.glob("*.sock"))
    assert asyncio.run(client.health()).state == "down"


def test_program_and_its_child_share_a_session(smol: tuple["subprocess.Popen[bytes]", EngineClient]) -> None:
    """Else the kernel shares the cores out by session, and no thread of another engine, however nice, gives way to it."""
    child, _ = smol
    assert {os.getsid(pid) for pid in family(child.pid)} == {os.getsid(child.pid)}


def test_kill_of_the_program_ends_its_child(smol: tuple["subprocess.Popen[bytes]", EngineClient]) -> None:
    child, _ = smol
    pids = family(child.pid)
    child.kill()
    child.wait(_PATIENCE_S)
    assert gone(pids)


def test_death_of_the_child_ends_the_answer_and_the_program(smol: tuple["subprocess.Popen[bytes]", EngineClient]) -> None:
    """A crash of llama.cpp is a sentence in the status, not an engine that looks alive and answers nothing."""
    child, client = smol
    inner = next(pid for pid in family(child.pid) if pid != child.pid)

    async def ask() -> str:
        try:
            async for _ in client.chat(ChatRequest([Message("user", "Write a story.")], max_tokens=400)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(inner, signal.SIGKILL)
        except Exception as exc:  # noqa: BLE001 - its kind is the claim
            return type(exc).__name__
        return "nothing"

    assert asyncio.run(ask()) == "EngineUnavailable"
    assert child.wait(_PATIENCE_S) == 1
    health = asyncio.run(client.health())
    assert health.state == "failed"
    assert "signal 9" in health.detail


def family(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text("ascii").split()]
    return found


def sockets_of(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(entry.readlink())
            if target.startswith("socket:["):
                yield target[len("socket:[") : -1]


def gone(pids: list[int]) -> bool:
    """Poll until none of *pids* runs; one that is dead and not yet reaped by its new parent counts as gone."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        if not any(runs(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def said(client: EngineClient, request: ChatRequest) -> str:
    async def text() -> str:
        return "".join([delta.text async for delta in client.chat(request)])

    return asyncio.run(text())
