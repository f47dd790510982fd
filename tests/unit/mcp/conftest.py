"""An appliance with two indexed repositories, served once for all tests of this folder: none of them changes it."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.services import Services
from tests.support import planted
from tests.support.agents import key_of, told_where
from tests.support.appliance import make_services, working
from tests.support.chat import verdict
from tests.support.house import until
from tests.support.listening import listening
from tests.support.repos import commit, make_repo

LINES = 5_000  # that say "parcel number"
CALLS = 250  # of ping
A_FILE = 5

STORE = '''"""Where parcels are kept."""


def label_of(parcel):
    """Return what is written on *parcel*."""
    return f"{parcel.number}-{parcel.city}"


class Shelf:
    """A shelf with parcels on it."""

    def put(self, parcel):
        """Put *parcel* on the shelf, under its label."""
        self.parcels[label_of(parcel)] = parcel

    def take(self, label):
        return self.parcels.pop(label)
'''


class HeldChat:
    """A model that says nothing while it is held, and knows how many wait for it."""

    model = "held"
    context = 4096

    def __init__(self) -> None:
        self.held = False
        self.open = 0

    async def tokens(self, text: str) -> int:
        return len(text) // 4

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        del request
        self.open += 1
        try:
            while self.held:  # noqa: ASYNC110 - a flag reaches into another thread's loop, an event does not
                await asyncio.sleep(0.01)
            yield ChatDelta('{"enough_evidence":')
            yield ChatDelta("true", top=verdict(0.9))
            yield ChatDelta(',"sentences":["`Shelf.put` puts the parcel on the shelf under its label."]}')
            yield ChatDelta("", finish="stop", prompt_tokens=10, completion_tokens=9)
        finally:
            self.open -= 1


@dataclass(frozen=True)
class Served:
    """The appliance, and where it is."""

    services: Services
    chat: HeldChat
    port: int
    key: str
    source: Path


def many_calls() -> dict[str, bytes | str | None]:
    files: dict[str, bytes | str | None] = {"hub.py": "def ping(number):\n    return number\n"}
    for file in range(CALLS // A_FILE):
        body = "".join(f"    ping({file * A_FILE + line})\n" for line in range(A_FILE))
        files[f"spokes/spoke{file:02}.py"] = f"from hub import ping\n\n\ndef spoke{file}():\n{body}"
    return files


def files() -> dict[str, bytes | str | None]:
    return many_calls() | {
        "store/shelf.py": STORE,
        "store/long.txt": "\n".join(f"line {number} of the long file" for number in range(1, 3_001)),
        "store/list.txt": "".join(f"parcel number {number}\n" for number in range(LINES)),
        "store/wide.txt": "wide " * 3_000 + "\n",
        "store/empty.txt": "",
        "caf\udce9.py": "def brewed():\n    return 1\n",
        "src/settings.py": planted.SETTINGS,
        ".env": planted.ENV,
        "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "README.md": "# Parcels\n",
    }


def add(services: Services, source: Path) -> None:
    project = services.registry.project("default").id
    services.index(services.registry.add_repo(project, source).id)


def settle(services: Services) -> None:
    """Work until nothing is left to do."""
    with working(services):
        until(lambda: all(job.ended for job in services.jobs.list(limit=100)))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield the appliance: `depot` is one commit ahead of its index, `other` is not."""
    root = tmp_path_factory.mktemp("agents")
    depot = make_repo(root, {"store/shelf.py": "", "README.md": ""}, name="depot")
    for text in ("\n", "\n\n"):
        commit(depot, {"store/shelf.py": text, "README.md": text})
    commit(depot, files())
    other = make_repo(root, {"README.md": "# Other\n", "other.py": "def elsewhere():\n    return 2\n"}, name="other")
    chat = HeldChat()
    with closing(make_services(root / "data", chat=chat)) as services:
        add(services, depot)
        add(services, other)
        settle(services)
        commit(depot, {"README.md": "# Parcels, changed\n"})
        with listening(services) as port:
            told_where(services, port)
            yield Served(services, chat, port, key_of(services), depot)
