"""Embeddings on onnxruntime: mean-pooled, normalised, a window of as many tokens as the model was trained for."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import tokenizers

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import EngineUnavailable, InvalidInput
from appliance.inference.engines.base import Capabilities, EngineHealth, EngineInfo, Priority, Stated
from appliance.inference.engines.lanes import Lanes
from appliance.inference.engines.program import Options, leave, main

_MAX_CHARACTERS = 16_384  # far beyond any window, so that one huge text does not cost its whole length


class OnnxEmbedder(Stated):
    """One sentence encoder: requests take turns text by text, and a query never waits for an indexer's texts, not even one.

    With one thread, the default, a pass runs in the lane's own thread and has its niceness; the further threads of a wider
    pass are onnxruntime's, with none.

    One text a pass: the int8 model scales its numbers by the largest of the whole pass, so in company a text would have
    another vector than alone; and larger passes were no faster (measured: 20, 18, 18, 13 texts a second at 1, 2, 4, 8).
    """

    def __init__(self, info: EngineInfo, *, model: Path, tokenizer: Path, threads: int) -> None:
        super().__init__(info)
        self._model = model
        self._tokenizer_file = tokenizer
        self._threads = threads
        self._lanes = Lanes()
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer: tokenizers.Tokenizer | None = None

    async def start(self) -> None:
        """Load model and tokenizer, and embed one text; raise `EngineUnavailable` when its vectors have another length."""
        try:
            await self._lanes.run(self._load)
        except Exception as exc:  # onnxruntime and tokenizers raise bare exceptions of many kinds
            raise self._fail(f"The model {self._info.model} cannot be loaded: {str(exc)[:300]}") from exc
        vectors = await self.embed(["def main() -> None: ..."])
        if vectors.shape != (1, self._info.dimensions):
            raise self._fail(
                f"{self._info.model} makes vectors of {vectors.shape[1]}, not {self._info.dimensions}, numbers."
            )
        self._capabilities = Capabilities(embed=True)
        self._health = EngineHealth("ready", "", self._info.model)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        """Refuse: an encoder does not write."""
        if not self._capabilities.chat:
            raise InvalidInput(f"{self._info.model} makes vectors and does not write.", messages=len(request.messages))
        yield ChatDelta("")

    async def embed(self, texts: Sequence[str], *, priority: Priority = "interactive") -> npt.NDArray[np.float32]:
        """Return one unit vector a text, in the order of *texts*."""
        if not texts:
            return np.zeros((0, self._info.dimensions), dtype=np.float32)
        return np.stack([await self._lanes.run(partial(self._encode, text), priority=priority) for text in texts])

    async def tokenize(self, text: str) -> list[int]:
        """Return the model's token ids for *text*; beyond its window there are none."""
        ids: list[int] = self._loaded()[1].encode(text[:_MAX_CHARACTERS], add_special_tokens=False).ids
        return ids

    async def broken(self) -> str:
        """Never return: there is no other process that could end."""
        never: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        return await never

    async def close(self) -> None:
        """Let the model go."""
        self._lanes.close()
        self._session = None
        self._tokenizer = None

    def _load(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # the arena keeps the largest pass for ever
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(self._model, options, providers=["CPUExecutionProvider"])
        tokenizer = tokenizers.Tokenizer.from_file(str(self._tokenizer_file))
        tokenizer.enable_truncation(self._info.context)
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    def _encode(self, text: str) -> npt.NDArray[np.float32]:
        session, tokenizer = self._loaded()
        ids = np.array([tokenizer.encode(text[:_MAX_CHARACTERS]).ids], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = np.asarray(session.run(["last_hidden_state"], given)[0], dtype=np.float32)
        pooled: npt.NDArray[np.float32] = states[0].mean(axis=0)
        return pooled / np.float32(max(float(np.linalg.norm(pooled)), 1e-12))

    def _loaded(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        if self._session is None or self._tokenizer is None:
            raise EngineUnavailable("The embedder is not loaded.")
        return self._session, self._tokenizer

    def _fail(self, reason: str) -> EngineUnavailable:
        self._health = EngineHealth("failed", reason, self._info.model)
        return EngineUnavailable(reason, remedy="`skellig model verify` checks its files.")


def build(options: Options) -> OnnxEmbedder:
    """Return the engine that *options* ask for."""
    files = {path.suffix: path for path in options.files}
    return OnnxEmbedder(options.info, model=files[".onnx"], tokenizer=files[".json"], threads=options.threads)


if __name__ == "__main__":
    leave(main(build, role="embed", argv=sys.argv[1:], threads=1))
