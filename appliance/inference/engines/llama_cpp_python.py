"""Chat and vectors on llama.cpp, by llama-cpp-python: the binding that can be built for the most hardware.

The model is loaded in a child (`llama_cpp_child`), which answers one request at a time. The package is optional.
"""

import importlib.util
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from appliance.errors import ApplianceError, HostUnfit, InvalidInput
from appliance.inference import wire
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import Capabilities, Priority
from appliance.inference.engines.llama import LlamaEngine, fitted
from appliance.inference.engines.program import Options, leave, main
from appliance.inference.hardware import probe


class LlamaCppPython(LlamaEngine):
    """One GGUF model in llama-cpp-python, for chat or, with dimensions, for vectors."""

    module = "llama_cpp_child"

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        """Return one unit vector a text, in the order of *texts*; a chat model refuses."""
        if not self._info.dimensions:
            return await super().embed(texts, priority=priority)
        return await EngineClient(self._socket, expected=self._info, priority=priority).embed(texts)

    async def _probe(self) -> Capabilities:
        if not self._info.dimensions:
            return await super()._probe()
        return Capabilities(embed=(await self.embed(["one"])).shape == (1, self._info.dimensions))

    def _refusal(self, body: bytes) -> ApplianceError:
        return wire.read_error(body)


def build(options: Options) -> LlamaCppPython:
    """Return the engine that *options* ask for; raise `HostUnfit` or `InvalidInput` for what cannot work here."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise HostUnfit(
            "llama-cpp-python is not installed.",
            remedy="Install skellig[llama-cpp] into this Python, or set the engine to `auto`.",
        )
    if options.slots > 1:
        raise InvalidInput(
            f"llama_cpp_python answers one request at a time, and chat.slots asks for {options.slots}.",
            remedy="Set chat.slots to 1, or chat.engine to `llama_server`.",
        )
    return fitted(
        options,
        "llama_cpp_python",
        lambda model, threads: LlamaCppPython(
            options.info, model=model, socket=options.socket, threads=threads, gpu=options.gpu
        ),
    )


if __name__ == "__main__":
    leave(main(build, role="chat", argv=sys.argv[1:], threads=probe().threads))
