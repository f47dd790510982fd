"""Questions that come while the model is busy, by the real server: evidence at once, a bounded wait, a plain refusal."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import cast

import httpx2
import pytest

from appliance.codeintel.build.pipeline import Indexer
from appliance.config import load
from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.services import CLI_KEY, DEFAULT_PROJECT, Services, build
from tests.support.appliance import settings_for
from tests.support.chat import said
from tests.support.engines import ScriptedEngine, odds, served_in_thread
from tests.support.listening import listening
from tests.support.models import SMOL
from tests.support.repos import make_repo
from tests.support.shop import FILES

QUESTION = {"question": "How is the digest of a model compared with the catalogue?"}
SAID = "The digest of the installed model is compared with the catalogue by verify."
STREAM = {"accept": "text/event-stream"}


@dataclass
class HeldEngine(ScriptedEngine):
    """Takes every question, and says nothing before the test lets it; what only warms the model is done at once."""

    go: threading.Event = field(default_factory=threading.Event)

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta]:
        if request.max_tokens == 1:
            yield ChatDelta("", (), "length", 10, 1)
            return
        self.requests.append(request)
        await asyncio.to_thread(self.go.wait)
        for piece in (said(SAID)[:20], said(SAID)[20:]):
            yield ChatDelta(piece, tuple(self.candidates(" true")) if "true" in piece else ())
        yield ChatDelta("", (), "stop", 10, 9)


@dataclass
class Asked:
    """One question as a client sees its answer: the events so far, and those that come."""

    evidence: dict[str, object]
    events: AsyncIterator[tuple[str, dict[str, object]]]

    @property
    def warnings(self) -> list[str]:
        return cast("list[str]", self.evidence["warnings"])

    async def done(self) -> dict[str, object]:
        return [data async for name, data in self.events if name == "done"].pop()


@pytest.fixture(scope="module")
def engine() -> HeldEngine:
    return HeldEngine(model=SMOL, candidates=odds(0.99))


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory, engine: HeldEngine) -> Iterator[Services]:
    root = tmp_path_factory.mktemp("data")
    asked = {"SKELLIG_CHAT__MODEL": SMOL, "SKELLIG_CHAT__WAITING": "2"}
    with closing(build(load(environ=settings_for(root) | asked))) as services:
        source = make_repo(tmp_path_factory.mktemp("repos"), FILES, name="shop")
        repo = services.registry.add_repo(services.registry.project(DEFAULT_PROJECT).id, source)
        indexer = Indexer(services.registry, paths=services.paths, limits=services.settings.index, clock=services.clock)
        indexer.index(repo.id, progress=lambda *_: None, check=lambda: None)
        with served_in_thread(engine, services.paths.engine_socket("chat")):
            yield services


@pytest.fixture
def port(services: Services, engine: HeldEngine) -> Iterator[int]:
    engine.go.clear()
    engine.requests.clear()
    with listening(services) as port:
        yield port
        engine.go.set()


def client_of(services: Services, port: int) -> httpx2.AsyncClient:
    key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1/", headers=headers, timeout=60, trust_env=False)


@asynccontextmanager
async def asking(client: httpx2.AsyncClient) -> AsyncIterator[Asked]:
    """Ask, and give the answer once its evidence has come."""
    async with client.stream("POST", "ask", json=QUESTION, headers=STREAM) as response:
        events = _events(response)
        name, evidence = await anext(events)
        assert name == "evidence"
        yield Asked(evidence, events)


async def _events(response: httpx2.Response) -> AsyncIterator[tuple[str, dict[str, object]]]:
    name = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not check():  # noqa: ASYNC110 - what is looked at happens in other threads
            await asyncio.sleep(0.01)


def test_while_the_model_is_busy_evidence_comes_at_once_and_only_so_many_wait(
    services: Services, engine: HeldEngine, port: int
) -> None:
    async def scenario() -> None:
        async with client_of(services, port) as client, AsyncExitStack() as stack:
            first = await stack.enter_async_context(asking(client))
            await until(lambda: len(engine.requests) == 1)
            leaving = AsyncExitStack()
            second = await leaving.enter_async_context(asking(client))
            await until(lambda: services.turns.ahead == 2)
            third = await stack.enter_async_context(asking(client))
            await until(lambda: services.turns.ahead == 0)  # whoever comes now is refused
            assert first.warnings == []
            assert second.warnings == ["Waiting for the model: 1 question is ahead."]
            assert third.warnings == ["Waiting for the model: 2 questions are ahead."]

            fourth = await stack.enter_async_context(asking(client))
            refused = await fourth.done()
            assert refused["kind"] == "evidence"
            assert refused["evidence"] == first.evidence["evidence"]
            gate = cast("dict[str, object]", refused["gate"])
            assert gate["passed"] is False
            assert gate["reason"] == "the model is busy: 2 questions wait; ask again, or use the evidence."

            await leaving.aclose()
            await until(lambda: services.turns.ahead == 2)
            fifth = await stack.enter_async_context(asking(client))
            assert fifth.warnings == ["Waiting for the model: 2 questions are ahead."]

            engine.go.set()
            for asked in (first, third, fifth):
                answer = await asked.done()
                assert [sentence["text"] for sentence in cast("list[dict[str, object]]", answer["sentences"])] == [SAID]
                assert answer["warnings"] == []
            assert len(engine.requests) == 3, "who went away has asked nothing of the engine"

    asyncio.run(scenario())


@pytest.mark.parametrize(("path", "body"), [("api/v1/ask", {"json": QUESTION}), ("ask", {"data": QUESTION})])
def test_a_client_that_waits_for_the_whole_answer_and_goes_away_has_left_the_queue(
    services: Services, engine: HeldEngine, port: int, path: str, body: dict[str, dict[str, str]]
) -> None:
    async def scenario() -> None:
        async with client_of(services, port) as client, asking(client):
            await until(lambda: len(engine.requests) == 1)
            waiting = asyncio.create_task(client.post(f"http://127.0.0.1:{port}/{path}", **body))  # type: ignore[arg-type]
            await until(lambda: services.turns.ahead == 2)
            waiting.cancel()
            await until(lambda: services.turns.ahead == 1)
            assert len(engine.requests) == 1

    asyncio.run(scenario())
