import asyncio
import shutil
from contextlib import aclosing

import pytest

from appliance.codeintel.results import Answer, AnswerEvent, Scope
from appliance.errors import EngineUnavailable, InvalidInput, LimitExceeded, NotFound, PromptTooLong
from tests.support.chat import ScriptedChat, said
from tests.support.repos import git, make_repo
from tests.support.shop import FILES, STORE, Shop, whole

QUESTION = "Where is a model's digest verified?"
GOOD = "The digest is verified in `ModelStore.verify`, which raises `DigestMismatch`."


def ask(
    shop: Shop, chat: ScriptedChat | None, question: str = QUESTION, *, scope: Scope | None = None, prose: bool = True
) -> tuple[list[AnswerEvent], Answer]:
    chosen = scope or shop.only("shop")
    return asyncio.run(whole(shop.answerer(chat).ask(question, scope=chosen, prose=prose)))


def test_evidence_comes_first_then_tokens_then_the_sentence_then_all_of_it(shop: Shop) -> None:
    events, answer = ask(shop, ScriptedChat(said(GOOD)))
    kinds = [event.type for event in events]
    assert kinds[0] == "evidence"
    assert kinds[-2:] == ["sentence", "done"]
    assert set(kinds[1:-2]) == {"token"}
    assert "".join(event.text for event in events) == GOOD
    assert answer.kind == "prose"
    assert answer.model == "scripted"
    assert [sentence.text for sentence in answer.sentences] == [GOOD]


def test_the_card_holds_the_answering_lines_and_the_sentence_points_at_them(shop: Shop) -> None:
    _, answer = ask(shop, ScriptedChat(said(GOOD)))
    cited = next(citation for citation in answer.evidence if citation.n == answer.sentences[0].cites[0])
    assert cited.span.path == "shop/store.py"
    assert "raise DigestMismatch(name)" in cited.text


def test_every_citation_is_numbered_verified_and_shows_exactly_its_lines(shop: Shop) -> None:
    _, answer = ask(shop, None)
    assert [citation.n for citation in answer.evidence] == list(range(1, len(answer.evidence) + 1))
    for citation in answer.evidence:
        span = citation.span
        assert span.verified
        lines = FILES[span.path].split("\n")
        assert citation.text == "\n".join(lines[span.start_line - 1 : span.end_line])


def test_a_question_of_structure_asks_no_model(shop: Shop) -> None:
    chat = ScriptedChat(said(GOOD))
    events, answer = ask(shop, chat, "Where is ModelStore.verify defined?")
    assert chat.requests == []
    assert answer.kind == "structure"
    assert answer.gate is None
    assert answer.model == ""
    assert answer.warnings == ()  # that there are no vectors does not matter here
    line = STORE.split("\n").index("    def verify(self, name):") + 1
    assert answer.sentences[0].text.startswith(f"`ModelStore.verify` is defined in shop/store.py:{line} ")
    assert answer.evidence[answer.sentences[0].cites[0] - 1].span.verified
    assert [event.type for event in events] == ["evidence", *["sentence"] * len(answer.sentences), "done"]


def test_a_question_of_structure_about_an_unknown_name_gets_the_card(shop: Shop) -> None:
    _, answer = ask(shop, None, "Where is ModelDigestVerifier defined?")
    assert answer.kind == "evidence"


def test_a_question_from_elsewhere_asks_no_model(shop: Shop) -> None:
    """Words that the repositories do not have weigh most, so a foreign question stays under the floor."""
    chat = ScriptedChat(said(GOOD))
    _, answer = ask(shop, chat, "Which Kubernetes ingress annotations configure websocket sticky sessions for the role?")
    assert chat.requests == []
    assert answer.kind == "evidence"
    assert answer.gate is not None
    assert not answer.gate.passed
    assert answer.gate.overlap is not None
    assert answer.gate.reason.startswith("the evidence is weak: ")


def test_below_the_model_s_own_gate_there_is_the_card_and_no_sentence(shop: Shop) -> None:
    _, answer = ask(shop, ScriptedChat(said(GOOD), probability=0.3))
    assert answer.kind == "evidence"
    assert answer.sentences == ()
    assert answer.gate is not None
    assert answer.gate.probability == pytest.approx(0.3)
    assert answer.gate.overlap is not None
    assert answer.evidence


def test_a_struck_sentence_is_shown_as_struck(shop: Shop) -> None:
    events, answer = ask(shop, ScriptedChat(said("It calls `openssl_verify`.", GOOD)))
    assert [struck.text for struck in answer.struck] == ["It calls `openssl_verify`."]
    assert [event.type for event in events if event.type in {"struck", "sentence"}] == ["struck", "sentence"]


def test_without_a_model_the_card_stands_alone(shop: Shop) -> None:
    _, answer = ask(shop, None)
    assert answer.kind == "evidence"
    assert answer.gate is not None
    assert answer.gate.reason == "no chat model is set up."


def test_prose_can_be_declined(shop: Shop) -> None:
    chat = ScriptedChat(said(GOOD))
    _, answer = ask(shop, chat, prose=False)
    assert chat.requests == []
    assert answer.gate is None
    assert answer.evidence


def test_an_engine_that_is_away_costs_the_prose_and_not_the_card(shop: Shop) -> None:
    events, answer = ask(shop, ScriptedChat(errors=[EngineUnavailable("The chat engine is loading.")]))
    assert [event.type for event in events] == ["evidence", "done"]
    assert answer.evidence
    assert answer.model == ""
    assert answer.gate is not None
    assert not answer.gate.passed
    assert "loading" in answer.gate.reason
    assert any("loading" in warning for warning in answer.warnings)


def test_an_engine_that_breaks_off_keeps_what_was_said(shop: Shop) -> None:
    text = said(GOOD, "It is never said to its end, however long it may go on.")
    chat = ScriptedChat(text, broken=EngineUnavailable("The engine died."), breaks_after=len(text) // 3 - 8)
    _, answer = ask(shop, chat)
    assert [sentence.text for sentence in answer.sentences] == [GOOD]
    assert any("broke off" in warning for warning in answer.warnings)
    assert chat.open == 0


def too_long() -> PromptTooLong:
    return PromptTooLong("The prompt has 900 tokens.", prompt_tokens=900, limit=512, model="scripted")


def test_a_pack_that_does_not_fit_is_made_smaller_once_and_that_is_said(shop: Shop) -> None:
    chat = ScriptedChat(said(GOOD), errors=[too_long()])
    _, answer = ask(shop, chat)
    first, second = chat.requests
    assert len(second.messages[1].content) < len(first.messages[1].content)
    assert answer.kind == "prose"
    assert any("did not fit" in warning for warning in answer.warnings)


def test_a_pack_that_does_not_fit_even_then_leaves_the_card(shop: Shop) -> None:
    chat = ScriptedChat(said(GOOD), errors=[too_long(), too_long()])
    _, answer = ask(shop, chat)
    assert len(chat.requests) == 2
    assert answer.kind == "evidence"
    assert answer.gate is not None
    assert not answer.gate.passed


def test_closing_the_answer_frees_the_engine(shop: Shop) -> None:
    chat = ScriptedChat(said(GOOD))

    async def leave_early() -> None:
        async with aclosing(shop.answerer(chat).ask(QUESTION, scope=shop.only("shop"))) as events:
            async for event in events:
                if event.type == "token":
                    assert chat.open == 1
                    break

    asyncio.run(leave_early())
    assert chat.open == 0


def test_the_answer_says_how_long_each_step_took_and_which_commit_it_speaks_of(shop: Shop) -> None:
    events, answer = ask(shop, ScriptedChat(said(GOOD)))
    steps = ("search_ms", "evidence_ms", "first_token_ms", "total_ms")
    times = [answer.timings[step] for step in steps]
    assert times == sorted(times)
    card = events[0].answer
    assert card is not None
    assert set(card.timings) == {"search_ms", "evidence_ms"}
    assert answer.freshness[0].repo_name == "shop"
    assert {citation.span.commit for citation in answer.evidence} == {answer.freshness[0].commit}


def test_a_repository_that_has_vanished_leaves_unverified_citations_and_a_warning(own_shop: Shop) -> None:
    own_shop.make("gone")
    shutil.rmtree(own_shop.folder / "gone")
    _, answer = ask(own_shop, ScriptedChat(said(GOOD)), scope=own_shop.scope)
    assert answer.evidence
    assert not any(citation.span.verified for citation in answer.evidence)
    assert any("gone" in warning for warning in answer.warnings)


def test_a_commit_that_was_rewritten_away_leaves_unverified_citations(own_shop: Shop) -> None:
    own_shop.make("rewritten")
    git(own_shop.folder / "rewritten", "checkout", "-q", "--orphan", "other")
    git(own_shop.folder / "rewritten", "rm", "-rfq", ".")
    git(own_shop.folder / "rewritten", "commit", "-q", "--allow-empty", "-m", "new start")
    git(own_shop.folder / "rewritten", "branch", "-D", "main")
    git(own_shop.folder / "rewritten", "reflog", "expire", "--expire=now", "--all")
    git(own_shop.folder / "rewritten", "gc", "-q", "--prune=now")
    _, answer = ask(own_shop, None, scope=own_shop.scope)
    assert not any(citation.span.verified for citation in answer.evidence)
    assert answer.warnings


def test_with_several_repos_every_sentence_says_which_one(shop: Shop) -> None:
    _, answer = ask(shop, None, "Where is ModelStore defined?", scope=shop.scope)
    named = [sentence.text.split(" in ")[1].split(":")[0] for sentence in answer.sentences]
    assert set(named) == {"shop", "corners"}
    assert {citation.span.repo_name for citation in answer.evidence} == {"shop", "corners"}


def test_nothing_indexed_is_not_found_with_a_remedy(own_shop: Shop) -> None:
    own_shop.registry.add_repo(own_shop.project, make_repo(own_shop.folder, {"a.py": "a = 1\n"}, name="waiting"))
    with pytest.raises(NotFound) as raised:
        ask(own_shop, None, scope=own_shop.scope)
    assert raised.value.remedy


def test_an_unknown_project_is_not_found(shop: Shop) -> None:
    other = shop.registry.add_project("empty")
    with pytest.raises(NotFound):
        asyncio.run(whole(shop.answerer().ask(QUESTION, scope=Scope(other.id))))


def test_a_question_without_words_is_refused(shop: Shop) -> None:
    with pytest.raises(InvalidInput):
        ask(shop, None, "???")


def test_an_endless_question_is_refused(shop: Shop) -> None:
    with pytest.raises(LimitExceeded):
        ask(shop, None, "why " * 5000)


def test_a_question_with_half_a_character_is_answered(shop: Shop) -> None:
    """JSON can carry a lone surrogate; no engine's wire can."""
    chat = ScriptedChat(said(GOOD))
    _, answer = ask(shop, chat, "Where is a model's digest\ud800 verified?")
    answer.question.encode()
    chat.requests[0].messages[1].content.encode()
