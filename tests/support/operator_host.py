"""A host as its author wrote it for operator-architecture 0.4.0: a tool loop, two juniors, streaming, snapshots, usage."""

# ruff: noqa: ANN401, T201 - it is a program that its author did not type further, and what it prints is compared
import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from operator_architecture import (
    AgentRequest,
    AgentResult,
    AgentRunner,
    AgentSpec,
    Coordinator,
    Messages,
    StateMachine,
    StreamEvent,
    StreamingCallback,
    callable_agent,
    emit_stream,
    openai_tool_schema,
    state_machine_from_json,
    state_machine_to_json,
)

Call = tuple[str, dict[str, Any]]


class ScriptedModel:
    """Stands for a chat model with tools: answers what its script says, in the shape of chat completions."""

    def __init__(self, script: Callable[[str], Iterator[list[Call] | str]]) -> None:
        self.script = script
        self.running: dict[str, Iterator[list[Call] | str]] = {}
        self.tokens = 0

    def complete(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        self.tokens += 10
        question = [message["content"] for message in messages if message["role"] == "user"][-1]
        step = next(self.running.setdefault(question, self.script(question)))
        if isinstance(step, str):
            return {"role": "assistant", "content": step}
        known = {tool["function"]["name"] for tool in tools}
        assert all(name in known for name, _ in step)
        calls = [
            {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for at, (name, arguments) in enumerate(step)
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}


def coordinate(question: str) -> Iterator[list[Call] | str]:
    """Decide as a model would, with the slips that models make: numbers and JSON in strings."""
    yield [("list_agents", {})]
    yield [
        ("commission", {"agent": "researcher", "objective": question, "checklist": '["where", "since when"]'}),
        ("commission", {"agent": "writer", "objective": "Draft an answer", "agent_props": {"tone": "plain"}}),
    ]
    yield [("get_agent_message", {"agent": "researcher", "index": "1"})]
    yield [("instruct_agent", {"agent": "researcher", "index": "1", "message": "Look into tests too"})]
    yield [
        ("accept_agent_result", {"agent": "researcher", "index": 1}),
        ("accept_agent_result", {"agent": "writer", "index": "7"}),
        ("list_objectives", {}),
    ]
    yield f"{question}: it is set in config.py."


class CoordinatorRunner:
    """A real tool loop: ask the model, run the tools it wants, go on until it replies."""

    def __init__(self, model: ScriptedModel, most_rounds: int = 10) -> None:
        self.model = model
        self.most_rounds = most_rounds

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        tools = {tool.__name__: tool for tool in request.metadata["tools"]}
        messages = list(request.messages)
        for _ in range(self.most_rounds):
            reply = self.model.complete(messages, request.metadata["tool_schemas"])
            messages.append(reply)
            if not reply.get("tool_calls"):
                await emit_stream(streaming_callback, {"agent": "coordinator", "phase": "token", "detail": reply["content"]})
                usage = {"total_tokens": self.model.tokens}
                return AgentResult(content=reply["content"], messages=messages, usage=usage)
            answers = await asyncio.gather(*(self.call(tools, call) for call in reply["tool_calls"]))
            messages += answers
        raise RuntimeError("the model did not come to an end")

    async def call(self, tools: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
        function = call["function"]
        answer = await tools[function["name"]](**json.loads(function["arguments"]))
        print("  tool", function["name"], "->", brief(answer))
        return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(answer)}


def brief(answer: Any) -> str:
    """Say of an answer what a log would."""
    if isinstance(answer, list):
        return " ".join(f"{row.get('name') or row['commission_id']}:{row.get('status', row.get('model'))}" for row in answer)
    return " ".join(
        str(answer[key]) for key in ("error", "status", "agent", "index", "summary", "agent_message") if key in answer
    )


def grep(pattern: str, path: str = ".") -> list[str]:
    """Find lines that match.

    Returns them with their places.
    """
    return [f"{path}/config.py:3: {pattern}"]


class Researcher:
    """A junior with a tool of its own, which streams what it does."""

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        schema = openai_tool_schema(grep)
        await emit_stream(
            streaming_callback, {"agent": request.agent, "phase": "tool_start", "detail": schema["function"]["name"]}
        )
        found = grep(request.messages[-1]["content"].splitlines()[-1])
        await emit_stream(streaming_callback, {"agent": request.agent, "phase": "tool_result", "detail": found[0]})
        thread = Messages(request.messages).assistant(f"Found {found[0]}")
        return AgentResult(content=f"Found {found[0]}", messages=thread.to_list(), usage={"total_tokens": 7}, raw=found)


async def write(request: AgentRequest) -> str:
    """Answer without a class."""
    assert request.agent_props is not None
    await asyncio.sleep(0)
    return f"{request.objective} in a {request.agent_props['tone']} tone"


def runners() -> dict[str, AgentRunner]:
    """Build what a snapshot cannot hold."""
    return {
        "coordinator": CoordinatorRunner(ScriptedModel(coordinate)),
        "research": Researcher(),
        "writer": callable_agent(write),
    }


def build() -> StateMachine:
    """Put the machine together."""
    bound = runners()
    return StateMachine(
        coordinator=Coordinator(runner=bound["coordinator"], model="big", metadata={"tenant": "acme"}),
        agents=[
            AgentSpec(
                name="researcher",
                description="Read-only exploration",
                skill="You are a careful researcher.",
                runner=bound["research"],
                runner_id="research",
                model="small",
                metadata={"tools": ["grep"]},
            ),
            AgentSpec(name="writer", description="Drafts prose", skill="You write.", runner=bound["writer"]),
        ],
    )


async def main() -> None:
    """Take a turn, save, come back, and go on."""
    events: list[StreamEvent] = []

    async def on_stream(event: StreamEvent) -> None:
        events.append(event)

    sm = build()
    print("reply:", await sm.run(" Where is vLLM configured? ", streaming_callback=on_stream))
    for event in sorted(events, key=lambda event: event["agent"]):
        print("  event", event["agent"], event["phase"], event.get("index", "-"), event.get("status", "-"))
    for message in sm.coordinator_messages:
        print("  thread", message["role"], len(message.get("tool_calls") or ()))

    blob = state_machine_to_json(sm)
    data = json.loads(blob)
    print("snapshot:", data["schema_version"], sorted(data), [len(agent["slots"]) for agent in data["agents"]])
    try:
        state_machine_from_json(blob, runners={})
    except KeyError:
        print("snapshot: runners are needed")
    again = state_machine_from_json(blob, runners=runners(), streaming_callback=on_stream)
    assert json.loads(state_machine_to_json(again)) == data

    slot = again.agent("researcher")[1]
    print("slot:", slot.commission_id, slot.status, slot.agent_message, [message["role"] for message in slot.messages])
    print("reply:", await again.run("And where is the port set?"))
    for row in again.list_objectives():
        print("  row", row["commission_id"], row["status"], row["model"])
    print("by hand:", brief(await again.instruct("writer", 1, "Shorter")), "|", brief(again.accept("writer", 1)))
    print("mistakes:", brief(again.accept("nobody", 1)), "|", brief(await again.commission("writer", " ")))
    print("nothing:", repr(await again.run("  ")), again.active_agent)


if __name__ == "__main__":
    asyncio.run(main())
    sys.stdout.flush()
