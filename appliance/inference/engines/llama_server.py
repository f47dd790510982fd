"""Chat on llama.cpp, by xllamacpp: slots, prefix cache, JSON schemas, candidates with their probabilities.

llama.cpp's server runs in a child on a unix socket of its own (`llama_child`). So it holds no lock of ours while it loads,
a crash is a sentence and not a silence, and a request that is given up frees its slot while the prompt is still being read.
"""

import asyncio
import collections
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import httpx2
import msgspec
import numpy as np
import numpy.typing as npt

from appliance.base import proc
from appliance.base.budget import Deadline
from appliance.contracts.chat import ChatDelta, ChatRequest, JsonSchema, Message
from appliance.errors import ApplianceError, DeadlineExceeded, EngineUnavailable, InvalidInput, PromptTooLong
from appliance.inference import wire
from appliance.inference.choice import check_fit, check_processor
from appliance.inference.engines.base import LOAD_SECONDS, Capabilities, EngineHealth, EngineInfo, Priority
from appliance.inference.engines.llama_parameters import Parameters
from appliance.inference.engines.program import OFFLINE, Options, main
from appliance.inference.gguf import read_header
from appliance.inference.hardware import probe
from appliance.inference.unix import connected, event_data

_SILENCE_S = 600.0
_POLL_S = 0.05
_KEPT_LINES = 20
_LAST_WORDS_S = 2.0  # to read what a child said that has ended
_PROBE = ChatRequest([Message("user", "Say yes.")], max_tokens=8, schema={"enum": ["yes"]}, top=2)


class _Refusal(msgspec.Struct):
    message: str = ""
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class _Refused(msgspec.Struct):
    error: _Refusal


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """The part of JSON Schema that our own requests use, in schemas that something satisfies."""

    type: Literal["object", "array", "string", "boolean", "integer", "number"] | None = None
    enum: Annotated[list[str | int | float | bool | None], msgspec.Meta(min_length=1)] | None = None
    properties: dict[str, "_Plain"] = {}
    required: list[str] = []
    additionalProperties: bool = True  # noqa: N815 - its name in the standard
    items: "_Plain | None" = None
    maxItems: Annotated[int, msgspec.Meta(ge=0)] | None = None  # noqa: N815

    def __post_init__(self) -> None:
        if (self.enum and (self.type or self.properties)) or not self.properties.keys() >= set(self.required):
            raise ValueError("It may be that nothing satisfies this.")


class _Tokens(msgspec.Struct):
    tokens: list[int]


class LlamaServer:
    """One GGUF model in llama.cpp. *socket* is the engine's own; the child's lies beside it.

    *threads* are those that write, and those that read a prompt.
    """

    def __init__(self, info: EngineInfo, *, model: Path, socket: Path, threads: tuple[int, int], slots: int) -> None:
        self._info = info
        self._model = model
        self._socket = socket.with_suffix(".llama.sock")
        self._threads, self._prompt_threads = threads
        self._slots = slots
        self._child: subprocess.Popen[bytes] | None = None
        self._listener: threading.Thread | None = None
        self._said: collections.deque[str] = collections.deque(maxlen=_KEPT_LINES)
        self._health = EngineHealth("loading", "The model is being loaded.", info.model)
        self._capabilities = Capabilities()

    @property
    def info(self) -> EngineInfo:
        """What is loaded, or about to be."""
        return self._info

    @property
    def capabilities(self) -> Capabilities:
        """What the probe at the start found."""
        return self._capabilities

    @property
    def health(self) -> EngineHealth:
        """``loading``, ``ready`` or ``failed``."""
        return self._health

    async def start(self) -> None:
        """Start llama.cpp, wait until the model is loaded, and probe it with a constrained completion."""
        self._socket.unlink(missing_ok=True)
        self._child = self._spawn()
        self._listener = threading.Thread(target=self._listen, args=(self._child,), daemon=True)
        self._listener.start()
        await self._loaded(self._child)
        deltas = [delta async for delta in self.chat(_PROBE)]
        self._capabilities = _seen(deltas)
        self._health = EngineHealth("ready", "", self._info.model)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Stream a completion; closing the iterator frees the slot, also while the prompt is being read."""
        grammar = _grammar(request.schema) if request.schema is not None and _is_plain(request.schema) else ""
        body = wire.request_body(request, model=self._info.model, grammar=grammar)
        async with connected(self._socket, silence=_SILENCE_S) as client:
            call = client.stream("POST", "/v1/chat/completions", content=body, headers={"content-type": "application/json"})
            async with call as response:
                if response.status_code != httpx2.codes.OK:
                    raise self._refusal(await response.aread())
                async with (
                    contextlib.aclosing(event_data(response)) as events,
                    contextlib.aclosing(wire.deltas(events)) as deltas,
                ):
                    async for delta in deltas:
                        yield delta

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        """Refuse: a chat model makes no vectors."""
        del priority
        raise InvalidInput(f"{self._info.model} is a chat model and makes no vectors.", texts=len(texts))

    async def tokenize(self, text: str) -> list[int]:
        """Return the model's token ids for *text*."""
        body = msgspec.json.encode({"content": text, "add_special": False, "parse_special": False})
        async with connected(self._socket, silence=_SILENCE_S) as client:
            response = await client.post("/tokenize", content=body, headers={"content-type": "application/json"})
            if response.status_code != httpx2.codes.OK:
                raise self._refusal(response.content)
            return msgspec.json.decode(response.content, type=_Tokens).tokens

    async def broken(self) -> str:
        """Wait until llama.cpp has ended, and return how."""
        if self._child is not None:
            await asyncio.to_thread(self._child.wait)
        reason = self._ended()
        self._health = EngineHealth("failed", reason, self._info.model)
        return reason

    async def close(self) -> None:
        """End llama.cpp at once: it holds nothing that must be saved."""
        if self._child is not None:
            await asyncio.to_thread(proc.end_group, self._child, grace=0)
        self._socket.unlink(missing_ok=True)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        parameters = Parameters(
            model=str(self._model),
            alias=self._info.model,
            socket=str(self._socket),
            threads=self._threads,
            prompt_threads=self._prompt_threads,
            context=self._info.context,
            slots=self._slots,
            parent=os.getpid(),
        )
        argv = [
            sys.executable,
            "-P",
            "-m",
            "appliance.inference.engines.llama_child",
            msgspec.json.encode(parameters).decode(),
        ]
        environment = OFFLINE | {
            "OMP_WAIT_POLICY": "passive",
            "GOMP_SPINCOUNT": "0",
            "OMP_NUM_THREADS": str(max(self._threads, self._prompt_threads)),
        }
        return proc.spawn(argv, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, apart=False)

    def _listen(self, child: "subprocess.Popen[bytes]") -> None:
        if child.stderr is None:
            return
        with contextlib.suppress(ValueError):  # closed under us when the engine is
            for line in child.stderr:
                self._said.append(line.decode("utf-8", "replace").strip())

    async def _loaded(self, child: "subprocess.Popen[bytes]") -> None:
        deadline = Deadline(LOAD_SECONDS, what=f"Loading {self._info.model}")
        while child.poll() is None:
            deadline.check()
            if self._socket.exists() and await self._answers():
                return
            await asyncio.sleep(_POLL_S)
        raise self._fail(self._ended())

    async def _answers(self) -> bool:
        try:
            async with connected(self._socket, silence=LOAD_SECONDS) as client:
                return (await client.get("/health")).status_code == httpx2.codes.OK
        except (EngineUnavailable, DeadlineExceeded):
            return False

    def _fail(self, reason: str) -> EngineUnavailable:
        self._health = EngineHealth("failed", reason, self._info.model)
        return EngineUnavailable(reason, remedy="`skellig model verify` checks its file.")

    def _ended(self) -> str:
        if self._listener is not None:
            self._listener.join(_LAST_WORDS_S)  # the sentence that matters is the last one
        code = self._child.poll() if self._child is not None else None
        how = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
        last = next((line for line in reversed(self._said) if line), "it said nothing")
        return f"llama.cpp ended with {how}: {last[:300]}"

    def _refusal(self, body: bytes) -> ApplianceError:
        try:
            told = msgspec.json.decode(body, type=_Refused).error
        except msgspec.DecodeError:
            return EngineUnavailable("llama.cpp answered with something that is not its protocol.")
        if told.type == "exceed_context_size_error":
            return PromptTooLong(
                f"The prompt has {told.n_prompt_tokens:,} tokens, and {self._info.model} takes {told.n_ctx:,}.",
                remedy="Ask with less context, or raise chat.context.",
                prompt_tokens=told.n_prompt_tokens,
                limit=told.n_ctx,
                model=self._info.model,
            )
        if told.type == "invalid_request_error":
            return InvalidInput(f"llama.cpp refuses the request: {told.message[:300]}")
        return EngineUnavailable(f"llama.cpp failed: {told.message[:300]}")


def build(options: Options) -> LlamaServer:
    """Return the engine that *options* ask for; raise `HostUnfit` or `MalformedContent` for what cannot work here."""
    hardware = probe()
    check_processor(hardware)
    check_fit(options.model, hardware, context=options.context, slots=options.slots)
    model = options.files[0]
    header = read_header(model)
    if header.context and options.context > header.context:
        raise InvalidInput(
            f"{options.model.name} has a context of {header.context:,} tokens, and {options.context:,} were asked for.",
            remedy="Lower chat.context.",
        )
    by_default = options.threads == hardware.threads  # reading has few waits, so there every core is worth having
    threads = (options.threads, hardware.cores if by_default else options.threads)
    return LlamaServer(options.info, model=model, socket=options.socket, threads=threads, slots=options.slots)


def _grammar(schema: JsonSchema) -> str:
    """Return *schema* as a grammar of llguidance, which llama.cpp is built with, for JSON without blanks between its parts.

    Left to itself a model indents its JSON, and writes half as many tokens again.
    """
    compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
    return f"%llguidance {{}}\nstart: %json {msgspec.json.encode(compact).decode()}"


def _is_plain(schema: object) -> bool:
    """Return whether llguidance surely takes *schema*: one that it does not take would constrain nothing, without a word."""
    try:
        msgspec.convert(schema, _Plain)
    except msgspec.ValidationError:
        return False
    return True


def _seen(deltas: Sequence[ChatDelta]) -> Capabilities:
    text = "".join(delta.text for delta in deltas)
    return Capabilities(
        chat=bool(text),
        schema=text.strip() == '"yes"',
        candidates=any(len(delta.top) > 1 for delta in deltas),
    )


if __name__ == "__main__":
    sys.exit(main(build, role="chat", argv=sys.argv[1:], threads=probe().threads))
