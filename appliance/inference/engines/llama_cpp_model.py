"""One GGUF model by llama-cpp-python, in the thread that asks: reads a prompt in pieces, writes token by token.

The library is loaded with this module, so only the child imports it. Tokens are chosen here: its own sampler takes the
constraint to every word of the vocabulary for each token, and keeps no probability from before it.
"""

import codecs
import contextlib
import ctypes
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import jinja2
import llama_cpp
import numpy as np
import numpy.typing as npt
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from appliance.contracts.chat import Candidate, ChatDelta, ChatRequest, Message
from appliance.errors import EngineUnavailable, HostUnfit, InvalidInput, PromptTooLong
from appliance.inference.engines.gbnf import grammar

BATCH: Final = 128  # tokens of a prompt between two looks whether anybody still waits for it
_LIKELY = 64  # candidates that a constraint is asked about before the whole vocabulary is
_SAMPLED = 40  # candidates that chance chooses from
_MAX_PIECE = 1024
_MAX_CHARACTERS = 16_384  # far beyond any embedder's window, so that one huge text does not cost its whole length
_CHATML: Final = (  # what most models without a template were trained on
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)

Logits = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class LlamaModel:
    """Not for two threads at once, but for `tokens`."""

    def __init__(self, path: Path, *, name: str, context: int, threads: tuple[int, int], vectors: bool, gpu: bool) -> None:
        """Load *path*. *threads* are those that write, and those that read; *vectors*: it embeds instead of writing."""
        able = bool(llama_cpp.llama_supports_gpu_offload())
        if gpu and not able:
            raise HostUnfit(
                "gpu is `required`, and this build of llama-cpp-python runs on the CPU.",
                remedy="Install one that was built for the GPU, or set gpu to `auto`.",
            )
        try:
            self._llama = llama_cpp.Llama(
                str(path),
                n_gpu_layers=-1 if able else 0,
                n_ctx=context,
                n_batch=context if vectors else BATCH,  # an encoder sees its text at once
                n_ubatch=context if vectors else BATCH,
                n_threads=threads[0],
                n_threads_batch=threads[1],
                embedding=vectors,
                no_perf=True,
                verbose=False,
            )
        except (ValueError, RuntimeError, AssertionError, OSError) as exc:
            raise EngineUnavailable(f"llama.cpp cannot load {path}.", remedy="`skellig model verify` checks it.") from exc
        self._name = name
        self._context = context
        self.vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        self._template = self._llama.metadata.get("tokenizer.chat_template", "")

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        return int(self._llama.token_eos())

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of *text*, without a beginning or end mark."""
        ids: list[int] = self._llama.tokenize(_bytes(text), add_bos=False, special=False)
        return ids

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        """Return the unit vector of *text*; what is beyond the window has no influence."""
        text = text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode()
        seen = text if self._llama.tokenize(text.encode(), add_bos=True, special=False) else " "  # nothing has no vector
        states = np.asarray(self._llama.embed(seen, truncate=True), dtype=np.float32)
        pooled = states.mean(axis=0) if states.ndim > 1 else states
        return np.asarray(pooled / np.float32(max(float(np.linalg.norm(pooled)), 1e-12)), dtype=np.float32)

    def write(self, request: ChatRequest) -> Generator[ChatDelta | None, None, None]:
        """Give None for each piece of the prompt that was read, then a delta for each token, the last with the counts.

        Closing it in between leaves the model ready for another request.
        """
        prompt = self._prompt(request.messages)
        room = self._context - len(prompt)
        if room < 1:
            raise PromptTooLong(
                f"The prompt has {len(prompt):,} tokens, and {self._name} takes {self._context:,}.",
                remedy="Ask with less context, or raise chat.context.",
                prompt_tokens=len(prompt),
                limit=self._context,
                model=self._name,
            )
        with contextlib.ExitStack() as held:
            constraint = None
            if request.schema is not None:
                constraint = held.enter_context(Constraint(self.vocabulary, grammar(request.schema)))
            kept = self._keep(prompt)
            for start in range(kept, len(prompt), BATCH):
                self._llama.eval(prompt[start : start + BATCH])
                yield None
            yield from self._written(request, constraint, room=room, prompt=len(prompt), kept=kept)

    def _written(
        self, request: ChatRequest, constraint: "Constraint | None", *, room: int, prompt: int, kept: int
    ) -> Iterator[ChatDelta]:
        chance = np.random.default_rng(request.seed & 0xFFFFFFFF)
        said = _Said(request.stop)
        limit = min(request.max_tokens, room)
        count = 0
        for count in range(1, limit + 1):
            logits = self._logits()
            token = _chosen(logits, constraint, temperature=request.temperature, chance=chance)
            if token is None:  # the constraint lets nothing follow: what there is of the text is no whole one
                break
            if llama_cpp.llama_vocab_is_eog(self.vocabulary, token):
                yield ChatDelta(said.rest(), (), "stop", prompt, count - 1, kept)
                return
            yield ChatDelta(said.add(self._piece(token)), self._candidates(logits, request.top))
            if said.stopped:
                yield ChatDelta("", (), "stop", prompt, count, kept)
                return
            if count < limit:
                self._llama.eval([token])
        yield ChatDelta(said.rest(), (), "length", prompt, count, kept)

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        begin, end = (
            self._piece(token, special=True).decode() if token >= 0 else "" for token in (self._llama.token_bos(), self.end)
        )
        form = Jinja2ChatFormatter(template=self._template or _CHATML, eos_token=end, bos_token=begin)
        try:
            text = form(messages=[{"role": m.role, "content": m.content} for m in messages]).prompt
        except (jinja2.TemplateError, ValueError, TypeError) as exc:
            raise InvalidInput(f"The chat template of {self._name} refuses these messages: {str(exc)[:200]}") from exc
        ids: list[int] = self._llama.tokenize(_bytes(text), add_bos=not (begin and text.startswith(begin)), special=True)
        return ids

    def _keep(self, prompt: Sequence[int]) -> int:
        """Forget all but what the last request and *prompt* begin with; return how many tokens need not be read again."""
        old = self._llama.input_ids[: min(self._llama.n_tokens, len(prompt) - 1)]
        differ = np.flatnonzero(old != np.asarray(prompt[: len(old)], dtype=old.dtype))
        kept = int(differ[0]) if len(differ) else len(old)
        memory = llama_cpp.llama_get_memory(self._llama.ctx)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, kept, -1):  # a model whose memory is no row of tokens
            llama_cpp.llama_memory_clear(memory, True)
            kept = 0
        self._llama.n_tokens = kept
        return kept

    def _logits(self) -> Logits:
        raw = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        return np.array(np.ctypeslib.as_array(raw, shape=(self._llama.n_vocab(),)), dtype=np.float32)

    def _candidates(self, logits: Logits, count: int) -> tuple[Candidate, ...]:
        if not count:
            return ()
        most = float(logits.max())
        total = most + float(np.log(np.exp(logits - most, dtype=np.float64).sum()))
        likely = _likely(logits, count)
        texts = (self._piece(int(token)).decode("utf-8", "replace") for token in likely)
        return tuple(
            Candidate(text, min(0.0, float(logits[token]) - total)) for text, token in zip(texts, likely, strict=True)
        )

    def _piece(self, token: int, *, special: bool = False) -> bytes:
        room = ctypes.create_string_buffer(_MAX_PIECE)
        length = llama_cpp.llama_token_to_piece(self.vocabulary, token, room, _MAX_PIECE, 0, special)
        return room.raw[: max(0, length)]


class Constraint:
    """A grammar, and how far the text has come in it; to be entered, for the library's memory is given back at the exit."""

    def __init__(self, vocabulary: object, text: str) -> None:
        self._sampler = llama_cpp.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
        if not self._sampler:
            raise InvalidInput("llama.cpp cannot hold to this JSON schema.")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        llama_cpp.llama_sampler_free(self._sampler)

    def allowed(self, ids: Ids, logits: Logits) -> Ids:
        """Return those of *ids* that may stand here."""
        rows = np.zeros(len(ids), dtype=np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)], align=True))
        rows["id"], rows["logit"] = ids, logits[ids]
        data = rows.ctypes.data_as(llama_cpp.llama_token_data_p)
        asked = llama_cpp.llama_token_data_array(data=data, size=len(ids), selected=-1, sorted=False)
        llama_cpp.llama_sampler_apply(self._sampler, ctypes.byref(asked))
        possible: npt.NDArray[np.bool_] = np.isfinite(rows["logit"])
        return ids[possible]

    def accept(self, token: int) -> None:
        """Go on by *token*, one that is allowed here."""
        llama_cpp.llama_sampler_accept(self._sampler, token)


class _Said:
    """Turns the bytes of tokens into text: whole characters only, and nothing from a stop word on."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stop = [word for word in stop if word]
        self._held = ""  # what may be the beginning of a stop word
        self.stopped = False

    def add(self, piece: bytes) -> str:
        """Return the text that is sure now."""
        self._held += self._decoder.decode(piece)
        ends = [at for word in self._stop if (at := self._held.find(word)) >= 0]
        if ends:
            self.stopped = True
            self._held = self._held[: min(ends)]
        kept = 0 if self.stopped else max((_overlap(self._held, word) for word in self._stop), default=0)
        sure = len(self._held) - kept
        text, self._held = self._held[:sure], self._held[sure:]
        return text

    def rest(self) -> str:
        """Return what was held back, at the end of it all."""
        return self._held + self._decoder.decode(b"", final=True)


def _overlap(text: str, word: str) -> int:
    """Return how many characters at the end of *text* begin *word*."""
    return next((size for size in range(min(len(text), len(word) - 1), 0, -1) if text.endswith(word[:size])), 0)


def _chosen(logits: Logits, constraint: Constraint | None, *, temperature: float, chance: np.random.Generator) -> int | None:
    """Return the next token, or None where the constraint allows none; it goes on by what is chosen."""
    ids = _likely(logits, _LIKELY)
    if constraint is not None:
        ids = constraint.allowed(ids, logits)
        if not len(ids):
            ids = constraint.allowed(_likely(logits, len(logits)), logits)
        if not len(ids):
            return None
    token = int(ids[0])
    if temperature > 0:  # the largest of logit and noise, by token: so a last digit that differs seldom changes the choice
        noise = chance.gumbel(size=len(logits))
        some = ids[:_SAMPLED]
        token = int(some[np.argmax(logits[some] / temperature + noise[some])])
    if constraint is not None:
        constraint.accept(token)
    return token


def _likely(logits: Logits, count: int) -> Ids:
    """Return the *count* likeliest tokens, the best first."""
    count = min(count, len(logits))
    some = np.argpartition(-logits, count - 1)[:count]
    return some[np.argsort(-logits[some], kind="stable")].astype(np.int32)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
