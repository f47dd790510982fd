"""Claims about who may ask the chat model when."""

import asyncio
import random
import threading
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from appliance.contracts.chat import ChatRequest, Message
from appliance.errors import EngineUnavailable
from appliance.inference.turns import ChatInTurn, Turns
from tests.support.engines import ScriptedEngine, served


class Crowd:
    """Askers that hold their slots until they are let go, and a note of who was served when."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.served: list[int] = []
        self.refused: list[int] = []
        self.most = 0
        self._within = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._go: dict[int, asyncio.Event] = {}

    async def come(self, *numbers: int) -> None:
        for number in numbers:
            self._go[number] = asyncio.Event()
            self._tasks[number] = asyncio.create_task(self._ask(number))
            await settle()

    async def end(self, *numbers: int) -> None:
        for number in numbers:
            self._go[number].set()
            await self._tasks.pop(number)
        await settle()

    async def leave(self, *numbers: int) -> None:
        for number in numbers:
            task = self._tasks.pop(number)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await settle()

    async def _ask(self, number: int) -> None:
        try:
            async with self.turns.turn():
                self._within += 1
                self.most = max(self.most, self._within)
                self.served.append(number)
                try:
                    await self._go[number].wait()
                finally:
                    self._within -= 1
        except EngineUnavailable:
            self.refused.append(number)


async def settle() -> None:
    """Let every task come as far as it can: each call to another task takes a few rounds of the loop."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_as_many_are_served_as_there_are_slots_and_the_rest_in_the_order_of_their_coming() -> None:
    async def scenario() -> None:
        crowd = Crowd(Turns(slots=2, waiting=3))
        await crowd.come(1, 2, 3, 4, 5)
        assert crowd.served == [1, 2]
        await crowd.end(2)
        assert crowd.served == [1, 2, 3]
        await crowd.end(1, 3)
        assert crowd.served == [1, 2, 3, 4, 5]
        await crowd.end(4, 5)
        assert (crowd.most, crowd.turns.ahead) == (2, 0)

    asyncio.run(scenario())


def test_who_comes_when_enough_wait_is_refused_at_once_with_how_many_wait() -> None:
    async def scenario() -> None:
        crowd = Crowd(Turns(slots=1, waiting=2))
        await crowd.come(1, 2, 3, 4, 5)
        assert (crowd.served, crowd.refused) == ([1], [4, 5])
        with pytest.raises(EngineUnavailable, match=r"^the model is busy: 2 questions wait; ask again, or use the evidence"):
            await crowd.turns.turn().__aenter__()
        await crowd.end(1)
        await crowd.come(6)
        assert crowd.refused == [4, 5]
        await crowd.end(2, 3, 6)
        assert crowd.served == [1, 2, 3, 6]

    asyncio.run(scenario())


@pytest.mark.parametrize(("waiting", "said"), [(0, "0 questions wait"), (1, "1 question waits"), (2, "2 questions wait")])
def test_a_refusal_counts_in_words(waiting: int, said: str) -> None:
    async def scenario() -> None:
        crowd = Crowd(Turns(slots=1, waiting=waiting))
        await crowd.come(*range(waiting + 1))
        with pytest.raises(EngineUnavailable, match=f"the model is busy: {said};"):
            await crowd.turns.turn().__aenter__()
        await crowd.leave(*range(waiting + 1))

    asyncio.run(scenario())


def test_how_many_are_ahead_is_told_only_to_those_who_would_wait() -> None:
    async def scenario() -> None:
        crowd = Crowd(Turns(slots=2, waiting=2))
        told = [crowd.turns.ahead]
        for number in range(4):
            await crowd.come(number)
            told.append(crowd.turns.ahead)
        assert told == [0, 0, 2, 3, 0]
        await crowd.leave(0, 1, 2, 3)
        assert crowd.turns.ahead == 0

    asyncio.run(scenario())


def test_who_goes_away_while_waiting_has_left_the_queue_at_once() -> None:
    async def scenario() -> None:
        crowd = Crowd(Turns(slots=1, waiting=2))
        await crowd.come(1, 2, 3)
        await crowd.leave(2)
        await crowd.come(4)
        assert crowd.refused == []
        await crowd.end(1)
        assert crowd.served == [1, 3]
        await crowd.end(3, 4)

    asyncio.run(scenario())


def test_who_goes_away_at_the_moment_of_being_called_hands_the_slot_on() -> None:
    async def scenario() -> None:
        turns = Turns(slots=1, waiting=5)
        crowd = Crowd(turns)
        await crowd.come(1, 2, 3)
        crowd._go[1].set()
        await crowd._tasks.pop(1)  # 2 is called now, and has not run yet
        await crowd.leave(2)
        assert crowd.served == [1, 3]
        await crowd.end(3)
        await crowd.come(4)
        assert crowd.served == [1, 3, 4]
        await crowd.end(4)

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_and_goes_no_slot_is_lost_or_given_twice(seed: int) -> None:
    async def scenario() -> None:
        chance = random.Random(seed)  # noqa: S311 - the same comings and goings at every run
        crowd = Crowd(Turns(slots=3, waiting=4))
        for number in range(200):
            await crowd.come(number)
            for known in chance.sample(sorted(crowd._tasks), chance.randrange(min(3, len(crowd._tasks) + 1))):
                if crowd._tasks[known].done() or chance.random() < 0.5:
                    await crowd.leave(known)
                elif known in crowd.served:
                    await crowd.end(known)
        await crowd.leave(*sorted(crowd._tasks))
        assert crowd.most == 3
        assert (crowd.turns._served, len(crowd.turns._waiting)) == (0, 0)

    asyncio.run(scenario())


def test_event_loops_in_several_threads_share_the_slots() -> None:
    turns = Turns(slots=2, waiting=100)
    within, most = 0, 0
    lock = threading.Lock()

    async def ask() -> None:
        nonlocal within, most
        async with turns.turn():
            with lock:
                within += 1
                most = max(most, within)
            await asyncio.sleep(0)
            with lock:
                within -= 1

    async def many() -> None:
        await asyncio.gather(*(ask() for _ in range(25)))

    threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= most <= 2
    assert (turns._served, len(turns._waiting)) == (0, 0)


def request(text: str) -> ChatRequest:
    return ChatRequest([Message("user", text)])


def test_a_chat_gives_its_slot_back_when_it_ends_when_it_is_closed_and_when_it_fails(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ScriptedEngine(outputs=("one two three",))
        turns = Turns(slots=1, waiting=0)
        async with served(engine, tmp_path) as client:
            chat = ChatInTurn(client, turns)
            assert (chat.model, chat.context) == ("scripted", 4096)
            assert "".join([delta.text async for delta in chat.chat(request("a"))]) == "one two three"
            async with aclosing(chat.chat(request("b"))) as deltas:
                await anext(deltas)
                with pytest.raises(EngineUnavailable, match="busy"):
                    await anext(chat.chat(request("c")))
            engine.failure = EngineUnavailable("It broke.")
            with pytest.raises(EngineUnavailable, match="It broke"):
                await anext(chat.chat(request("d")))
            engine.failure = None
            assert "".join([delta.text async for delta in chat.chat(request("e"))]) == "one two three"
            assert await chat.tokens("one two") == 2
        assert [asked.messages[0].content for asked in engine.requests] == ["a", "b", "d", "e"]

    asyncio.run(scenario())


def test_the_engine_never_has_more_than_its_slots(tmp_path: Path) -> None:
    async def scenario() -> None:
        engine = ScriptedEngine(outputs=("one two three",), pace=100)
        async with served(engine, tmp_path) as client, AsyncExitStack() as stack:
            chat = ChatInTurn(client, Turns(slots=1, waiting=16))
            first = await stack.enter_async_context(aclosing(chat.chat(request("first"))))
            await anext(first)
            others = [asyncio.create_task(anext(chat.chat(request(str(number))))) for number in range(5)]
            await settle()
            assert len(engine.requests) == 1, "what waits has not reached the engine"
            await first.aclose()
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(scenario())
