"""Reads the header of a GGUF file, and only that, in bounded time and memory whatever the file says.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from appliance.base.budget import Budget
from appliance.errors import LimitExceeded, MalformedContent

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_KEYS = 4096
_MAX_KEY = 65_535
_MAX_TEXT = 1 << 20
_MAX_ITEMS = 2_000_000  # strings inside arrays: vocabularies with merges have some 300,000
_MAX_HEADER = 256 << 20
_MAX_NUMBER = 1 << 40
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}

ARCHITECTURES = frozenset({
    "bert", "codeshell", "command-r", "deepseek", "deepseek2", "exaone", "falcon", "gemma", "gemma2", "gemma3", "glm4",
    "gpt-oss", "granite", "granitemoe", "internlm2", "jina-bert-v2", "llama", "minicpm", "mistral3", "modern-bert",
    "nomic-bert", "olmo2", "phi2", "phi3", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "seed_oss", "smollm3", "stablelm",
    "starcoder", "starcoder2",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says about its model. A number that it does not give is 0."""

    architecture: str
    name: str
    context: int
    layers: int
    embedding: int
    heads: int
    kv_heads: int
    key_length: int
    value_length: int
    shard: int
    shards: int

    @property
    def cache_bytes(self) -> int:
        """Bytes of key and value cache that one token of context takes, at 16 bits; 0 when the header does not say."""
        per_head = self.embedding // self.heads if self.heads else 0
        width = (self.key_length or per_head) + (self.value_length or per_head)
        return 2 * self.layers * (self.kv_heads or self.heads) * width


def read_header(path: Path) -> GgufHeader:
    """Return the header of *path*.

    Raise `MalformedContent` for what is not GGUF, is cut off, lies about its lengths, names no architecture or one that the
    engines do not know, or is one shard of several: such files have headers of their own and are not joined.
    """
    with path.open("rb") as file:
        header = _header(_Reader(file, os.fstat(file.fileno()).st_size, path), path)
    if not header.architecture:
        raise MalformedContent(f"{path.name} names no architecture.", path=str(path))
    if header.architecture not in ARCHITECTURES:
        raise MalformedContent(
            f"{path.name} is of the architecture {header.architecture[:40]!a}, which the engines do not know.",
            path=str(path),
        )
    if header.shards > 1:
        raise MalformedContent(
            f"{path.name} is shard {header.shard + 1} of {header.shards}: a model in shards is not supported.",
            remedy="Merge the shards into one GGUF file first.",
            path=str(path),
        )
    return header


class _Reader:
    """Takes values off the front of the file, and refuses to go beyond it."""

    def __init__(self, file: BinaryIO, size: int, path: Path) -> None:
        self._file = file
        self._path = path
        self._left = min(size, _MAX_HEADER)
        self._items = Budget(_MAX_ITEMS, "strings in the header")

    def take(self, count: int) -> bytes:
        self._claim(count)
        data = self._file.read(count)
        if len(data) != count:
            raise self._cut()
        return data

    def number(self, form: str) -> int | float | bool:
        value: int | float | bool = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return value

    def count(self) -> int:
        return int(self.number("<Q"))

    def text(self, *, limit: int) -> str:
        length = self.count()
        if length > limit:
            raise MalformedContent(f"{self._path.name} has a text of {length:,} bytes in its header.", path=str(self._path))
        return self.take(length).decode("utf-8", "replace")

    def value(self) -> str | float | None:
        """Return one scalar or text; an array is passed over and gives None."""
        kind = int(self.number("<I"))
        if kind == _STRING:
            return self.text(limit=_MAX_TEXT)
        if kind == _ARRAY:
            self._pass_array()
            return None
        return self.number(self._form(kind))

    def _pass_array(self) -> None:
        kind, length = int(self.number("<I")), self.count()
        if kind == _STRING:
            self._items.spend(length)
            for _ in range(length):
                self._pass(self.count())
        else:
            self._pass(length * struct.calcsize(self._form(kind)))  # an array of arrays is no scalar, and is refused

    def _pass(self, count: int) -> None:
        self._claim(count)
        self._file.seek(count, os.SEEK_CUR)

    def _claim(self, count: int) -> None:
        if count > self._left:
            raise self._cut()
        self._left -= count

    def _form(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise MalformedContent(f"{self._path.name} has a value of the unknown type {kind}.", path=str(self._path))
        return _SCALARS[kind]

    def _cut(self) -> MalformedContent:
        return MalformedContent(f"{self._path.name} ends before its header does.", path=str(self._path))


def _header(reader: _Reader, path: Path) -> GgufHeader:
    if reader.take(4) != MAGIC:
        raise MalformedContent(f"{path.name} is not a GGUF file.", path=str(path))
    version = int(reader.number("<I"))
    if version not in _VERSIONS:
        raise MalformedContent(f"{path.name} is GGUF version {version}; known are 2 and 3.", path=str(path))
    reader.count()  # tensors
    keys = reader.count()
    if keys > _MAX_KEYS:
        raise MalformedContent(f"{path.name} has {keys:,} keys in its header.", path=str(path))
    values: dict[str, str | float] = {}
    try:
        for _ in range(keys):
            key = reader.text(limit=_MAX_KEY)
            value = reader.value()
            if value is not None:
                values[key] = value
    except LimitExceeded as exc:
        raise MalformedContent(f"{path.name} has a header beyond all reason.", path=str(path)) from exc
    return _from_values(values)


def _from_values(values: dict[str, str | float]) -> GgufHeader:
    architecture = values.get("general.architecture")
    arch = architecture if isinstance(architecture, str) else ""
    name = values.get("general.name")

    def number(key: str) -> int:
        value = values.get(key, 0)
        return int(value) if not isinstance(value, str) and 0 <= value < _MAX_NUMBER else 0

    return GgufHeader(
        architecture=arch,
        name=name if isinstance(name, str) else "",
        context=number(f"{arch}.context_length"),
        layers=number(f"{arch}.block_count"),
        embedding=number(f"{arch}.embedding_length"),
        heads=number(f"{arch}.attention.head_count"),
        kv_heads=number(f"{arch}.attention.head_count_kv"),
        key_length=number(f"{arch}.attention.key_length"),
        value_length=number(f"{arch}.attention.value_length"),
        shard=number("split.no"),
        shards=number("split.count"),
    )
