"""A program with a turn log that stops at a place of its own, to be killed there: ``LOG PLACE``.

It says a line for each turn that has ended, and ``here`` where it stops.
"""

import asyncio
import sys

from appliance.operator import AgentRequest, AgentResult, AgentSpec, Coordinator, StateMachine, StreamingCallback, TurnLog

STOPS_AT = 3


class Worker:
    """Works, but in the third turn stops at *place*: in the coordinator, a junior, an instruction, or after all of it."""

    def __init__(self, place: str) -> None:
        self.place = place

    async def stop(self, place: str, request: AgentRequest) -> None:
        if place == self.place and request.objective == f"q{STOPS_AT}":
            sys.stdout.write("here\n")
            sys.stdout.flush()
            await asyncio.Event().wait()

    async def run(self, request: AgentRequest, *, streaming_callback: StreamingCallback = None) -> AgentResult:
        del streaming_callback
        if request.agent == "scout":
            await self.stop("instruction" if len(request.messages) > 2 else "junior", request)
            return AgentResult(content=f"report on {request.objective}", usage={"total_tokens": 5})
        await self.stop("coordinator", request)
        tools = {tool.__name__: tool for tool in request.metadata["tools"]}
        staged = await tools["commission"]("scout", request.objective)
        await tools["instruct_agent"]("scout", staged["index"], "more")
        accepted = await tools["accept_agent_result"]("scout", staged["index"])
        await self.stop("end", request)
        return AgentResult(content=accepted["summary"])


async def talk(sm: StateMachine) -> None:
    number = 0
    while True:
        number += 1
        await sm.run(f"q{number}")
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


def main() -> None:
    path, place = sys.argv[1:]
    worker = Worker(place)
    scout = AgentSpec(name="scout", description="d", skill="s", runner=worker)
    asyncio.run(talk(StateMachine(Coordinator(runner=worker), [scout], log=TurnLog(path))))


if __name__ == "__main__":
    main()
