"""The files that say what names of modules mean, handed to the program that makes a graph: in a file beside it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from appliance.base.durable import storage_errors
from appliance.errors import StoreCorrupt

SETTINGS: Final = ".settings"
_DECODER: Final = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])


def write_settings(folder: Path, settings: Mapping[str, bytes]) -> None:
    """Leave *settings*, contents by paths, in *folder*. They are read once and are not kept."""
    with storage_errors(folder):
        (folder / SETTINGS).write_bytes(
            msgspec.msgpack.encode([(os.fsencode(path), held) for path, held in settings.items()])
        )


def read_settings(folder: Path) -> dict[str, bytes]:
    """Return what `write_settings` left in *folder*, nothing if nobody did."""
    path = folder / SETTINGS
    try:
        rows = _DECODER.decode(path.read_bytes()) if path.is_file() else []
    except msgspec.DecodeError as exc:
        raise StoreCorrupt("The settings beside a graph cannot be read.", remedy="Index the repository again.") from exc
    return {os.fsdecode(name): held for name, held in rows}
