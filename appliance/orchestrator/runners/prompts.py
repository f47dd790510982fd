"""What a local model is told: what stands first is the same each time, so that an engine has read it before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from appliance.contracts.chat import ChatRequest, JsonSchema, Message
from appliance.contracts.tools import Evidence, Json, ToolSpec
from appliance.orchestrator.fence import RULE, fenced, visible
from appliance.orchestrator.runners import native
from appliance.orchestrator.runners.envelope import (
    ANSWER,
    Choice,
    compact,
    described,
    envelope,
    require_small,
    written,
)  # fmt: skip

CHOICE_TOKENS: Final = 220
ANSWER_TOKENS: Final = 320
_SHOWN: Final = 1_500  # characters of one result, in the prompt of a decision
_READ: Final = 5_000  # characters of all results, in the prompt of the answer
_SAID: Final = 400  # characters of what went wrong with one step
_DECIDE: Final = (
    "You decide the next step of a task. Reply with one JSON object on one line: "
    '{"tool":NAME,"arguments":{…}} to use a tool, or {"tool":"answer","arguments":{}} once the results hold what the task '
    f"asks for. Never repeat a call. {RULE}\nTools:\n"
)
_ANSWER: Final = (
    "You finish a task from the results of tools. Use only what they show, and spell names as they do. Say so where they do "
    f"not hold what is asked. {RULE} Answer in a few sentences."
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was taken: what was called, what came of it, and the lines that this rests on."""

    choice: Choice
    text: str
    failed: bool = False
    evidence: tuple[Evidence, ...] = ()


def useful(taken: Sequence[Taken]) -> list[Taken]:
    """Return the steps that an answer is made from: those that gave something, each once, and headed."""
    return [_headed(step) for number, step in enumerate(taken) if not (step.failed or step in taken[:number])]


def preamble(specs: Sequence[ToolSpec], skill: str = "") -> str:
    """Return what stands before every decision; raise `LimitExceeded` where it and the schema are over 1,500 tokens."""
    text = f"{skill.strip()}\n{_DECIDE}".lstrip() + described(specs) + "\n" + _examples(specs)
    require_small(text, compact(envelope(specs)), what="The prompt with its tools")
    return text


def decision(
    task: str, specs: Sequence[ToolSpec], taken: Sequence[Taken], *, skill: str = "", share: float = 1.0
) -> ChatRequest:
    """Return the request for the next step: a tool with its arguments, or to answer; *share* of the results is shown."""
    steps = "".join(f"\n\nCall: {written(step.choice)}\nResult: {_result(step, _SHOWN * share)}" for step in taken)
    last = "\n\nNext step?" if taken else "\n\nFirst step?"
    messages = (Message("system", preamble(specs, skill)), Message("user", f"Task: {task}{steps}{last}"))
    return ChatRequest(messages, max_tokens=CHOICE_TOKENS, temperature=0.0, schema=envelope(specs))


def choosing(
    task: str, specs: Sequence[ToolSpec], taken: Sequence[Taken], *, ours: bool, skill: str = "", share: float = 1.0
) -> ChatRequest:
    """Return the request for the next step, in the form that is *ours*, or in the model's own."""
    if ours:
        return decision(task, specs, taken, skill=skill, share=share)
    asked = decision(task, specs, taken, share=share)
    system = f"{skill.strip()}\n{RULE}\n{native.instructions(specs)}".lstrip()
    require_small(system, what="The prompt with its tools")
    return replace(asked, messages=(Message("system", system), *asked.messages[1:]), schema=None)


def closing(task: str, taken: Sequence[Taken], *, skill: str = "", share: float = 1.0) -> ChatRequest:
    """Return the request for the answer, in which no tool is spoken of; *share* as in `decision`."""
    each = _READ * share / max(1, len(taken))
    told = "\n\n".join(_result(step, each) for step in taken) or "(There are no results.)"
    messages = (
        Message("system", f"{skill.strip()}\n{_ANSWER}".lstrip()),
        Message("user", f"{told}\n\nTask: {task}"),
    )
    return ChatRequest(messages, max_tokens=ANSWER_TOKENS, temperature=0.0)


def without_result(taken: Sequence[Taken]) -> str:
    """Return what is answered where no step gave anything: what went wrong with each, and no guess of a model."""
    lines = dict.fromkeys(f"- {visible(step.choice.tool)}: {visible(step.text)[:_SAID]}" for step in taken)
    return "\n".join(("No call of a tool gave a result, so there is no answer.", *lines))


def _headed(step: Taken) -> Taken:
    """Return *step* with the call in front of its result: who calls and who is called look alike without it."""
    given = ", ".join(str(value) for value in step.choice.arguments.values())
    return replace(step, text=f"{step.choice.tool}({given}):\n{step.text}")


def _result(step: Taken, characters: float) -> str:
    """Return what a step gave, between marks that it cannot close; cut where it is longer."""
    return fenced(step.text, label=f"result of {step.choice.tool}", most=int(characters)).text


def _examples(specs: Sequence[ToolSpec]) -> str:
    """Return two examples of calls, with arguments of the right kind, and one of the end."""
    calls = [Choice(spec.name, _example(spec.parameters)) for spec in specs[:2]]
    return "Examples:\n" + "\n".join(written(choice) for choice in [*calls, Choice(ANSWER, {})])


def _example(parameters: JsonSchema) -> dict[str, Json]:
    properties, required = parameters.get("properties"), parameters.get("required")
    if not isinstance(properties, dict):
        return {}
    needed = required if isinstance(required, list | tuple) else []
    return {name: _value(part) for name, part in properties.items() if name in needed}


def _value(part: object) -> Json:
    if not isinstance(part, dict):
        return "…"
    if isinstance(options := part.get("enum"), list) and options:
        return options[0]  # type: ignore[no-any-return]
    values: dict[object, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
    return values.get(part.get("type"), "…")
