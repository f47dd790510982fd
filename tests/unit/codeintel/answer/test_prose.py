import asyncio
import json
from collections.abc import Collection
from contextlib import aclosing

import pytest

from appliance.codeintel.prose import (
    LEAST_PROBABILITY,
    MAX_SENTENCES,
    Outcome,
    ProseEvent,
    probability_of_true,
    read,
    request,
    threshold,
    warm,
)
from appliance.codeintel.query.context import Block
from appliance.codeintel.reading import Fragment
from appliance.codeintel.results import Sentence, Struck
from appliance.codeintel.support import Ground
from appliance.contracts.chat import Candidate
from appliance.errors import EngineUnavailable
from tests.support.chat import ScriptedChat, said

QUESTION = "Where is a digest verified?"
TEXT = "def verify(self, name):\n    if digest != wanted:\n        raise DigestMismatch(name)"
BLOCKS = (Block(1, "inference/store.py:10-12 (ModelStore.verify)", TEXT),)
GROUNDS = (Ground.of(1, TEXT, "inference/store.py", "ModelStore.verify"),)
GOOD = "The digest is verified in `verify`."


def weigh(tokens: Collection[str]) -> dict[str, float]:
    return {token: 1.0 for token in tokens if token not in {"the", "is", "in"}}


def events_of(chat: ScriptedChat) -> list[ProseEvent]:
    async def gather() -> list[ProseEvent]:
        return [event async for event in read(QUESTION, BLOCKS, chat=chat, grounds=GROUNDS, weigh=weigh)]

    return asyncio.run(gather())


def plain_refusal(reason: str) -> bool:
    return reason[0].islower() and reason.endswith(".") and not any(word in reason for word in ("prose", "P(", "\n"))


def outcome(events: list[ProseEvent]) -> Outcome:
    last = events[-1]
    assert isinstance(last, Outcome)
    return last


def test_what_warms_the_model_is_the_beginning_of_every_question() -> None:
    chat = ScriptedChat("{")
    asyncio.run(warm(chat))
    (warming,) = chat.requests
    assert warming.messages[0] == request(QUESTION, BLOCKS).messages[0]
    assert (warming.max_tokens, chat.open) == (1, 0)


def test_sentences_stream_and_then_come_linked() -> None:
    events = events_of(ScriptedChat(said(GOOD)))
    fragments = [event.text for event in events if isinstance(event, Fragment)]
    assert len(fragments) > 5
    assert "".join(fragments) == GOOD
    assert events[-2] == Sentence(GOOD, (1,), "model")
    assert outcome(events).gate.passed


@pytest.mark.parametrize(("probability", "passed"), [(0.59, False), (0.61, True), (0.05, False), (0.99, True)])
def test_the_probability_of_the_verdict_decides_and_not_the_word(probability: float, *, passed: bool) -> None:
    """At temperature 0 a model says true from a half on; only from 0.60 on is it mostly right."""
    events = events_of(ScriptedChat(said(GOOD), probability=probability))
    gate = outcome(events).gate
    assert gate.passed is passed
    assert gate.probability == pytest.approx(probability)
    assert any(isinstance(event, Sentence) for event in events) is passed


@pytest.mark.parametrize("chat", [
    ScriptedChat(said(GOOD), probability=0.5), ScriptedChat(said(GOOD, enough=False), probability=None), ScriptedChat("{}"),
])  # fmt: skip
def test_a_refusal_goes_on_from_no_prose(chat: ScriptedChat) -> None:
    """Each door writes ``No prose:`` itself: once, and in front of words that anybody understands."""
    gate = outcome(events_of(chat)).gate
    assert not gate.passed
    assert plain_refusal(gate.reason)


def test_a_weak_verdict_names_what_is_asked_for() -> None:
    gate = outcome(events_of(ScriptedChat(said(GOOD), probability=0.5))).gate
    assert gate.reason == "the evidence is weak: the model gives it 0.50 where 0.60 is asked."


def test_what_just_misses_the_gate_does_not_read_as_if_it_had_passed() -> None:
    gate = outcome(events_of(ScriptedChat(said(GOOD), probability=LEAST_PROBABILITY - 0.001))).gate
    assert (gate.passed, gate.reason) == (False, "the evidence is weak: the model gives it 0.59 where 0.60 is asked.")


def test_below_the_gate_nothing_is_shown_and_the_engine_is_let_go() -> None:
    chat = ScriptedChat(said(GOOD), probability=0.2)
    assert len(events_of(chat)) == 1
    assert chat.open == 0


@pytest.mark.parametrize("enough", [True, False])
def test_without_probabilities_the_model_is_taken_at_its_word_and_that_is_said(*, enough: bool) -> None:
    gate = outcome(events_of(ScriptedChat(said(GOOD, enough=enough), probability=None))).gate
    assert gate.passed is enough
    assert gate.probability is None
    assert "no probability" in gate.reason


def test_an_unsupported_sentence_comes_as_struck() -> None:
    events = events_of(ScriptedChat(said("It calls `requests.get`.", GOOD)))
    assert [type(event) for event in events if isinstance(event, Sentence | Struck)] == [Struck, Sentence]


def test_sentences_that_come_as_one_are_judged_one_by_one() -> None:
    events = events_of(ScriptedChat(said(f"{GOOD} Passwords are then mailed abroad weekly.")))
    judged = [event for event in events if isinstance(event, Sentence | Struck)]
    assert [type(event) for event in judged] == [Sentence, Struck]
    assert judged[0] == Sentence(GOOD, (1,), "model")


@pytest.mark.parametrize(
    "text", ["The digest is verified in `verify`, e.g. For a name.", "The name 1.5 is verified in `verify`.", GOOD]
)
def test_one_sentence_stays_one(text: str) -> None:
    events = events_of(ScriptedChat(said(text)))
    assert len([event for event in events if isinstance(event, Sentence | Struck)]) == 1


def test_more_than_three_sentences_in_one_are_cut_and_that_is_said() -> None:
    many = " ".join(f"The digest is verified in `verify` {word}." for word in ("digest", "name", "wanted", "raise"))
    events = events_of(ScriptedChat(said(many)))
    assert len([event for event in events if isinstance(event, Sentence | Struck)]) == MAX_SENTENCES
    assert any("more than 3 sentences" in warning for warning in outcome(events).warnings)


def test_the_unfinished_last_sentence_is_dropped_and_that_is_said() -> None:
    text = said(GOOD, "The digest of the name is")
    events = events_of(ScriptedChat(text[: text.rindex('"')], finish="length"))
    assert [event.text for event in events if isinstance(event, Sentence)] == [GOOD]
    assert "limit of tokens" in outcome(events).warnings[0]


def test_reaching_the_limit_after_the_last_brace_is_no_loss() -> None:
    assert outcome(events_of(ScriptedChat(said(GOOD), finish="length"))).warnings == ()


def test_another_form_than_the_agreed_one_is_a_warning() -> None:
    """Some engines cannot constrain their output."""
    ended = outcome(events_of(ScriptedChat("Sure! The digest is verified in verify.")))
    assert not ended.gate.passed
    assert "agreed form" in ended.warnings[0]


def test_a_repeated_sentence_comes_once_and_never_more_than_three() -> None:
    many = [f"The digest is verified in `verify` {word}." for word in ("digest", "name", "wanted", "raise")]
    events = events_of(ScriptedChat(said(GOOD, GOOD, *many)))
    assert len([event for event in events if isinstance(event, Sentence | Struck)]) == MAX_SENTENCES


def test_closing_the_reading_frees_the_engine() -> None:
    chat = ScriptedChat(said(GOOD))

    async def leave_early() -> None:
        async with aclosing(read(QUESTION, BLOCKS, chat=chat, grounds=GROUNDS, weigh=weigh)) as events:
            async for _ in events:
                assert chat.open == 1
                break

    asyncio.run(leave_early())
    assert chat.open == 0


def test_an_engine_that_is_away_raises() -> None:
    with pytest.raises(EngineUnavailable):
        events_of(ScriptedChat(errors=[EngineUnavailable("The chat engine is loading.")]))


def test_all_fixed_words_come_first_so_that_an_engine_has_read_them_before() -> None:
    asked = request(QUESTION, BLOCKS)
    system, user = asked.messages
    assert (system.role, user.role) == ("system", "user")
    assert system == request("another one?", BLOCKS[:1]).messages[0]
    places = [user.content.index(text) for text in ("[1] inference/store.py:10-12", TEXT, QUESTION)]
    assert places == sorted(places)
    assert places[0] == 0
    assert asked.temperature == 0.0
    assert asked.top >= 2


def test_the_schema_puts_the_verdict_first_and_bounds_the_number_of_sentences_but_not_their_length() -> None:
    schema = json.loads(json.dumps(request(QUESTION, BLOCKS).schema))
    assert list(schema["properties"]) == ["enough_evidence", "sentences"]
    assert schema["properties"]["sentences"]["maxItems"] == MAX_SENTENCES
    assert "maxLength" not in json.dumps(schema)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([Candidate("true", -0.1), Candidate("false", -20.0)], 1.0),
        ([Candidate(" True", -1.0), Candidate("fal", -1.0), Candidate("maybe", -0.1)], 0.5),
        ([Candidate('"', -0.1), Candidate("yes", -1.0)], None),
        ([], None),
    ],
)
def test_only_candidates_that_begin_true_or_false_count(candidates: list[Candidate], expected: float | None) -> None:
    found = probability_of_true(candidates)
    assert found == (None if expected is None else pytest.approx(expected))


def test_a_model_without_a_calibration_takes_the_default_threshold() -> None:
    assert threshold("unheard-of") == LEAST_PROBABILITY
