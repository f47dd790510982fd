"""Makes small model files, their wheels and their catalogues."""

import hashlib
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from appliance.inference.catalog import Catalog, Model, ModelFile, Purpose, WheelSource

WEIGHTS = bytes(range(256)) * 40


def model_file(data: bytes = WEIGHTS, *, name: str = "tiny.gguf", wheels: Sequence[WheelSource] = ()) -> ModelFile:
    return ModelFile(name=name, size=len(data), sha256=hashlib.sha256(data).hexdigest(), wheels=tuple(wheels))


def model(*files: ModelFile, name: str = "tiny", memory: int = 1000, rank: int = 1, purpose: Purpose = "answers") -> Model:
    return Model(
        name=name,
        title=name.title(),
        role="chat",
        purpose=purpose,
        engine="llama_server",
        licence="Apache-2.0",
        context=2048,
        memory=memory,
        cache=10,
        rank=rank,
        file=files or (model_file(),),
    )


def catalog(*models: Model) -> Catalog:
    return Catalog(models or (model(),))


def parts_of(data: bytes = WEIGHTS, count: int = 12) -> list[bytes]:
    """Cut *data* into *count* parts; with more than nine, order by name is not order by number."""
    step = -(-len(data) // count)
    return [data[at : at + step] for at in range(0, len(data), step)]


def wheel_source(count: int = 12) -> WheelSource:
    return WheelSource(package="tiny-part{n}", version="1.0", member="tiny_part{n}/part{n:02}.bin", parts=count)


def write_wheels(folder: Path, parts: Sequence[bytes], source: WheelSource) -> list[Path]:
    """Write a wheel for each of *parts* and return their paths."""
    paths = []
    for number, data in enumerate(parts, start=1):
        path = folder / f"{source.wheel_prefix(number)}py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(source.member_of(number), data)
            archive.writestr("tiny/__init__.py", "raise SystemExit('a wheel was imported')")
        paths.append(path)
    return paths


def gguf(
    values: Mapping[str, object], *, magic: bytes = b"GGUF", version: int = 3, keys: int | None = None, tail: bytes = b""
) -> bytes:
    """Return a GGUF file with a header of *values* and no tensor."""
    body = b"".join(text(key) + value_of(value) for key, value in values.items())
    return magic + struct.pack("<IQQ", version, 0, len(values) if keys is None else keys) + body + tail


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def value_of(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, list):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(text(str(item)) for item in value)
    assert isinstance(value, int)
    return struct.pack("<II", 4, value)


LLAMA: Mapping[str, object] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 2048,
    "llama.block_count": 4,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["<s>", "a", "b"],
}
