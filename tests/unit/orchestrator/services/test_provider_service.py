import asyncio

import pytest

from appliance.base.paths import DataPaths
from appliance.codeintel.needs import ChatModel
from appliance.config import Settings
from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import Conflict, DeadlineExceeded, EngineUnavailable, NotFound
from appliance.inference.catalog import Catalog
from appliance.inference.pool import EnginePool
from appliance.inference.store import ModelStore
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.services.provider import EngineModels, LocalProviderService
from tests.support.calls import OneModel, ScriptedModel
from tests.support.engines import ScriptedEngine, served_in_thread
from tests.support.models import MINILM, SMOL

ASKED = ChatRequest([Message("user", "Hello?")], max_tokens=20)


class Probe:
    """Finds that every model keeps our form, and counts how often it looked."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    async def __call__(self, model: ChatModel) -> Abilities:
        self.tried.append(model.model)
        await asyncio.sleep(0)
        return Abilities(schema=True, envelope=True)


def provider(*models: ScriptedModel, probe: Probe | None = None) -> LocalProviderService:
    return LocalProviderService(OneModel(*models), probe=probe or Probe())


def test_a_switch_is_among_the_models_that_are_here_and_a_refusal_names_them() -> None:
    first, second = ScriptedModel(lambda _: "one"), ScriptedModel(lambda _: "two", model="second", context=99)
    service = provider(first, second)
    assert service.get_current_provider_info().model == "scripted"
    with pytest.raises(NotFound, match="scripted, second"):
        service.switch_model("gpt-9")
    assert service.switch_model("second").context == 99
    assert asyncio.run(service.complete(ASKED)).text == "two"
    assert [each.name for each in service.get_available_models()] == ["scripted", "second"]


def test_what_a_model_can_do_is_found_out_once_for_each_by_trying() -> None:
    probe = Probe()
    service = provider(ScriptedModel(), ScriptedModel(model="second"), probe=probe)

    async def main() -> None:
        assert service.get_current_provider_info().abilities is None
        await asyncio.gather(*(service.abilities() for _ in range(3)))
        service.switch_model("second")
        await service.abilities()

    asyncio.run(main())
    assert service.get_current_provider_info().abilities == Abilities(schema=True, envelope=True)
    assert probe.tried == ["scripted", "second"]


def test_a_completion_that_does_not_end_is_ended_and_its_engine_let_go() -> None:
    model = ScriptedModel(paused=True)
    service = provider(model)
    with pytest.raises(DeadlineExceeded, match=r"0\.02 s"):
        asyncio.run(service.complete(ASKED, timeout_s=0.02))

    async def streamed() -> list[str]:
        return [delta.text async for delta in service.stream(ASKED, timeout_s=0.02)]

    with pytest.raises(DeadlineExceeded, match=r"0\.02 s"):
        asyncio.run(streamed())
    assert model.open == 0


def test_a_stream_is_the_completion_in_pieces_and_closing_it_lets_the_engine_go() -> None:
    model = ScriptedModel(lambda _: "a b c")
    service = provider(model)

    async def main() -> tuple[str, str]:
        whole = "".join([delta.text async for delta in service.stream(ASKED)])
        deltas = service.stream(ASKED)
        first = await anext(deltas)
        await deltas.aclose()
        return whole, first.text

    assert asyncio.run(main()) == ("a b c", "a")
    assert model.open == 0


def test_without_a_model_it_says_so() -> None:
    service = provider()
    with pytest.raises(EngineUnavailable):
        service.get_current_provider_info()
    with pytest.raises(EngineUnavailable):
        asyncio.run(service.complete(ASKED))
    with pytest.raises(NotFound, match="model list"):
        service.switch_model("any")


@pytest.fixture
def models(tmp_path_factory: pytest.TempPathFactory) -> EngineModels:
    """Give the models of an appliance whose store has the smallest chat model and the embedder, by their files' sizes."""
    root, catalog = tmp_path_factory.mktemp("a"), Catalog.load()
    paths = DataPaths(root)
    paths.run.mkdir(parents=True)
    store = ModelStore(root / "models", catalog=catalog)
    for file in (file for name in (SMOL, MINILM) for file in catalog.get(name).file):
        place = root / "models" / file.sha256 / file.name
        place.parent.mkdir(parents=True)
        with place.open("wb") as made:
            made.truncate(file.size)
    settings = Settings(data=root)
    return EngineModels(store, EnginePool(paths, catalog=catalog, settings=settings))


def test_an_appliance_offers_its_installed_chat_models_and_serves_one(models: EngineModels) -> None:
    (installed,) = models.installed()
    assert (installed.name, installed.served) == (SMOL, False)
    service = LocalProviderService(models, probe=Probe())
    with pytest.raises(Conflict, match="skellig up"):
        service.switch_model(installed.name)
    assert asyncio.run(service.check_provider_health()).state == "down"


def test_an_engine_is_spoken_to_through_its_own_door(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("b")
    paths, catalog = DataPaths(root), Catalog.load()
    paths.run.mkdir(parents=True)
    pool = EnginePool(paths, catalog=catalog, settings=Settings(data=root))
    service = LocalProviderService(EngineModels(ModelStore(root / "m", catalog=catalog), pool), probe=Probe())
    with served_in_thread(ScriptedEngine(["said"], context=77), paths.engine_socket("chat")):
        info = service.get_current_provider_info()
        assert (info.provider, info.model, info.context) == ("local", "scripted", 77)
        assert asyncio.run(service.check_provider_health()).state == "ready"
        assert asyncio.run(service.complete(ASKED)).text == "said"
    with pytest.raises(EngineUnavailable):
        asyncio.run(service.complete(ASKED))
