"""Arrays of numbers in one file, which is mapped and not read: the arrays, a table of where each stands, its length."""

import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, BinaryIO, Final, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from appliance.errors import StoreCorrupt

Array = npt.NDArray[np.generic]
_T = TypeVar("_T")

_ALIGNED: Final = 8
_LENGTH: Final = struct.Struct("<Q")


_Kind = Annotated[str, msgspec.Meta(pattern=r"\A[<|][iuf][1248]\Z")]  # numpy reads much more as a type
_Size = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class _Place(msgspec.Struct, frozen=True, array_like=True):
    """Of one array: the type of its numbers, where it begins, and how many there are."""

    kind: _Kind
    start: Annotated[_Size, msgspec.Meta(multiple_of=_ALIGNED)]
    count: _Size


_TABLE: Final = msgspec.msgpack.Decoder(dict[str, _Place])


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write *arrays*, each of one dimension, into a new file at *path*. Nothing is synced."""
    table = dict[str, _Place]()
    with path.open("xb") as file:
        for name, array in arrays.items():
            file.write(bytes(-file.tell() % _ALIGNED))
            table[name] = _Place(array.dtype.str, file.tell(), len(array))
            file.write(np.ascontiguousarray(array).data)
        end_with(file, table)


def end_with(file: BinaryIO, table: object) -> None:
    """Write *table*, and how long it is, as the end of *file*."""
    packed = msgspec.msgpack.encode(table)
    file.write(packed)
    file.write(_LENGTH.pack(len(packed)))


def mapped(path: Path, decoder: msgspec.msgpack.Decoder[_T]) -> tuple[_T, mmap.mmap]:
    """Return the table that the file at *path* ends with, and the file; raise `StoreCorrupt`."""
    try:
        with path.open("rb") as file:
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (length,) = _LENGTH.unpack(held[-_LENGTH.size :])
        return decoder.decode(held[-_LENGTH.size - length : -_LENGTH.size]), held
    except (OSError, ValueError, struct.error, msgspec.DecodeError) as exc:
        raise _unreadable(path) from exc


def read_arrays(path: Path) -> dict[str, Array]:
    """Return what `write_arrays` wrote, mapped and read-only; raise `StoreCorrupt`."""
    table, held = mapped(path, _TABLE)
    try:
        return {
            name: np.frombuffer(held, dtype=np.dtype(place.kind), count=place.count, offset=place.start)
            for name, place in table.items()
        }
    except (ValueError, TypeError) as exc:
        raise _unreadable(path) from exc


def _unreadable(path: Path) -> StoreCorrupt:
    return StoreCorrupt(f"The file {path} cannot be read.", remedy="Index the repository again.", path=str(path))
