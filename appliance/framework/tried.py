"""What models were seen to do, remembered in the data directory: to try one takes it half a minute on a small machine."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from appliance import __version__
from appliance.base.durable import write_file
from appliance.codeintel.needs import ChatModel
from appliance.orchestrator.runners.probe import Abilities

FILE: Final = "abilities.json"

_Known = dict[str, Abilities]


@dataclass(frozen=True, slots=True)
class Remembering:
    """Satisfies `Probe`: asks *probe* once for each model, engine and version of ours, and keeps what it saw in *folder*.

    That a model cannot call tools is not kept: its engine may have had a bad moment.
    """

    folder: Path
    engine: str
    probe: Callable[[ChatModel], Awaitable[Abilities]]

    async def __call__(self, chat: ChatModel) -> Abilities:
        """Return what *chat* can do; raise what the probe raises."""
        name = f"{chat.model} on {self.engine} by {__version__}"
        known = await asyncio.to_thread(self._read)
        if name not in known:
            seen = await self.probe(chat)
            if seen.envelope or seen.native:
                await asyncio.to_thread(self._keep, name, seen)
            return seen
        return known[name]

    def _read(self) -> _Known:
        try:
            return msgspec.json.decode((self.folder / FILE).read_bytes(), type=_Known)
        except (OSError, msgspec.DecodeError):  # never tried, or of another version: it is tried again
            return {}

    def _keep(self, name: str, seen: Abilities) -> None:
        write_file(self.folder / FILE, msgspec.json.encode({**self._read(), name: seen}))
