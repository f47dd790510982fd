"""Chat on vLLM, for GPUs: ``vllm serve`` as a child on a unix socket, offline, and its wire made ours.

vLLM takes a folder, so the model's files are linked into one: safetensors, JSON and text alone, for a pickle or a Python
file would be run. Its candidates are those after the constraint, so a request with a schema gets none.
"""

import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from appliance.base import durable
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, EngineUnavailable, HostUnfit, InvalidInput, PromptTooLong
from appliance.inference import wire
from appliance.inference.choice import check_gpu, check_processor
from appliance.inference.engines.base import COMPILE_SECONDS, EngineInfo
from appliance.inference.engines.child import ChildEngine
from appliance.inference.engines.program import OFFLINE, Options, leave, main
from appliance.inference.hardware import probe

PROGRAM: Final = "vllm"
_PREFIX = re.compile(r"^(\([^)]*pid=\d+\)\s*)+")  # which of its processes says it
_QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_DO_NOT_TRACK": "1",
    "VLLM_CONFIGURE_LOGGING": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; read on a CPU only
}
# What vLLM says when it cannot start, and why that is, in a sentence; the first that fits.
_REASONS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("Failed to infer device type", "No CUDA GPUs are available", "Found no NVIDIA driver", "no CUDA-capable device"),
        "it found no GPU that it can use",
    ),
    (
        ("out of memory", "OutOfMemoryError", "less than desired GPU memory", "No available memory for the cache"),
        "the model does not fit into the GPU's memory",
    ),
    (
        ("larger than the maximum number of tokens that can be stored in KV cache", "larger than the available KV cache"),
        "the memory that is left holds no context of this length: lower chat.context",
    ),
    (
        ("is greater than the derived max_model_len",),
        "the model has no context of this length: lower chat.context",
    ),
    (
        ("are not supported for now", "Cannot find any model weights", "SafetensorError", "not a valid JSON file"),
        "it refuses the model's files",
    ),
    (
        ("does not recognize this architecture", "should have a `model_type` key", "Can't load tokenizer"),
        "it refuses the model's files",
    ),
    (
        ("Address already in use", "AF_UNIX path too long", "error while attempting to bind"),
        "its socket cannot be bound",
    ),
    (("unrecognized arguments", "invalid choice"), "this version of vLLM does not know an option of ours"),
)


class _Count(msgspec.Struct):
    count: int


class _Refusal(msgspec.Struct):
    message: str = ""
    code: int = 0


class _Refused(msgspec.Struct):
    error: _Refusal


class Vllm(ChildEngine):
    """One model folder in ``vllm serve``."""

    server = "vLLM"
    load_seconds: ClassVar[float] = COMPILE_SECONDS
    remedy = "`skellig model verify` checks its files."

    def __init__(self, info: EngineInfo, *, program: str, files: Sequence[Path], socket: Path, slots: int) -> None:
        super().__init__(info, socket=socket)
        self._program = program
        self._files = files
        self._folder = socket.with_suffix(".vllm") / "model"
        self._home = socket.with_suffix(".vllm") / "home"  # what it compiles for this machine, kept for the next start
        self._slots = slots

    async def start(self) -> None:
        """Link the model's files into one folder, start vLLM, wait until the model is loaded, and probe it."""
        shutil.rmtree(self._folder, ignore_errors=True)
        for folder in (self._folder.parent, self._folder, self._home):
            durable.make_directory(folder)
        for file in self._files:
            (self._folder / file.name).symlink_to(file)
        await super().start()

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion; closing the iterator ends its work.

        vLLM refuses a prompt whose answer might not fit, in words; so the prompt's tokens are counted first.
        """
        asked = {"model": self._info.model, "messages": [{"role": m.role, "content": m.content} for m in request.messages]}
        tokens = msgspec.json.decode(await self._post("/tokenize", msgspec.json.encode(asked)), type=_Count).count
        room = self._info.context - tokens
        if room < 1:
            raise PromptTooLong(
                f"The prompt has {tokens:,} tokens, and {self._info.model} takes {self._info.context:,}.",
                remedy="Ask with less context, or raise chat.context.",
                prompt_tokens=tokens,
                limit=self._info.context,
                model=self._info.model,
            )
        top = 0 if request.schema is not None else request.top
        fitting = replace(request, max_tokens=min(request.max_tokens, room), top=top)
        async with aclosing(super().chat(fitting)) as deltas:
            async for delta in deltas:
                yield delta

    async def close(self) -> None:
        """End vLLM at once, and remove the folder of links."""
        await super().close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self) -> list[str]:
        serve = [self._program, "serve", str(self._folder), "--served-model-name", self._info.model]
        limits = ["--max-model-len", str(self._info.context), "--max-num-seqs", str(self._slots)]
        wire_ = ["--uds", str(self._socket), "--max-logprobs", str(wire.MAX_TOP), "--enable-prompt-tokens-details"]
        rest = ["--load-format", "safetensors", "--generation-config", "vllm", "--enable-prefix-caching"]
        compact = ["--structured-outputs-config", '{"backend":"guidance","disable_any_whitespace":true}']
        quiet = ["--no-enable-log-requests", "--disable-uvicorn-access-log", "--disable-fastapi-docs"]
        child = [sys.executable, "-P", "-m", "appliance.inference.engines.vllm_child", str(os.getpid())]
        return [*child, *serve, *limits, *wire_, *rest, *compact, *quiet]

    def _environment(self) -> Mapping[str, str]:
        caches = ("HOME", "XDG_CACHE_HOME", "VLLM_CACHE_ROOT", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
        return OFFLINE | _QUIET | dict.fromkeys(caches, str(self._home))

    def _tokenizing(self, text: str) -> bytes:
        return msgspec.json.encode({"model": self._info.model, "prompt": text, "add_special_tokens": False})

    def _refusal(self, body: bytes) -> ApplianceError:
        try:
            told = msgspec.json.decode(body, type=_Refused).error
        except msgspec.DecodeError:
            return EngineUnavailable("vLLM answered with something that is not its protocol.")
        if 400 <= told.code < 500:
            return InvalidInput(f"vLLM refuses the request: {told.message[:300]}")
        return EngineUnavailable(f"vLLM failed: {told.message[:300]}")

    def _explained(self, said: Sequence[str]) -> str:
        lines = [_PREFIX.sub("", line) for line in said]
        for marks, reason in _REASONS:
            for line in reversed(lines):
                if any(mark.lower() in line.lower() for mark in marks):
                    return f"{reason}. It said: {line[:300]}"
        return super()._explained(lines)


def build(options: Options) -> Vllm:
    """Return the engine that *options* ask for; raise `HostUnfit` for what cannot work here."""
    hardware = probe()
    check_processor(hardware)
    if options.gpu:
        check_gpu(hardware, "vllm")
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=Path(sys.executable).parent)
    if program is None:
        raise HostUnfit(
            "vLLM is not installed: there is no program `vllm`.",
            remedy="Use an image or a Python that has it, or set chat.engine to `auto`.",
        )
    return Vllm(options.info, program=program, files=options.files, socket=options.socket, slots=options.slots)


if __name__ == "__main__":
    leave(main(build, role="chat", argv=sys.argv[1:], threads=1))
