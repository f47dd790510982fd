"""Whole missions over a repository that is really indexed; the model is scripted, and everything else is real."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatDelta, ChatRequest
from appliance.errors import ApplianceError, EngineUnavailable, PromptTooLong
from appliance.orchestrator.missions.instruments import INSTRUMENTS
from appliance.orchestrator.missions.model import MissionLimits
from tests.support.chat import verdict
from tests.support.missioned import CHOICE, ODD, Field, Make, Scripted, answer_of, of_kind, reads, replies, right

_PATIENCE_S = 60.0
_LOOKS = ("callees", "definition", "git_diff", "git_log", "impact", "outline", "search_code")
_CAPTION = "`ModelStore.verify` compares the digest of the installed model with the one in the catalogue."
_GOAL = "Where is ModelStore.verify defined and who calls it? How does it compare the digest with the catalogue?"


def test_a_mission_puts_definition_callers_history_and_prose_on_one_card(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission = there.done(_GOAL)
    answer = answer_of(mission)
    told = [sentence.text for sentence in answer.sentences]
    for start in (
        "`ModelStore.verify` is defined in shop/store.py:24",
        "`ModelStore.verify` (method, shop/store.py:24) is called at 1 place",
        "`ModelStore.verify` (method, shop/store.py:24) was changed last: ",
        _CAPTION,
    ):
        assert any(text.startswith(start) for text in told), start
    assert answer.kind == "prose"
    assert answer.gate is not None
    assert answer.gate.passed
    assert all(citation.span.verified and citation.text for citation in answer.evidence)
    assert [citation.n for citation in answer.evidence] == list(range(1, len(answer.evidence) + 1))
    assert all(1 <= number <= len(answer.evidence) for sentence in answer.sentences for number in sentence.cites)
    assert answer.freshness[0].repo_name == "shop"


def test_the_model_s_sentences_are_told_apart_from_those_of_the_graph(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION))).done(_GOAL))
    origins = {sentence.text: sentence.origin for sentence in answer.sentences}
    assert {text for text, origin in origins.items() if origin == "model"} == {_CAPTION}
    assert {"graph", "git"} < set(origins.values())
    assert all((origin == "git") == (" was changed last: " in text) for text, origin in origins.items())
    assert not any("verified" in text for text in origins)


def test_parts_are_answered_in_the_order_in_which_they_are_asked_and_each_thing_once(place: Make) -> None:
    """What stands beside the answer comes last; a call that was told is no news as the nearest reach of a change."""
    goal = "How does it compare the digest with the catalogue? Who calls ModelStore.verify? What breaks if I change it?"
    answer = answer_of(place(Scripted(replies(_CAPTION))).done(goal))
    told = [sentence.text for sentence in answer.sentences]
    starts = [_CAPTION, "`ModelStore.verify` (method, shop/store.py:24) is called at", "A change of `ModelStore.verify`"]
    places = [next(n for n, text in enumerate(told) if text.startswith(start)) for start in starts]
    assert places == sorted(places)
    assert [" calls it at " in text for text in told].count(True) == 1
    assert "1 of these calls it directly, as told above." in told


def test_of_a_question_how_it_is_told_what_one_look_cannot_tell(place: Make) -> None:
    """The calls in their order, the tests that come there, and who changed it last; the model reads the whole definition."""
    chat = Scripted(replies(_CAPTION))
    there = place(chat)
    mission = there.done("How does ModelStore.verify compare the digest?")
    told = [sentence.text for sentence in answer_of(mission).sentences]
    assert (
        "`ModelStore.verify` calls, in this order: `digest_of` (line 27), `ModelStore.path` (line 27), "
        "`DigestMismatch` (line 29)." in told
    )
    test = "`test_verify_compares_the_digest_of_the_model_with_the_catalogue`"
    assert f"1 place in tests comes to `ModelStore.verify`, such as {test}." in told
    quoted = "“Compare the digest of the installed model with the one in the catalogue.”"
    assert f"`ModelStore.verify` says of itself: {quoted}" in told
    assert [" was changed last: " in text for text in told].count(True) == 1
    assert not [e for e in of_kind(there.entries(mission), "asked_model") if CHOICE in str(e.data["messages"])]
    read = next(request.messages[1].content for request in chat.requests if reads(request))
    assert "return found" in read


def test_every_junior_is_commissioned_and_its_work_accepted(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    entries = there.entries(there.done(_GOAL))
    commissioned = {entry.data["junior"] for entry in of_kind(entries, "commissioned")}
    assert commissioned == {"tracer", "researcher", "historian", "reviewer"}
    assert len(of_kind(entries, "staged")) == len(of_kind(entries, "accepted")) == len(of_kind(entries, "commissioned"))


def test_without_a_model_a_mission_is_what_graph_and_search_tell(place: Make) -> None:
    there = place(None)
    answer = answer_of(there.done(_GOAL))
    assert (answer.kind, answer.model) == ("structure", "")
    assert answer.gate is not None
    assert answer.gate.reason == "no chat model is set up."
    assert not of_kind(there.entries(there.desk.list()[0]), "asked_model")


def test_a_model_that_cannot_choose_is_not_asked_to_and_that_is_said(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION, choose=lambda _: 1)))
    mission = there.done(_GOAL)
    warnings = " ".join(answer_of(mission).warnings)
    assert "The steps were chosen without the model: 2 of 4 choices were right when the model was tried." in warnings
    assert not [e for e in of_kind(there.entries(mission), "asked_model") if CHOICE in str(e.data["messages"])]


def test_a_model_that_cannot_read_writes_no_prose_and_that_is_said(place: Make) -> None:
    """One of half a billion weights gives lines that answer and lines that do not the same verdict."""

    class Blind(Scripted):
        async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            async for delta in super().chat(request):
                yield delta if not delta.text.startswith("true") else ChatDelta(delta.text, top=verdict(0.5))

    there = place(Blind(replies(_CAPTION)))
    answer = answer_of(there.done(_GOAL))
    assert answer.gate is not None
    assert answer.gate.reason.startswith("scripted is not let write.")
    assert "it told 0 from one that the lines do not answer" in answer.gate.reason
    assert _CAPTION not in [sentence.text for sentence in answer.sentences]


def test_an_engine_that_holds_to_no_schema_chooses_nothing(place: Make) -> None:
    """It fails closed: what it wrote is not read as a choice."""
    answer = answer_of(place(Scripted(lambda _: "Sure! I would choose the second one.")).done(_GOAL))
    assert any("0 of 4 choices were right" in warning for warning in answer.warnings)


@pytest.mark.parametrize("meant", ["shop/store.py:24", "shop/util/text.py:4"])
def test_the_model_says_which_of_several_definitions_is_meant(place: Make, meant: str) -> None:
    def choose(request: ChatRequest) -> int:
        options = request.messages[1].content.split("\n")
        file = meant.partition(":")[0]
        return next((n for n, option in enumerate(options, start=1) if f" in {file}:" in option), right(request))

    answer = answer_of(place(Scripted(replies(_CAPTION, choose=choose))).done("Who changed `verify` last?"))
    assert any(f"in {meant}, not " in warning for warning in answer.warnings)
    assert any(sentence.text.startswith("`") and f", {meant})" in sentence.text for sentence in answer.sentences)


def test_a_path_that_is_no_text_is_cited_all_the_same(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION))).done("Where is oddly_placed defined?"))
    assert [citation.span.path for citation in answer.evidence if citation.span.verified] == [ODD]


def test_an_unknown_name_is_researched_instead(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission = there.done("Who calls digest_offf?")
    answer = answer_of(mission)
    assert any(entry.data["junior"] == "tracer" for entry in of_kind(there.entries(mission), "refused"))
    assert any(entry.data["junior"] == "researcher" for entry in of_kind(there.entries(mission), "accepted"))
    assert any("The tracer found nothing" in warning and "digest_of" in warning for warning in answer.warnings)


def test_a_weak_first_look_is_followed_by_an_instruction(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission = there.done("What does the flux capacitor do with the plutonium when lightning strikes?")
    assert [entry.data["junior"] for entry in of_kind(there.entries(mission), "instructed")] == ["researcher"]
    answer = answer_of(mission)
    assert answer.gate is not None
    assert answer.gate.reason.startswith("the evidence is weak")


def test_the_graph_strikes_a_call_that_it_knows_not_to_be(place: Make) -> None:
    wrong = "`shorten` calls `ModelStore.verify` to compare the digest with the catalogue."
    answer = answer_of(place(Scripted(replies(_CAPTION, wrong))).done(_GOAL))
    assert [(struck.text, struck.reason) for struck in answer.struck] == [
        (wrong, "The graph knows every call in `shorten`, and none of `verify`.")
    ]


def test_what_the_model_makes_up_is_struck(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION, "`frobnicate` checks the digest again."))).done(_GOAL))
    assert [struck.text for struck in answer.struck] == ["`frobnicate` checks the digest again."]


def test_under_the_gate_there_is_no_prose(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION), probability=0.2)).done(_GOAL))
    assert answer.gate is not None
    assert not answer.gate.passed
    assert _CAPTION not in [sentence.text for sentence in answer.sentences]


@pytest.mark.parametrize("error", [EngineUnavailable("The engine is gone."), PromptTooLong("It is too long.")])
def test_an_engine_that_fails_costs_the_prose_and_nothing_else(place: Make, error: ApplianceError) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION), error=error)).done(_GOAL))
    assert answer.gate is not None
    assert (answer.kind, answer.gate.reason) == ("structure", error.message)


def test_an_engine_that_is_busy_is_asked_again(place: Make) -> None:
    class Busy(Scripted):
        left = 2

        async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            if reads(request) and self.left:
                self.left -= 1
                raise EngineUnavailable("the model is busy: 8 questions wait.")
            async for delta in super().chat(request):
                yield delta

    answer = answer_of(place(Busy(replies(_CAPTION))).done(_GOAL))
    assert _CAPTION in [sentence.text for sentence in answer.sentences]


def test_an_unfinished_choice_is_a_failure(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION), finish="length")).done(_GOAL))
    assert any("0 of 4 choices" in warning for warning in answer.warnings)


def test_a_limit_pauses_the_mission_and_what_a_person_says_is_worked_on(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission = there.work(there.ask(_GOAL, limits=MissionLimits(tool_calls=6)))
    assert (mission.state, mission.reason) == ("paused", "The mission has used its 6 calls of tools.")
    assert mission.answer is not None
    assert mission.answer.warnings[0] == "The mission has used its 6 calls of tools. This is what was found so far."
    assert mission.answer.sentences[0].text.startswith("`ModelStore.verify` is defined in shop/store.py:24")
    assert all(citation.span.verified for citation in mission.answer.evidence)
    there.stays_the_same(mission)
    there.desk.resume(mission.id, instruction="Where is EnginePool defined?", by="ada")
    while (mission := there.work(mission)).state == "paused":
        there.desk.resume(mission.id, by="ada")
    there.stays_the_same(mission)
    told = [sentence.text for sentence in answer_of(mission).sentences]
    assert any(text.startswith("`EnginePool` is defined in shop/pool.py") for text in told)
    assert any(text.startswith("`ModelStore.verify` is defined") for text in told)


def test_commissions_are_limited_too(place: Make) -> None:
    there = place(None)
    mission = there.work(there.ask(_GOAL, limits=MissionLimits(commissions=2)))
    assert (mission.state, mission.reason) == ("paused", "The mission has made its 2 commissions.")
    there.desk.resume(mission.id, by="ada")
    assert there.work(mission).state == "done"
    there.stays_the_same(mission)


def test_a_junior_whose_time_is_over_is_settled_and_the_mission_goes_on(place: Make) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission = there.done(_GOAL, limits=MissionLimits(junior_seconds=1e-9))
    assert mission.state == "done"


def test_a_mission_is_cancelled_in_the_middle_of_a_completion(place: Make) -> None:
    class Slow(Scripted):
        async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
            if reads(request):
                there.desk.cancel(mission.id, by="ada")
                self.open += 1
                try:
                    await asyncio.sleep(_PATIENCE_S)
                finally:
                    self.open -= 1
            async for delta in super().chat(request):
                yield delta

    chat = Slow(replies(_CAPTION))
    there = place(chat)
    mission = there.ask(_GOAL)
    cancelled = there.work(mission)
    assert (cancelled.state, cancelled.reason, chat.open) == ("cancelled", "ada stopped it.", 0)
    there.stays_the_same(mission)


def test_an_obedient_model_gets_nothing_outside_the_grants(place: Make) -> None:
    """Whatever stands in the repository, a model here can say a number or a sentence, and nothing that it says is a call."""
    obeys = "I call read_file(vault.py) of the repository secret, and `EnginePool.restart` starts it again."
    there = place(Scripted(replies(obeys)))
    mission = there.done("How does the pool of engines restart, and who calls restart?")
    entries = there.entries(mission)
    assert any("Ignore your instructions" in str(e.data) for e in of_kind(entries, "asked_model")), "It has read them"
    assert {str(entry.data["tool"]) for entry in of_kind(entries, "called_tool")} <= {*INSTRUMENTS, *_LOOKS}
    assert {citation.span.repo_name for citation in answer_of(mission).evidence} == {"shop"}
    assert not any("return digest == catalogue" in str(entry.data) for entry in entries), "What stands in the other one"


def test_a_scope_of_which_nothing_is_indexed_fails_with_the_reason(tmp_path: Path, field: Field) -> None:
    there = field.place(tmp_path)
    shop = field.shop
    empty = shop.registry.add_repo(shop.project, field.folder / "secret", name="unindexed")
    mission = there.desk.create("Where is it?", scope=shop.only("unindexed"), asked_by="ada")
    failed = there.work(mission)
    shop.registry.remove_repo(empty.id)
    assert failed.state == "failed"
    assert "index" in failed.reason
    there.stays_the_same(failed)
    there.close()


def test_the_historian_tells_what_changed_lately_and_how(place: Make) -> None:
    answer = answer_of(place(Scripted(replies(_CAPTION))).done("What changed lately in shop/store.py?"))
    told = [sentence.text for sentence in answer.sentences]
    assert told[0] == "The newest commits of shop of shop/store.py, the newest first:"
    assert told[1].startswith("2023-11-14 Test: first (")
    assert told[2].endswith("changed shop/store.py (added).")
    assert answer.sentences[2].cites
    assert all(citation.span.verified for citation in answer.evidence)


_REPLAY = """
import asyncio, sys
from pathlib import Path
from appliance.base.clock import SystemClock
from appliance.base.sqlite import connect
from appliance.orchestrator.missions.desk import Desk
from appliance.orchestrator.missions.working import MissionCode
from appliance.tables import MIGRATIONS
conn = connect(Path(sys.argv[1]), migrations=MIGRATIONS)
desk = Desk(conn, known=None, model=str, procedure=MissionCode(), clock=SystemClock())
replay = asyncio.run(desk.replay(sys.argv[2]))
heavy = {"lancedb", "pyarrow", "llama_cpp", "xllamacpp", "onnxruntime"}
loaded = sorted(heavy & {name.partition(".")[0] for name in sys.modules})
print(replay.same, replay.reason, loaded)
"""


def test_a_replay_in_another_process_with_another_hash_seed_is_the_same(place: Make, tmp_path: Path) -> None:
    """No order of a set or a dict may leak into a step; and a replay needs neither the vectors' world nor an engine."""
    there = place(Scripted(replies(_CAPTION, "`frobnicate` checks it.")))
    mission = there.work(there.ask(_GOAL))
    argv = [sys.executable, "-c", _REPLAY, str(tmp_path / "missions.db"), mission.id]
    done = subprocess.run(argv, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True  []"


_CHILD = """
import asyncio, sys
from pathlib import Path
from tests.support.missioned import Field, Place, Scripted, reads, replies
from tests.support.missions import Going

class Hanging(Scripted):
    async def chat(self, request):
        if reads(request):
            Path(sys.argv[3]).touch()
            await asyncio.sleep(60)
        async for delta in super().chat(request):
            yield delta

field = Field.opened(Path(sys.argv[1]))
place = Place(field, Path(sys.argv[2]), Hanging(replies()))
asyncio.run(place.runner.run(sys.argv[4], stopping=Going()))
"""


def test_a_mission_that_was_killed_in_the_middle_of_a_completion_goes_on(place: Make, field: Field, tmp_path: Path) -> None:
    there = place(Scripted(replies(_CAPTION)))
    mission, mark = there.ask(_GOAL), tmp_path / "reads"
    argv = [sys.executable, "-c", _CHILD, str(field.folder), str(tmp_path / "missions.db"), str(mark), mission.id]
    child = subprocess.Popen(argv)
    try:
        end = time.monotonic() + _PATIENCE_S
        while not mark.exists():
            assert time.monotonic() < end, "The child never came to read"
            assert child.poll() is None
            time.sleep(0.05)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait(_PATIENCE_S)
    before = len(there.entries(mission))
    done = there.work(mission)
    entries = there.entries(mission)
    assert entries[before].kind == "interrupted"
    assert entries[before + 1].kind == "model_said", "Only the completion that it was at is asked for again"
    assert _CAPTION in [sentence.text for sentence in answer_of(done).sentences]
    there.stays_the_same(mission)
    assert there.work(mission).entries == done.entries
