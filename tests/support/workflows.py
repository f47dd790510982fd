"""Agents, tools and people for workflows, from a script; what reached them is written down."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from appliance.contracts.tools import Json, ToolOutput
from appliance.framework import Doors, Question

Tool = Callable[[Mapping[str, Json]], ToolOutput]
Task = Callable[[str], str]


@dataclass
class Scripted:
    """The agents and tools that a test names, and a person who says *yes* or no."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    agents: Mapping[str, Task] = field(default_factory=dict)
    functions: Mapping[str, Callable[[Mapping[str, Json]], Json | Awaitable[Json]]] = field(default_factory=dict)
    yes: bool = True
    asked: list[tuple[str, Question]] = field(default_factory=list)
    called: list[tuple[str, str, object]] = field(default_factory=list)

    @property
    def doors(self) -> Doors:
        """Return the doors to all of this."""
        return Doors(_Agents(self), _Tools(self), self, self.functions)

    async def approved(self, question: Question, *, run: str) -> bool:
        self.asked.append((run, question))
        return self.yes


@dataclass
class _Agents:
    script: Scripted

    def knows(self, name: str) -> bool:
        return name in self.script.agents

    async def answer(self, name: str, task: str, *, run: str) -> str:
        self.script.called.append((run, name, task))
        return self.script.agents[name](task)


@dataclass
class _Tools:
    script: Scripted

    def knows(self, name: str) -> bool:
        return name in self.script.tools

    async def call(self, name: str, arguments: Mapping[str, Json], *, run: str) -> ToolOutput:
        self.script.called.append((run, name, arguments))
        return self.script.tools[name](arguments)
