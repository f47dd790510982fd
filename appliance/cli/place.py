"""Where the running appliance listens and what it runs with, left in the run directory by `skellig up`."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.config import Web


class Place(msgspec.Struct, frozen=True):
    """What `skellig up` decided."""

    host: str
    port: int
    socket: str | None
    chat: str
    embed: str
    settings: dict[str, str] = {}
    token_file: str | None = None
    without: str = ""  # why no chat model runs although the settings want one

    @property
    def web(self) -> Web:
        """The settings of the process that listens."""
        return Web(host=self.host, port=self.port, socket=_path(self.socket), token_file=_path(self.token_file))


def of(web: Web, *, chat: str, embed: str, settings: Mapping[str, str] | None = None, without: str = "") -> Place:
    """Return the place that *web* and the chosen models make; *settings* are those that were asked for, by dotted name."""
    socket, token_file = (str(path) if path else None for path in (web.socket, web.token_file))
    return Place(web.host, web.port, socket, chat, embed, dict(settings or {}), token_file, without)


def read(paths: DataPaths) -> Place | None:
    """Return what the last `skellig up` decided, or None where nothing was started or it was stopped."""
    try:
        return msgspec.json.decode(_file(paths).read_bytes(), type=Place)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def write(place: Place, *, paths: DataPaths) -> None:
    """Leave *place* for later commands."""
    durable.write_file(_file(paths), msgspec.json.encode(place))


def forget(paths: DataPaths) -> None:
    """Take it away: nothing runs any more."""
    _file(paths).unlink(missing_ok=True)


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _file(paths: DataPaths) -> Path:
    return paths.run / "place.json"
