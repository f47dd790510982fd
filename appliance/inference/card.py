"""What an engine announces beside its socket, so that others know what is loaded before and after they can ask it."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from appliance.base.durable import write_file
from appliance.inference.engines.base import EngineInfo


@dataclass(frozen=True, slots=True)
class Card:
    """What an engine serves; with *failure*, why it ended."""

    info: EngineInfo
    failure: str = ""


def card_path(socket: Path) -> Path:
    """Return where the engine at *socket* announces itself."""
    return socket.with_suffix(".json")


def write_card(socket: Path, card: Card) -> None:
    """Announce *card* for the engine at *socket*."""
    write_file(card_path(socket), msgspec.json.encode(card))


def read_card(socket: Path) -> Card | None:
    """Return what the engine at *socket* announced, or None when none has started there yet."""
    try:
        return msgspec.json.decode(card_path(socket).read_bytes(), type=Card)
    except (OSError, msgspec.DecodeError):
        return None
