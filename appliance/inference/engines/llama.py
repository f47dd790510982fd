"""What the engines on llama.cpp share: one GGUF model in a child, its parameters as one JSON argument, and what must fit."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

import msgspec

from appliance.errors import InvalidInput
from appliance.inference.catalog import EngineKind
from appliance.inference.choice import check_fit, check_gpu, check_processor
from appliance.inference.engines.base import EngineInfo
from appliance.inference.engines.child import ChildEngine
from appliance.inference.engines.llama_parameters import FAULT, Parameters
from appliance.inference.engines.program import OFFLINE, Options
from appliance.inference.gguf import read_header
from appliance.inference.hardware import probe

_Built = TypeVar("_Built")


def fault_in(said: Sequence[str]) -> str:
    """Return what a child said of its end, or "". The library's own threads may be in the middle of a line then."""
    return next((line.partition(FAULT)[2] for line in said if FAULT in line), "")


class LlamaEngine(ChildEngine):
    """One GGUF model in llama.cpp. *threads* are those that write, and those that read a prompt."""

    server = "llama.cpp"
    module: ClassVar[str]  # the child's program

    def __init__(
        self, info: EngineInfo, *, model: Path, socket: Path, threads: tuple[int, int], slots: int = 1, gpu: bool = False
    ) -> None:
        super().__init__(info, socket=socket)
        self._model = model
        self._threads, self._prompt_threads = threads
        self._slots = slots
        self._gpu = gpu

    def _command(self) -> list[str]:
        parameters = Parameters(
            model=str(self._model),
            alias=self._info.model,
            socket=str(self._socket),
            threads=self._threads,
            prompt_threads=self._prompt_threads,
            context=self._info.context,
            slots=self._slots,
            dimensions=self._info.dimensions,
            gpu=self._gpu,
            parent=os.getpid(),
        )
        module = f"appliance.inference.engines.{self.module}"
        return [sys.executable, "-P", "-m", module, msgspec.json.encode(parameters).decode()]

    def _explained(self, said: Sequence[str]) -> str:
        return fault_in(said) or super()._explained(said)

    def _environment(self) -> Mapping[str, str]:
        return OFFLINE | {
            "OMP_WAIT_POLICY": "passive",
            "GOMP_SPINCOUNT": "0",
            "OMP_NUM_THREADS": str(max(self._threads, self._prompt_threads)),
        }


def fitted(options: Options, kind: EngineKind, make: Callable[[Path, tuple[int, int]], _Built]) -> _Built:
    """Return what *make* makes of the model's file and the threads, once it is sure that *kind* can run them here.

    Raise `HostUnfit`, `MalformedContent` or `InvalidInput` for what cannot work here.
    """
    hardware = probe()
    check_processor(hardware)
    if options.gpu:
        check_gpu(hardware, kind)
    check_fit(options.model, hardware, context=options.context, slots=options.slots)
    model = options.files[0]
    header = read_header(model)
    if header.context and options.context > header.context:
        raise InvalidInput(
            f"{options.model.name} has a context of {header.context:,} tokens, and {options.context:,} were asked for.",
            remedy="Lower chat.context.",
        )
    by_default = options.threads == hardware.threads  # reading has few waits, so there every core is worth having
    return make(model, (options.threads, hardware.cores if by_default else options.threads))
