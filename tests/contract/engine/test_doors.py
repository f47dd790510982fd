"""What holds at the door of every engine, shown on the scripted one."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from appliance.base.paths import DataPaths
from appliance.config import Settings
from appliance.contracts.chat import ChatDelta, ChatRequest, Message
from appliance.errors import Conflict, DeadlineExceeded, EngineUnavailable, InvalidInput, NotFound
from appliance.inference.card import Card, write_card
from appliance.inference.catalog import Catalog
from appliance.inference.client import EngineClient
from appliance.inference.engines.base import EngineInfo, Priority
from appliance.inference.engines.program import claim
from appliance.inference.pool import EnginePool
from tests.support.engines import ScriptedEngine, served, served_in_thread

REQUEST = ChatRequest([Message("user", "Tell me.")], max_tokens=50)
INFO = EngineInfo("chat", "some-model", 2048)


async def collect(client: EngineClient) -> list[ChatDelta]:
    return [delta async for delta in client.chat(REQUEST)]


def test_call_without_an_engine_says_how_to_start_one(folder: Path) -> None:
    client = EngineClient(folder / "nobody.sock", expected=INFO)
    with pytest.raises(EngineUnavailable, match="skellig up"):
        asyncio.run(collect(client))
    with pytest.raises(EngineUnavailable):
        asyncio.run(client.embed(["text"]))


def test_engine_that_breaks_before_the_first_token_raises_its_own_error(folder: Path) -> None:
    engine = ScriptedEngine(["never said"], failure=DeadlineExceeded("Too slow."))
    with served_in_thread(engine, folder / "e.sock") as client, pytest.raises(DeadlineExceeded, match="Too slow"):
        asyncio.run(collect(client))


def test_engine_that_breaks_in_the_middle_gives_what_it_had_then_its_error(folder: Path) -> None:
    engine = ScriptedEngine(["one two three four"], failure=EngineUnavailable("Gone."), fail_after=2)
    heard: list[str] = []

    async def listen(client: EngineClient) -> None:
        async for delta in client.chat(REQUEST):
            heard.append(delta.text)  # noqa: PERF401 - what came before the error must be kept

    with served_in_thread(engine, folder / "e.sock") as client, pytest.raises(EngineUnavailable, match="Gone"):
        asyncio.run(listen(client))
    assert heard == ["one", " two"]


def test_client_that_goes_away_cancels_a_silent_engine(folder: Path) -> None:
    """The engine is told even when it has not said a token yet: reading a prompt takes most of the time."""
    engine = ScriptedEngine(["word " * 100], pace=0.001)

    async def give_up() -> None:
        async with served(engine, folder) as client:
            asking = asyncio.ensure_future(collect(client))
            async with asyncio.timeout(10):
                await engine.asked.wait()
                asking.cancel()
                await engine.let_go.wait()

    asyncio.run(give_up())
    assert engine.cancelled == 1


def test_engine_that_loads_says_so_and_serves_nothing(folder: Path) -> None:
    with served_in_thread(ScriptedEngine(ready=False), folder / "e.sock") as client:
        assert asyncio.run(client.health()).state == "loading"
        with pytest.raises(EngineUnavailable, match="loading"):
            asyncio.run(collect(client))


def test_client_knows_its_engine_by_the_card(folder: Path) -> None:
    with served_in_thread(ScriptedEngine(model="that-one", context=99), folder / "e.sock"):
        client = EngineClient(folder / "e.sock", expected=INFO)
        assert (client.model, client.context) == ("that-one", 99)
    assert EngineClient(folder / "other.sock", expected=INFO).model == "some-model"


def test_engine_that_failed_is_told_apart_from_one_that_never_ran(folder: Path) -> None:
    write_card(folder / "e.sock", Card(INFO, failure="The file is gone."))
    failed = asyncio.run(EngineClient(folder / "e.sock", expected=INFO).health())
    down = asyncio.run(EngineClient(folder / "f.sock", expected=INFO).health())
    assert (failed.state, failed.detail) == ("failed", "The file is gone.")
    assert down.state == "down"


def test_damaged_card_counts_as_none(folder: Path) -> None:
    (folder / "e.json").write_bytes(b'{"info": 3')
    assert EngineClient(folder / "e.sock", expected=INFO).model == "some-model"


def test_socket_of_a_living_engine_is_not_taken(folder: Path) -> None:
    with served_in_thread(ScriptedEngine(), folder / "e.sock"), pytest.raises(Conflict, match="Another engine"):
        claim(folder / "e.sock")


def test_socket_of_a_dead_engine_is_swept_away(folder: Path) -> None:
    with served_in_thread(ScriptedEngine(), folder / "e.sock"):
        (folder / "kept.sock").hardlink_to(folder / "e.sock")
    claim(folder / "kept.sock")
    assert not (folder / "kept.sock").exists()


def test_socket_path_that_the_kernel_would_cut_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="longer than"):
        claim(folder / ("x" * 120 + ".sock"))


def test_pool_says_off_for_a_role_that_is_set_to_none(folder: Path) -> None:
    pool = pool_of(folder, chat="none")
    assert pool.chat() is None
    assert asyncio.run(pool.health("chat")).state == "off"


def test_pool_gives_clients_of_what_the_settings_name(folder: Path) -> None:
    pool = pool_of(folder, chat="smollm2-135m-instruct-q4_1")
    chat, embedder = pool.chat(), pool.embedder()
    assert chat is not None
    assert embedder is not None
    assert (chat.model, chat.context) == ("smollm2-135m-instruct-q4_1", 4096)
    assert (embedder.model, embedder.dimensions) == ("all-minilm-l6-v2-int8", 384)
    assert asyncio.run(pool.health("embed")).state == "down"


@pytest.mark.parametrize("name", ["no-such-model", "all-minilm-l6-v2-int8"])
def test_pool_refuses_a_model_that_is_unknown_or_of_another_role(folder: Path, name: str) -> None:
    with pytest.raises(NotFound, match=name):
        pool_of(folder, chat=name).chat()


@pytest.mark.parametrize("priority", ["interactive", "background"])
def test_engine_hears_the_priority_of_its_client(folder: Path, priority: Priority) -> None:
    engine = ScriptedEngine(dimensions=4)
    with served_in_thread(engine, folder / "e.sock") as client:
        asyncio.run(EngineClient(client.socket, expected=engine.info, priority=priority).embed(["text"]))
    assert engine.priorities == [priority]


def test_texts_without_a_priority_are_of_somebody_who_waits(folder: Path) -> None:
    engine = ScriptedEngine(dimensions=4)
    with served_in_thread(engine, folder / "e.sock") as client:
        assert posted(client, {"input": "text"}).status_code == httpx2.codes.OK
    assert engine.priorities == ["interactive"]


def test_priority_that_does_not_exist_is_refused(folder: Path) -> None:
    engine = ScriptedEngine(dimensions=4)
    with served_in_thread(engine, folder / "e.sock") as client:
        refused = posted(client, {"input": "text", "priority": "urgent"})
    assert refused.status_code == httpx2.codes.BAD_REQUEST
    assert refused.json()["error"]["code"] == InvalidInput.code
    assert engine.priorities == []


def test_pool_tells_the_engine_what_can_wait(folder: Path) -> None:
    engine = ScriptedEngine(dimensions=4)
    pool = pool_of(folder, chat="none")
    searching, filling = pool.embedder(), pool.embedder(priority="background")
    assert searching is not None
    assert filling is not None
    DataPaths(folder).run.mkdir()
    with served_in_thread(engine, filling.socket):
        asyncio.run(filling.embed(["text"]))
        asyncio.run(searching.embed(["query"]))
    assert engine.priorities == ["background", "interactive"]


def posted(client: EngineClient, body: dict[str, object]) -> httpx2.Response:
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(client.socket)), base_url="http://engine") as http:
        return http.post("/v1/embeddings", json=body)


def pool_of(folder: Path, *, chat: str) -> EnginePool:
    settings = Settings.model_validate({"data": folder, "chat": {"model": chat}})
    return EnginePool(DataPaths(folder), catalog=Catalog.load(), settings=settings)
