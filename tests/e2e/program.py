"""An appliance in one process: the real server, the real worker, and a chat model that a test holds by the hand.

``python -m tests.e2e.program DATA PORT``. The model reads nothing while the file ``DATA/hold`` exists, and the worker works
on nothing before the file ``DATA/rest`` is gone.
"""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Final

from appliance.base import log
from appliance.cli.web import serve
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.inference.engines.base import EngineHealth, Role
from appliance.ops.health import Health
from appliance.server import create_app
from appliance.services import Services, probes
from tests.support.appliance import make_services, working
from tests.support.chat import verdict
from tests.support.indexed import WordEmbedder
from tests.support.missioned import CHOICE, right, strays

HOLD: Final = "hold"
REST: Final = "rest"
SAID: Final = "said.json"
"""A list of sentences that the model will say; without it, it says that the evidence is lacking."""


class HeldChat:
    """Satisfies `needs.ChatModel`: says the sentences in ``SAID``, once nothing holds it."""

    model = "scripted-1.5b"
    context = 4096

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def tokens(self, text: str) -> int:
        """Return a token for each four characters."""
        return len(text) // 4

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Wait while held, then choose what is right, or say the sentences in pieces of four characters."""
        while (self._folder / HOLD).exists():  # noqa: ASYNC110 - a file reaches into this process, an event does not
            await asyncio.sleep(0.02)
        if request.messages[0].content.startswith(CHOICE):
            yield ChatDelta(json.dumps({"choice": right(request)}), finish="stop", prompt_tokens=10, completion_tokens=9)
            return
        said = self._folder / SAID
        sentences: list[str] = json.loads(said.read_text(encoding="utf-8")) if said.exists() else []
        enough = bool(sentences) and not strays(request)
        yield ChatDelta('{"enough_evidence":')
        yield ChatDelta("true" if enough else "false", top=verdict(0.9 if enough else 0.2))
        rest = f',"sentences":{json.dumps(sentences)}}}'
        for start in range(0, len(rest), 4):
            yield ChatDelta(rest[start : start + 4])
        yield ChatDelta("", finish="stop", prompt_tokens=10, completion_tokens=9)


class HeldEngines:
    """Satisfies `services.Engines`: both are there."""

    async def health(self, role: Role) -> EngineHealth:
        """Return that the engine for *role* is ready."""
        return EngineHealth("ready", model=HeldChat.model if role == "chat" else WordEmbedder.model)


def main(data: Path, port: int) -> None:
    """Serve until SIGTERM."""
    services = make_services(data, chat=HeldChat(data), embedder=WordEmbedder(), extra={"SKELLIG_WEB__PORT": str(port)})
    engines = HeldEngines()
    health = Health(probes(jobs=services.jobs, registry=services.registry, engines=engines, paths=services.paths))
    services = replace(services, engines=engines, health=health)
    log.configure(level="warning", json=False)
    stop = threading.Event()
    worker = threading.Thread(target=_work, args=(services, stop))
    worker.start()
    asyncio.run(serve(create_app(services), services.settings.web))
    stop.set()
    worker.join()
    services.close()


def _work(services: Services, stop: threading.Event) -> None:
    while (services.paths.root / REST).exists() and not stop.wait(0.05):
        pass
    with working(services):
        stop.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
