"""Claims about what is remembered of models."""

import asyncio
from pathlib import Path

from appliance.codeintel.needs import ChatModel
from appliance.framework.tried import FILE, Remembering
from appliance.orchestrator.runners.probe import Abilities
from tests.support.calls import ScriptedModel


class Probes:
    def __init__(self, *seen: Abilities) -> None:
        self.seen = list(seen)

    async def __call__(self, chat: ChatModel) -> Abilities:
        del chat
        return self.seen.pop(0)


def test_what_a_model_can_do_is_remembered_by_its_engine_and_for_other_processes(tmp_path: Path) -> None:
    can, other = Abilities(envelope=True, said=("3 of 3.",)), Abilities(native=True)
    for engine, seen, tries in (("llama_server", can, 1), ("llama_server", can, 0), ("vllm", other, 1)):
        probes = Probes(seen)
        assert asyncio.run(Remembering(tmp_path, engine, probes)(ScriptedModel())) == seen
        assert len(probes.seen) == 1 - tries


def test_a_model_is_tried_once_and_again_where_it_could_not(tmp_path: Path) -> None:
    probes = Probes(Abilities(), Abilities(envelope=True))
    remembering = Remembering(tmp_path, "llama_server", probes)
    seen = [asyncio.run(remembering(ScriptedModel())) for _ in range(3)]
    assert [each.envelope for each in seen] == [False, True, True]


def test_what_was_kept_by_something_else_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{not json")
    probes = Probes(Abilities(envelope=True))
    assert asyncio.run(Remembering(tmp_path, "vllm", probes)(ScriptedModel())).envelope
