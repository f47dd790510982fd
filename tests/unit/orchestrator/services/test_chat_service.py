import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Json, ToolContext, ToolOutput
from appliance.errors import (
    ApplianceError,
    Cancelled,
    Conflict,
    EngineUnavailable,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PromptTooLong,
)
from appliance.orchestrator.services.chat import NO_RESPONSE
from appliance.orchestrator.services.context import LocalContextService
from appliance.orchestrator.services.conversation import ConversationMessage
from appliance.orchestrator.services.session import LocalSessionService
from appliance.orchestrator.services.turn import ChatEvent, ChatOptions, ChatReply
from tests.support.calls import ScriptedModel, ScriptedTool, Stop, context, grants, never
from tests.support.clock import FakeClock
from tests.support.conversing import ANSWER, NONE, SEARCH, choice, scripted, staged


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


def test_no_message_is_dropped_and_the_system_prompt_stands_once(path: Path) -> None:
    with staged(path, ScriptedModel(lambda request: f"re: {request.messages[-1].content}")) as stage:
        for text in ("A", "  B ", "C"):
            assert stage.say(text, options=ChatOptions(system="Be brief.")).content == f"re: {text.strip()}"
        assert stage.messages == [
            ("system", "Be brief."),
            ("user", "A"), ("assistant", "re: A"),
            ("user", "B"), ("assistant", "re: B"),
            ("user", "C"), ("assistant", "re: C"),
        ]  # fmt: skip
        last = stage.model.requests[-1].messages
    assert [message.role for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [message.content for message in last].count("Be brief.") == 1


def test_a_turn_uses_its_tools_and_gives_one_answer(path: Path) -> None:
    tool = ScriptedTool(parameters=SEARCH, output=ToolOutput("main calls parse"))
    model = ScriptedModel(scripted(choice("search", query="parse"), ANSWER))
    with staged(path, model, tool) as stage:
        events: list[ChatEvent] = []

        async def main() -> None:
            events.extend(
                [e async for e in stage.chat.stream_chat(stage.session, "Who calls?", context=context(grants("search")))]
            )

        asyncio.run(main())
        kinds = [event.kind for event in events]
        reply = events[-1].reply
        assert reply is not None
        assert kinds == ["tool_call", "tool_result", "token", "token", "token", "final"]
        assert "".join(event.text for event in events if event.kind == "token") == reply.content == "It is main."
        assert [outcome.text for outcome in reply.outcomes] == ["main calls parse"]
        assert (reply.prompt_tokens, reply.completion_tokens) == (30, 5 + 4 + 3)
        stored = stage.sessions.content(stage.session)[0].messages
    assert [message.role for message in stored] == ["system", "user", "assistant", "tool", "assistant"]
    assert stored[2].uses[0].id == stored[3].call
    assert tool.calls[0][0] == {"query": "parse"}
    answering = model.requests[-1]
    assert answering.schema is None
    assert "main calls parse" in answering.messages[-1].content
    assert "Tools:" not in answering.messages[0].content, "the answer comes from a prompt without tools"


def test_neither_a_mark_of_a_result_nor_a_call_is_ever_told(path: Path) -> None:
    """The pieces of an answer are told as they come: what was seen once cannot be taken back."""
    said = iter(["<tool_call> {} </tool_call>", ""])

    def answers(request: ChatRequest) -> str:
        if request.schema is not None:
            return scripted(choice("search", query="a"), ANSWER)(request) if "Result:" not in str(request) else ANSWER
        return next(said) or f"It is main, by data {request.messages[-1].content[6:14]} ."

    with staged(path, ScriptedModel(answers), ScriptedTool(parameters=SEARCH)) as stage:

        async def main() -> list[ChatEvent]:
            turn = stage.chat.stream_chat(stage.session, "Where?", context=context(grants("search")))
            return [event async for event in turn]

        events = asyncio.run(main())
        told = "".join(event.text for event in events if event.kind == "token")
        assert told == stage.messages[-1][1] == "It is main, by data ."
    assert [event.kind for event in events].count("final") == 1


def test_a_later_turn_is_told_what_was_said_and_found_before(path: Path) -> None:
    model = ScriptedModel(scripted(choice("search", query="parse"), ANSWER))
    with staged(path, model, ScriptedTool(parameters=SEARCH, output=ToolOutput("main calls parse"))) as stage:
        stage.say("Who calls parse?", given=grants("search"))
        stage.say("And who calls that?", given=grants("search"))
        choosing, answering = model.requests[-2:]
        stage.say("How is a file read before it is shown?", given=grants("search"))
    assert "Who calls parse?" not in model.requests[-2].messages[-1].content, "a small model would choose for it again"
    assert "Who calls parse?" in choosing.messages[-1].content
    assert any("main calls parse" in message.content for message in answering.messages)


def test_notes_are_read_before_the_question_in_their_turn_alone(path: Path) -> None:
    with staged(path, ScriptedModel()) as stage:
        stage.say("A", options=ChatOptions(notes="Think of B."))
        stage.say("C")
        first, second = (" ".join(message.content for message in request.messages) for request in stage.model.requests)
        assert ("Think of B.\n\nA" in first, "Think of B." in second) == (True, False)
        assert ("user", "A") in stage.messages


def test_half_a_sign_in_a_question_or_a_result_breaks_nothing(path: Path) -> None:
    model = ScriptedModel(scripted(choice("search", query="\ud800"), ANSWER, answer="\ud800"))
    with staged(path, model, ScriptedTool(parameters=SEARCH, output=ToolOutput("\ud800"))) as stage:
        assert stage.say("A \ud800", given=grants("search")).content == "\ud800"
        assert stage.messages[1] == ("user", "A \\ud800")


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_a_message_that_says_nothing_is_refused(path: Path, text: str) -> None:
    with staged(path, ScriptedModel()) as stage:
        with pytest.raises(InvalidInput):
            stage.say(text)
        assert not stage.model.requests


def test_a_session_that_is_not_there_or_closed_is_refused_before_the_model_is_asked(path: Path) -> None:
    with staged(path, ScriptedModel()) as stage:
        stage.sessions.close_session(stage.session)
        with pytest.raises(Conflict):
            stage.say("A")
        with pytest.raises(NotFound):
            replace(stage, session="ses_none").say("A")
        assert not stage.model.requests


FAILURES: Mapping[str, tuple[ScriptedModel, type[ApplianceError]]] = {
    "an engine that stays away": (ScriptedModel(failures=[EngineUnavailable("down")] * 9), EngineUnavailable),
    "an engine that breaks off": (
        ScriptedModel(lambda _: "a b c", broken=EngineUnavailable("gone"), breaks_after=2),
        EngineUnavailable,
    ),
    "a prompt that does not fit": (ScriptedModel(context=40), PromptTooLong),
}


@pytest.mark.parametrize("claim", FAILURES)
def test_a_turn_that_fails_leaves_the_conversation_as_it_was(path: Path, claim: str) -> None:
    model, error = FAILURES[claim]
    with staged(path, model) as stage:
        before = stage.sessions.get_session(stage.session)
        for _ in range(2):
            with pytest.raises(error):
                stage.say("A question", options=ChatOptions(max_tokens=30))
        assert stage.sessions.get_session(stage.session) == before
        assert model.open == 0


def test_an_engine_that_is_away_for_a_moment_is_asked_again_until_the_first_word(path: Path) -> None:
    model = ScriptedModel(failures=[EngineUnavailable("down"), EngineUnavailable("down")])
    with staged(path, model) as stage:
        assert stage.say("A").content == "ok"
    assert len(model.requests) == 3


def _while_choosing(model: ScriptedModel, tool: ScriptedTool) -> asyncio.Event:
    del tool
    model.paused = True
    return model.speaking


def _while_a_tool_runs(model: ScriptedModel, tool: ScriptedTool) -> asyncio.Event:
    model.says, tool.act = scripted(choice("search", query="a")), never
    return tool.called


def _while_answering(model: ScriptedModel, tool: ScriptedTool) -> asyncio.Event:
    del tool

    def says(request: ChatRequest) -> str:
        model.paused = request.schema is None
        if request.schema is not None:
            model.speaking.clear()
        return ANSWER if request.schema is not None else "It is"

    model.says = says
    return model.speaking


@pytest.mark.parametrize("moment", [_while_choosing, _while_a_tool_runs, _while_answering])
@pytest.mark.parametrize("way", ["cancel", "close"])
def test_a_turn_that_is_cancelled_at_any_moment_leaves_the_conversation_as_it_was(
    path: Path, moment: Callable[[ScriptedModel, ScriptedTool], asyncio.Event], way: str
) -> None:
    model, tool = ScriptedModel(scripted(ANSWER)), ScriptedTool(parameters=SEARCH)
    with staged(path, model, tool) as stage:
        before = stage.sessions.get_session(stage.session)

        async def cancelled() -> None:
            reached = moment(model, tool)
            task = asyncio.create_task(stage.chat.chat(stage.session, "A", context=context(grants("search"))))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        async def closed() -> None:
            reached = moment(model, tool)
            events = stage.chat.stream_chat(stage.session, "A", context=context(grants("search")))

            async def read() -> None:
                async for _ in events:
                    pass

            reading = asyncio.create_task(read())
            await reached.wait()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await events.aclose()

        asyncio.run(cancelled() if way == "cancel" else closed())
        assert stage.sessions.get_session(stage.session) == before
        assert model.open == 0
        model.paused, model.says, tool.act = False, scripted(ANSWER, answer="again"), None
        assert stage.say("A").content == "again", "nothing is left locked"
        assert [role for role, _ in stage.messages] == ["system", "user", "assistant"]


def test_a_run_that_is_stopped_ends_the_turn(path: Path) -> None:
    stop = Stop()

    async def stops(arguments: Mapping[str, Json]) -> object:
        stop.stopped = True
        return ToolOutput(str(arguments))

    with staged(
        path, ScriptedModel(scripted(choice("search", query="a"))), ScriptedTool(parameters=SEARCH, act=stops)
    ) as stage:
        with pytest.raises(Cancelled):
            stage.say("A", given=grants("search"), stop=stop)
        assert stage.messages == []


def test_two_turns_at_once_follow_each_other(path: Path) -> None:
    with staged(path, ScriptedModel(lambda request: f"re: {request.messages[-1].content}")) as stage:

        async def main() -> None:
            where = context(NONE)
            await asyncio.gather(*(stage.chat.chat(stage.session, text, context=where) for text in "AB"))

        asyncio.run(main())
        assert [text for _, text in stage.messages[1:]] in (["A", "re: A", "B", "re: B"], ["B", "re: B", "A", "re: A"])


def test_the_turns_of_a_session_are_cancelled_from_elsewhere_those_that_wait_too(path: Path) -> None:
    model = ScriptedModel(paused=True)
    with staged(path, model) as stage:
        before = stage.sessions.get_session(stage.session)

        async def main() -> list[ChatReply | BaseException]:
            asked = [asyncio.create_task(stage.chat.chat(stage.session, text, context=context(NONE))) for text in ("A", "B")]
            await model.speaking.wait()
            assert stage.chat.cancel_chat("another") == 0
            assert await asyncio.to_thread(stage.chat.cancel_chat, stage.session) == 2
            return await asyncio.gather(*asked, return_exceptions=True)

        assert [type(each) for each in asyncio.run(main())] == [Cancelled, Cancelled]
        assert stage.sessions.get_session(stage.session) == before
        assert (model.open, stage.chat.cancel_chat(stage.session)) == (0, 0)
        model.paused = False
        assert stage.say("A").content == "ok", "nothing is left locked"


def test_a_tool_that_asks_in_its_own_session_is_refused_and_waits_for_nobody(path: Path) -> None:
    async def asks(arguments: Mapping[str, Json]) -> object:
        return ToolOutput((await stage.chat.chat(stage.session, str(arguments), context=context(NONE))).content)

    model = ScriptedModel(scripted(choice("search", query="a"), ANSWER))
    with staged(path, model, ScriptedTool(parameters=SEARCH, act=asks)) as stage:
        reply = stage.say("A", given=grants("search"))
    assert reply.outcomes[0].code == "conflict"


def test_a_call_that_waits_for_a_person_says_so_as_it_happens(path: Path) -> None:
    tool = ScriptedTool("edit", parameters=SEARCH, approval=True)
    with staged(path, ScriptedModel(scripted(choice("edit", query="a"), ANSWER)), tool) as stage:

        async def main() -> list[ChatEvent]:
            turn = stage.chat.stream_chat(stage.session, "Do it", context=context(grants("edit")))
            return [event async for event in turn]

        events = asyncio.run(main())
    asked = next(event for event in events if event.kind == "awaiting_approval")
    assert asked.approval is not None
    assert asked.approval.state == "pending"
    assert [event.kind for event in events].count("final") == 1
    assert not tool.calls


def test_what_does_not_fit_the_model_is_left_out_and_said_and_stays_in_the_conversation(path: Path) -> None:
    with staged(path, ScriptedModel(lambda _: "word " * 30, context=160)) as stage:
        for number in range(4):
            reply = stage.say(f"question {number}", options=ChatOptions(max_tokens=40, system="Short."))
        assert len(stage.messages) == 9
    assert any("oldest" in warning for warning in reply.warnings)
    assert stage.model.requests[-1].messages[0].content == "Short."
    assert stage.model.requests[-1].messages[-1].content == "question 3"


def test_an_answer_that_was_cut_off_and_an_empty_one_say_so(path: Path) -> None:
    with staged(path, ScriptedModel(lambda _: "a b c d")) as stage:
        reply = stage.say("A", options=ChatOptions(max_tokens=2))
        assert reply.content == "a b"
        assert any("limit of 2 tokens" in warning for warning in reply.warnings)
        stage.model.says = lambda _: " "
        assert stage.say("B").content == NO_RESPONSE


def _realistic(number: int) -> ScriptedTool:
    text = {"type": "string", "maxLength": 200, "description": "What to look for, as it stands in the code."}
    count = {"type": "integer", "minimum": 1, "maximum": 50, "description": "How many results at most."}
    parameters = {"type": "object", "properties": {"query": text, "repo": text, "limit": count}, "required": ["query"]}
    return ScriptedTool(f"look_up_{number}", parameters=parameters)


def test_what_stands_before_a_question_is_at_most_1500_tokens(path: Path) -> None:
    """Counted at 3.3 characters a token, with as many tools as the appliance has built in."""
    tools = [_realistic(number) for number in range(10)]
    names = [tool.name for tool in tools]
    model = ScriptedModel(scripted(choice(names[0], query="a"), ANSWER))
    with staged(path, model, *tools) as stage:
        stage.say("?", given=grants(*names))
    for request in model.requests:
        fixed = sum(len(message.content) for message in request.messages) + len(json.dumps(request.schema or ""))
        assert fixed / 3.3 <= 1_500


def test_more_tools_than_a_small_model_can_be_told_of_are_refused_before_it_is_asked(path: Path) -> None:
    tools = [_realistic(number) for number in range(21)]
    with staged(path, ScriptedModel(), *tools) as stage:
        with pytest.raises(LimitExceeded):
            stage.say("?", given=grants(*(tool.name for tool in tools)))
        assert not stage.model.requests
        assert stage.messages == []


def test_a_conversation_that_another_process_changed_meanwhile_is_not_overwritten(path: Path) -> None:
    def says(request: ChatRequest) -> str:
        beside = LocalSessionService(sqlite.connect(path), clock=FakeClock())
        LocalContextService(beside, lambda: stage.model).add_message(stage.session, ConversationMessage("user", "first"))
        beside.close()
        return f"re: {request.messages[-1].content}"

    with staged(path, ScriptedModel(says)) as stage:
        with pytest.raises(Conflict, match="somebody else"):
            stage.say("A")
        assert stage.messages == [("user", "first")]


def test_a_turn_without_tools_needs_no_open_run(path: Path) -> None:
    with staged(path, ScriptedModel()) as stage:
        where: ToolContext = context(NONE, run="never opened")
        assert asyncio.run(stage.chat.chat(stage.session, "A", context=where)).content == "ok"
