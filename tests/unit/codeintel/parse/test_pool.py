"""Parser processes, and what becomes of a file that kills one."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator

import psutil  # type: ignore[import-untyped]
import pytest

from appliance.codeintel.facts import BlobFacts, BlobTask, unpack_facts
from appliance.codeintel.flow import unpack_flow
from appliance.codeintel.parse.blob import facts
from appliance.codeintel.parse.flow.blob import flow
from appliance.codeintel.parse.pool import _BATCH_TASKS, ParserPool
from appliance.config import Index
from appliance.errors import HostUnfit
from appliance.ids import BlobId

SLOW = b"a::b" * 100_000  # as C#: takes far longer than half a second


@pytest.fixture
def pools() -> Iterator[Callable[..., ParserPool]]:
    """Make pools and close them after the test."""
    made: list[ParserPool] = []

    def make(workers: int = 1, *, interpreter: str = sys.executable, **limits: float) -> ParserPool:
        made.append(ParserPool(workers, Index(**limits), interpreter=interpreter))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def task(name: str, content: bytes = b"def f():\n    return g()\n") -> BlobTask:
    return BlobTask(BlobId(name), f"{name}.py" if "." not in name else name, content)


def parsed(pool: ParserPool, tasks: Iterable[BlobTask]) -> dict[BlobId, BlobFacts]:
    return {blob: unpack_facts(found.facts, BlobFacts) for blob, found in pool.map(tasks)}


def problems(results: dict[BlobId, BlobFacts]) -> dict[str, str]:
    return {blob: found.problem for blob, found in results.items() if found.problem}


def test_facts_are_the_same_as_without_a_pool(pools: Callable[..., ParserPool]) -> None:
    tasks = [task(f"t{n}", f"def f{n}(): pass\n".encode() * n) for n in range(250)]
    tasks.append(BlobTask(BlobId("hidden"), "a.txt", b"key: ****\n", ((1, "token"),)))
    assert parsed(pools(2), tasks) == {each.blob: facts(each) for each in tasks}


def test_flows_come_as_without_a_pool_and_nothing_for_what_is_not_followed(pools: Callable[..., ParserPool]) -> None:
    tasks = [task(f"t{n}", f"def f{n}(): f{n + 1}()\n".encode()) for n in range(50)]
    deep, other = task("deep", b"[" * 3000 + b"]" * 3000), task("main.rb", b"puts 1\n")
    found = dict(pools(2).flows([*tasks, deep, other]))
    assert found == {**{each.blob: flow(each) for each in tasks}, deep.blob: b"", other.blob: b""}
    assert unpack_flow(found[BlobId("t7")]).sites[0].line == 1


def test_a_flow_that_a_process_dies_of_costs_only_itself(pools: Callable[..., ParserPool]) -> None:
    tasks = [task("a"), task("slow.py", b"f(a, b)\n" * 100_000), task("b")]
    found = dict(pools(parse_seconds=0.5).flows(tasks))
    assert set(found) == {"a", "slow.py", "b"}
    assert found[BlobId("a")]
    assert found[BlobId("slow.py")] == b""


def test_a_pool_serves_again_and_again_and_empty_work_too(pools: Callable[..., ParserPool]) -> None:
    pool = pools()
    assert list(pool.map([])) == []
    assert [blob for blob, _ in pool.map([task("a")])] == ["a"]
    assert [blob for blob, _ in pool.map(iter([task("b")]))] == ["b"]


def test_paths_of_any_bytes_travel(pools: Callable[..., ParserPool]) -> None:
    path = os.fsdecode(b"\xff\n.py")
    (found,) = parsed(pools(), [BlobTask(BlobId("x"), path, b"def f(): pass\n")]).values()
    assert found.language == "python"


def test_no_process_starts_before_there_is_work(pools: Callable[..., ParserPool]) -> None:
    before = set(psutil.Process().children())
    pools(4)
    assert set(psutil.Process().children()) == before


def test_a_file_that_takes_too_long_costs_only_itself(pools: Callable[..., ParserPool]) -> None:
    tasks = [task("a"), task("slow.cs", SLOW), task("b"), task("c")]
    results = parsed(pools(parse_seconds=0.5), tasks)
    assert set(results) == {"a", "slow.cs", "b", "c"}
    assert problems(results) == {"slow.cs": "parse-timeout"}
    assert results[BlobId("slow.cs")].language == "csharp"
    assert len(results[BlobId("slow.cs")].chunks) == 1


def test_a_file_that_takes_too_much_memory_costs_only_itself(pools: Callable[..., ParserPool]) -> None:
    tasks = [task("a"), task("fat.cs", b"a<" * 400_000), task("b")]
    results = parsed(pools(worker_memory=200_000_000, parse_seconds=30), tasks)
    assert set(results) == {"a", "fat.cs", "b"}
    assert problems(results) == {"fat.cs": "parse-crash"}


def test_a_killed_process_loses_no_file(pools: Callable[..., ParserPool]) -> None:
    tasks = [task(f"t{n}") for n in range(400)]
    results: dict[BlobId, BlobFacts] = {}
    for blob, found in pools(2).map(tasks):
        results[blob] = unpack_facts(found.facts, BlobFacts)
        if len(results) == 1:
            for child in psutil.Process().children():
                child.send_signal(signal.SIGKILL)
    assert set(results) == {each.blob for each in tasks}
    assert problems(results) == {}


def test_more_work_waits_for_a_process_while_somebody_is_at_its_answers(pools: Callable[..., ParserPool]) -> None:
    """Who takes the answers also commits them: a process that has nothing to do meanwhile is half a core that is lost."""
    taken: list[BlobTask] = []
    listening = pools().map(taken.append(each) or each for each in (task(f"t{n}") for n in range(400)))  # type: ignore[func-returns-value]
    next(listening)
    assert len(taken) == 2 * _BATCH_TASKS
    assert len(list(listening)) == len(taken) - 1


def test_what_a_pipe_cannot_hold_waits_for_a_process_that_has_nothing_to_do(pools: Callable[..., ParserPool]) -> None:
    tasks = [task(f"t{n}", b"x = 1\n" * (200_000 if n % 3 else 20)) for n in range(9)]
    assert set(parsed(pools(2), tasks)) == {each.blob for each in tasks}


def test_stopping_to_listen_leaves_a_pool_that_works(pools: Callable[..., ParserPool]) -> None:
    pool = pools(2)
    listening = pool.map(task(f"t{n}") for n in range(400))
    next(listening)
    listening.close()  # type: ignore[attr-defined]  # a generator, typed as an iterator
    assert [blob for blob, _ in pool.map([task("after")])] == ["after"]


def test_an_error_in_the_source_of_tasks_comes_out(pools: Callable[..., ParserPool]) -> None:
    def failing() -> Iterator[BlobTask]:
        yield task("a")
        raise LookupError("source")

    pool = pools()
    with pytest.raises(LookupError, match="source"):
        list(pool.map(failing()))
    assert [blob for blob, _ in pool.map([task("after")])] == ["after"]


def test_closing_ends_every_process(pools: Callable[..., ParserPool]) -> None:
    pool = pools(2)
    before = set(psutil.Process().children())
    list(pool.map(task(f"t{n}") for n in range(300)))
    started = set(psutil.Process().children()) - before
    pool.close()
    assert started
    assert not any(child.is_running() for child in started)


def test_processes_that_cannot_start_are_an_error_and_not_a_poor_index(pools: Callable[..., ParserPool]) -> None:
    with pytest.raises(HostUnfit) as caught:
        list(pools(interpreter="/bin/false").map([task("a")]))
    assert caught.value.remedy


def test_a_child_lives_under_its_limits(pools: Callable[..., ParserPool]) -> None:
    pool = pools()
    before = set(psutil.Process().children())
    list(pool.map([task("a")]))
    (child,) = set(psutil.Process().children()) - before
    assert child.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    assert child.rlimit(psutil.RLIMIT_AS) == (1_000_000_000, 1_000_000_000)
    assert child.nice() == psutil.Process().nice() + 5
    assert os.getsid(child.pid) == os.getsid(0)  # else the kernel shares the cores out by session, and nice says nothing
