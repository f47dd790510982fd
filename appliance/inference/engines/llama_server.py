"""Chat on llama.cpp, by xllamacpp: slots, prefix cache, JSON schemas, candidates with their probabilities.

llama.cpp's own server runs in the child (`llama_child`).
"""

import sys
from typing import Annotated, Literal

import msgspec

from appliance.contracts.chat import ChatRequest, JsonSchema
from appliance.errors import ApplianceError, EngineUnavailable, InvalidInput, PromptTooLong
from appliance.inference import wire
from appliance.inference.engines.llama import LlamaEngine, fitted
from appliance.inference.engines.program import Options, leave, main
from appliance.inference.hardware import probe


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


class LlamaServer(LlamaEngine):
    """One GGUF model in llama.cpp's server, with as many slots as asked for."""

    module = "llama_child"

    def _asking(self, request: ChatRequest) -> bytes:
        grammar = _grammar(request.schema) if request.schema is not None and _is_plain(request.schema) else ""
        return wire.request_body(request, model=self._info.model, grammar=grammar)

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
    return fitted(
        options,
        "llama_server",
        lambda model, threads: LlamaServer(
            options.info, model=model, socket=options.socket, threads=threads, slots=options.slots
        ),
    )


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


if __name__ == "__main__":
    leave(main(build, role="chat", argv=sys.argv[1:], threads=probe().threads))
