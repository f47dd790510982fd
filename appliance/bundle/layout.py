"""The shape of a bundle: which file is where, and the manifest that says what the payload is."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar

from appliance.errors import InvalidInput, MalformedMetadata

FORMAT: Final = 1
METADATA: Final = "metadata"
PAYLOAD: Final = "targets"
MANIFEST: Final = "targets/bundle.json"
INSTALLER: Final = "installer/skellig-bundle.pyz"
FIRST_ROOT: Final = "installer/root.json"
SIGNATURE: Final = ".minisig"
README: Final = "README"
NOTES: Final = "release-notes.md"
IMAGE: Final = "image/image.oci.tar"
MOST_FILES: Final = 100_000
PART: Final = 2 << 30
"""The largest file of a bundle, so that it fits on the file systems of memory sticks."""

T = TypeVar("T")

_PATH = re.compile(r"[A-Za-z0-9._+@=-]{1,200}(?:/[A-Za-z0-9._+@=-]{1,200}){0,30}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,8})"
_VERSION = re.compile(rf"({_NUMBER}(?:\.{_NUMBER}){{1,3}})(?:\.?(dev|a|b|rc)({_NUMBER}))?")
_STAGES: Final[Mapping[str | None, int]] = {"dev": 0, "a": 1, "b": 2, "rc": 3, None: 4}


@dataclass(frozen=True, slots=True)
class Entry:
    """One signed file: its digest and its size."""

    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Whole:
    """One file of the payload as it is used, made of the *parts* of the bundle in their order; a part is a payload path."""

    path: str
    sha256: str
    size: int
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CarriedModel:
    """One model of the payload."""

    name: str
    licence: str
    files: tuple[Whole, ...]


@dataclass(frozen=True, slots=True)
class CarriedImage:
    """The container image of the payload; *id* is the digest of its configuration, with ``sha256:``."""

    id: str
    file: Whole


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the payload is. *schema* is that of the control data which this version writes."""

    version: str
    built: datetime
    schema: int
    image: CarriedImage
    models: tuple[CarriedModel, ...] = ()

    def wholes(self) -> Iterator[Whole]:
        """Give every file that may have come in parts."""
        yield self.image.file
        for model in self.models:
            yield from model.files

    def encode(self) -> bytes:
        """Return the manifest as the bundle holds it."""
        image, models = self.image, [_model_out(model) for model in self.models]
        document = {
            "format": FORMAT,
            "version": self.version,
            "built": self.built.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "schema": self.schema,
            "image": {"id": image.id, **_whole_out(image.file)},
            "models": models,
        }
        return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()

    @staticmethod
    def decode(data: bytes) -> "Manifest":
        """Read the manifest; raise `MalformedMetadata` saying what is wrong with it."""
        try:
            document = json.loads(data)
            if document["format"] != FORMAT:
                raise MalformedMetadata(f"The bundle has format {document['format']!r}, and this installer reads {FORMAT}.")
            image, models = document["image"], document["models"]
            return Manifest(
                version=check_version(document["version"]),
                built=datetime.strptime(document["built"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC),
                schema=_typed(int, document["schema"]),
                image=CarriedImage("sha256:" + _digest(image["id"].removeprefix("sha256:")), _whole_in(image)),
                models=tuple(
                    CarriedModel(
                        _typed(str, model["name"]),
                        _typed(str, model["licence"]),
                        tuple(map(_whole_in, model["files"])),
                    )
                    for model in models
                ),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput) as exc:
            raise MalformedMetadata(f"{MANIFEST} is not a manifest: {exc}.", file=MANIFEST) from exc


def is_safe(text: str) -> bool:
    """Return whether *text* is a plain relative path of the characters that a bundle uses."""
    return _PATH.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def safe_path(text: str) -> str:
    """Return *text* if `is_safe`; else raise `MalformedMetadata`."""
    if not is_safe(text):
        raise MalformedMetadata(f"{text!a} is not a path that a bundle may hold.", file=text)
    return text


def check_version(text: str) -> str:
    """Return *text* if it is a version such as ``1.2.0`` or ``1.2.0rc1``; else raise `InvalidInput`."""
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        raise InvalidInput(f"{text!r} is not a version such as 1.2.0 or 1.2.0rc1.")
    return text


def order(version: str) -> tuple[tuple[int, ...], int, int]:
    """Return what versions are compared by: a release comes after its dev, a, b and rc."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise InvalidInput(f"{version!r} is not a version such as 1.2.0 or 1.2.0rc1.")
    numbers = [int(number) for number in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES[found[2]], int(found[3] or 0)


def part_names(path: str, *, size: int, largest: int) -> list[str]:
    """Return the names of the parts of *path*: itself where one is enough, else numbered ones that tell their count."""
    count = max(1, -(-size // largest))
    return [path] if count == 1 else [f"{path}.part-{number:03}-of-{count:03}" for number in range(1, count + 1)]


def _whole_out(whole: Whole) -> dict[str, object]:
    return {**asdict(whole), "parts": list(whole.parts)}


def _model_out(model: CarriedModel) -> dict[str, object]:
    return {"name": model.name, "licence": model.licence, "files": [_whole_out(file) for file in model.files]}


def _whole_in(found: Mapping[str, object]) -> Whole:
    parts = _typed(list, found["parts"])
    if not parts:
        raise ValueError("a file has no part")
    whole = Whole(
        path=safe_path(_typed(str, found["path"])),
        sha256=_digest(_typed(str, found["sha256"])),
        size=_typed(int, found["size"]),
        parts=tuple(safe_path(_typed(str, part)) for part in parts),
    )
    if whole.size <= 0:
        raise ValueError(f"the size of {whole.path} is not above 0")
    return whole


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise ValueError(f"{text!r} is not a sha256")
    return text


def _typed(kind: type[T], value: object) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def named(paths: Sequence[str]) -> str:
    """Return the first few of *paths* as a sentence names them."""
    shown = ", ".join(ascii(path)[1:-1] for path in sorted(paths)[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3:,} more"
