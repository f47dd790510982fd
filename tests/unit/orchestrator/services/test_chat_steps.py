from collections.abc import Mapping
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest
from appliance.contracts.tools import Json, ToolOutput
from appliance.errors import NotFound, PromptTooLong
from appliance.orchestrator.fence import RULE
from appliance.orchestrator.runners.probe import Abilities
from appliance.orchestrator.runners.steps import LOOKED_UP, WITHOUT
from appliance.orchestrator.services.turn import ChatOptions
from tests.support.calls import RUN, ScriptedModel, ScriptedTool, grants
from tests.support.conversing import ANSWER, SEARCH, choice, scripted, staged


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "global.db"


@pytest.mark.parametrize("pattern", ["A", "AB", "ABC"])
def test_steps_that_lead_nowhere_pause_the_turn_and_an_instruction_goes_on(path: Path, pattern: str) -> None:
    made = 0

    def says(request: ChatRequest) -> str:
        nonlocal made
        if request.schema is None:
            return "It is main."
        if "look in main" in request.messages[-1].content:
            return ANSWER
        made += 1
        return choice("search", query=pattern[(made - 1) % len(pattern)])

    async def finds_nothing(arguments: Mapping[str, Json]) -> object:
        raise NotFound(f"There is no {arguments['query']}.")

    model, tool = ScriptedModel(says), ScriptedTool(parameters=SEARCH, act=finds_nothing)
    with staged(path, model, tool) as stage:
        reply = stage.say("Where?", given=grants("search"), options=ChatOptions(steps=20))
        assert (reply.status, len(reply.outcomes)) == ("paused", 3 * len(pattern))
        assert stage.tools.get_remaining_budget(RUN) == 60 - 3 * len(pattern)
        assert stage.messages[-1] == ("assistant", reply.content)
        resumed = stage.say("look in main", given=grants("search"))
        assert (resumed.status, resumed.content) == ("done", "It is main.")


@pytest.mark.parametrize("pattern", ["A", "AB", "ABC"])
def test_a_model_that_asks_again_for_what_it_has_answers_from_it(path: Path, pattern: str) -> None:
    """Measured on a 1.5B: it makes the right call first, and then the same one for ever."""
    made = [choice("search", query=name) for name in pattern] * 9
    model, tool = ScriptedModel(scripted(*made)), ScriptedTool(parameters=SEARCH, output=ToolOutput("main calls parse"))
    with staged(path, model, tool) as stage:
        reply = stage.say("Who?", given=grants("search"), options=ChatOptions(steps=20))
    assert (reply.status, reply.content, len(reply.outcomes)) == ("done", "It is main.", len(pattern) + 1)
    told = model.requests[-1].messages[-1].content
    assert [told.count(f"search({name}):\nmain calls parse") for name in pattern] == [1] * len(pattern)


def test_the_same_call_that_gives_something_else_is_no_repetition(path: Path) -> None:
    seen = iter(range(99))

    async def changes(arguments: Mapping[str, Json]) -> object:
        return ToolOutput(f"{next(seen)} {arguments['query']}")

    model = ScriptedModel(scripted(*[choice("search", query="tests")] * 4, ANSWER))
    with staged(path, model, ScriptedTool(parameters=SEARCH, act=changes)) as stage:
        assert len(stage.say("Run them", given=grants("search")).outcomes) == 4


def test_a_turn_ends_though_its_steps_never_would(path: Path) -> None:
    made = 0

    def says(request: ChatRequest) -> str:
        nonlocal made
        made += 1
        return choice("search", query=str(made)) if request.schema is not None else "done"

    with staged(path, ScriptedModel(says), ScriptedTool(parameters=SEARCH)) as stage:
        reply = stage.say("Where?", given=grants("search"), options=ChatOptions(steps=3))
    assert (reply.content, len(reply.outcomes)) == ("done", 3)
    assert "The agent used its 3 steps." in reply.warnings


def test_a_spent_budget_ends_the_steps_and_the_answer_comes_from_what_was_found(path: Path) -> None:
    made = 0

    def says(request: ChatRequest) -> str:
        nonlocal made
        made += 1
        return choice("search", query=str(made)) if request.schema is not None else "done"

    with staged(path, ScriptedModel(says), ScriptedTool(parameters=SEARCH), calls=2) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert reply.content == "done"
    assert [outcome.code for outcome in reply.outcomes] == ["", "", "budget_exhausted"]
    assert any("all of its 2 calls" in warning for warning in reply.warnings)


def test_a_question_that_is_too_long_is_refused_before_a_step_is_chosen(path: Path) -> None:
    model = ScriptedModel(scripted(ANSWER), context=600)
    tool, long = ScriptedTool(parameters=SEARCH), "word " * 2_000
    with staged(path, model, tool) as stage, pytest.raises(PromptTooLong, match="the model takes"):
        stage.say(long, given=grants("search"))
    assert model.requests == []


def test_an_answer_is_not_made_from_errors(path: Path) -> None:
    counted = {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1}}, "required": ["limit"]}
    model = ScriptedModel(scripted(choice("search", limit=0), ANSWER))
    with staged(path, model, ScriptedTool(parameters=counted)) as stage:
        reply = stage.say("Where?", given=grants("search"))
        stage.say("And?", given=grants("search"))
        assert any("invalid_input" in text for _, text in stage.messages), "the conversation keeps them"
    assert reply.content.startswith("No call of a tool gave a result, so there is no answer.\n- search: error invalid_input")
    told = [message.content for request in model.requests if request.schema is None for message in request.messages]
    assert not any("I used" in text for text in told)
    assert len([request for request in model.requests if request.schema is None]) == 1, "of the second turn alone"


def test_where_no_chosen_call_gives_anything_the_question_itself_is_looked_up(path: Path) -> None:
    """Seen on a 1.5B: it took the words of a question for the path of a file, three times over."""

    async def finds(arguments: Mapping[str, Json]) -> object:
        if arguments["query"] != "How is it read?":
            raise NotFound("There is no such file.")
        return ToolOutput("main calls parse")

    model = ScriptedModel(scripted(choice("search", query="how/read"), ANSWER))
    with staged(path, model, ScriptedTool(parameters=SEARCH, act=finds)) as stage:
        reply = stage.say("How is it read?", given=grants("search"))
    assert (reply.content, reply.warnings) == ("It is main.", (LOOKED_UP,))


def test_a_refused_call_is_told_to_the_model_which_may_mend_it(path: Path) -> None:
    counted = {"type": "object", "properties": {"limit": {"type": "integer", "minimum": 1}}, "required": ["limit"]}
    model, tool = ScriptedModel(scripted(choice("search", limit=0), choice("search", limit=1), ANSWER)), ScriptedTool()
    tool.parameters = counted
    with staged(path, model, tool) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert [outcome.code for outcome in reply.outcomes] == ["invalid_input", ""]
    assert "error invalid_input: limit: 0 is less than the minimum" in model.requests[1].messages[-1].content


@pytest.mark.parametrize("said", ["no json", '{"tool": "rm", "arguments": {}}', "[]", '{"tool": "search"}'])
def test_a_model_that_keeps_to_no_form_is_asked_twice_and_then_answers(path: Path, said: str) -> None:
    tool = ScriptedTool(parameters=SEARCH)
    with staged(path, ScriptedModel(scripted(said)), tool) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert (reply.content, reply.outcomes) == ("It is main.", ())
    assert any("No further step could be chosen" in warning for warning in reply.warnings)
    assert [request.temperature for request in stage.model.requests] == [0.0, 0.4, 0.0]
    assert not tool.calls


@pytest.mark.parametrize(
    "said",
    [
        '<tool_call>{"name": "search", "arguments": {"query": NaN}}</tool_call>',
        '<tool_call>{"name": "search", "arguments": {"query": ' + "[" * 60 + "]" * 60 + "}}</tool_call>",
        '<tool_call>{"name": 7}</tool_call>',
    ],
)
def test_a_call_in_the_models_own_form_that_cannot_be_read_ends_the_steps_and_not_the_turn(path: Path, said: str) -> None:
    model = ScriptedModel(lambda request: said if "<tools>" in request.messages[0].content else "It is main.")
    with staged(path, model, ScriptedTool(parameters=SEARCH), sees=Abilities(native=True)) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert (reply.content, reply.outcomes) == ("It is main.", ())
    assert any("No further step could be chosen" in warning for warning in reply.warnings)


def test_for_a_model_that_cannot_choose_the_question_is_looked_up_and_the_answer_says_so(path: Path) -> None:
    tool = ScriptedTool(parameters=SEARCH, output=ToolOutput("main calls parse"))
    with staged(path, ScriptedModel(scripted(ANSWER)), tool, sees=Abilities()) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert reply.warnings == (WITHOUT,)
    assert [arguments for arguments, _ in tool.calls] == [{"query": "Where?"}]
    assert len(stage.model.requests) == 1


def test_a_model_that_was_seen_to_call_tools_by_itself_does_so(path: Path) -> None:
    calls = iter(['<tool_call>{"name": "search", "arguments": {"query": "a"}}</tool_call>', "That is all."])

    def says(request: ChatRequest) -> str:
        system = request.messages[0].content
        assert RULE in system  # whatever form a model makes its calls in, results of tools are data to it
        return next(calls) if "<tools>" in system else "It is main."

    with staged(path, ScriptedModel(says), ScriptedTool(parameters=SEARCH), sees=Abilities(native=True)) as stage:
        reply = stage.say("Where?", given=grants("search"))
    assert (reply.content, len(reply.outcomes)) == ("It is main.", 1)
