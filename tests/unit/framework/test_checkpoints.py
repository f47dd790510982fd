"""The contract of what keeps checkpoints, on the keeper in memory and the one on the disk."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.base import sqlite
from appliance.errors import Conflict, DiskFull, HostUnfit, InvalidInput, StoreCorrupt
from appliance.framework import END, Checkpoint, Checkpointer, SqliteCheckpointer, StateGraph
from appliance.framework.checkpoint import FORMAT, Due
from appliance.framework.checkpoint_json import encoded
from appliance.framework.checkpoint_sqlite import _MIGRATIONS
from tests.support import killed_graph
from tests.support.house import until
from tests.support.state_graphs import Counted, begun, failed

FIRST = Checkpoint(
    id="chk_1",
    thread_id="t",
    seq=1,
    graph="g",
    at=1.5,
    step=0,
    status="running",
    state={"n": 1, "deep": [{"é": None}]},
    due=(Due("a"), Due("b", {"x": 1}, "c")),
    ran=("start",),
    visits={"start": 1},
)


def next_of(checkpoint: Checkpoint, **changes: object) -> Checkpoint:
    seq = checkpoint.seq + 1
    return replace(checkpoint, id=f"chk_{seq}", seq=seq, step=checkpoint.step + 1, **changes)  # type: ignore[arg-type]


async def grown(kept: Checkpointer, count: int, thread: str = "t") -> list[Checkpoint]:
    made = [replace(FIRST, thread_id=thread)]
    for _ in range(count - 1):
        made.append(next_of(made[-1]))
    for each in made:
        await kept.put(each)
    return made


def test_checkpoints_come_back_as_they_were_the_newest_first(kept: Checkpointer) -> None:
    async def run() -> None:
        assert (await kept.latest("t"), list(await kept.history("t")), await kept.get("t", "chk_1")) == (None, [], None)
        made = await grown(kept, 3)
        assert await kept.latest("t") == made[-1]
        assert list(await kept.history("t")) == made[::-1]
        assert list(await kept.history("t", limit=2)) == made[:0:-1]
        assert await kept.get("t", "chk_2") == made[1]
        assert (await kept.get("t", "chk_9"), await kept.get("u", "chk_2")) == (None, None)

    asyncio.run(run())


def test_what_was_kept_does_not_change_with_what_was_given(kept: Checkpointer) -> None:
    async def run() -> None:
        state: dict[str, list[int]] = {"items": [1]}
        await kept.put(replace(FIRST, state=state))
        state["items"].append(2)
        found = await kept.latest("t")
        assert found is not None
        assert found.state == {"items": [1]}

    asyncio.run(run())


def test_a_number_that_is_taken_is_refused_and_nothing_changes(kept: Checkpointer) -> None:
    async def run() -> None:
        made = await grown(kept, 2)
        with pytest.raises(Conflict, match="moved the thread 't' on"):
            await kept.put(replace(made[1], id="chk_other"))
        assert list(await kept.history("t")) == made[::-1]

    asyncio.run(run())


def test_writes_of_a_step_are_there_until_it_is_done(kept: Checkpointer) -> None:
    async def run() -> None:
        made = await grown(kept, 1)
        await kept.put_write("t", 0, 2, {"n": 2})
        await kept.put_write("t", 0, 0, {"n": 0})
        await kept.put(replace(next_of(made[0]), step=0, status="failed"))
        assert await kept.writes("t", 0) == {0: {"n": 0}, 2: {"n": 2}}
        await kept.put(replace(next_of(next_of(made[0])), step=1))
        assert await kept.writes("t", 0) == {}

    asyncio.run(run())


def test_one_run_at_a_time_holds_a_thread(kept: Checkpointer) -> None:
    async def run() -> None:
        async with kept.claim("t"):
            async with kept.claim("other"):
                pass
            with pytest.raises(Conflict, match="Another run holds the thread 't'"):
                async with kept.claim("t"):
                    pytest.fail("two hold it")
        with pytest.raises(ZeroDivisionError):
            async with kept.claim("t"):
                raise ZeroDivisionError
        async with kept.claim("t"):
            pass

    asyncio.run(run())


def test_a_thread_is_forgotten_with_those_inside_it_and_no_other(kept: Checkpointer) -> None:
    async def run() -> None:
        for thread in ("t", "t/1.0.inner", "t2", "T"):
            await grown(kept, 1, thread)
            await kept.put_write(thread, 0, 0, {"n": 0})
        await kept.delete("t")
        assert [name for name in ("t", "t/1.0.inner", "t2", "T") if await kept.latest(name)] == ["t2", "T"]
        assert [name for name in ("t", "t/1.0.inner", "t2", "T") if await kept.writes(name, 0)] == ["t2", "T"]

    asyncio.run(run())


def test_only_the_newest_are_kept(kept: Checkpointer) -> None:
    async def run() -> None:
        made = await grown(kept, 70)
        found = await kept.history("t", limit=1000)
        assert list(found) == made[-1 : -len(found) - 1 : -1]
        assert 20 <= len(found) < 30

    asyncio.run(run())


def test_of_threads_that_are_finished_the_newest_are_kept_and_all_others(kept: Checkpointer) -> None:
    async def run() -> None:
        await kept.put(replace(FIRST, thread_id="waits", status="interrupted"))
        await kept.put(replace(FIRST, thread_id="begun"))
        for number in range(128):
            thread = f"t{number}"
            for name in (thread, f"{thread}/0.0.inner"):
                await kept.put(replace(FIRST, thread_id=name, status="finished"))
        found = [number for number in range(128) if await kept.latest(f"t{number}")]
        assert 30 <= len(found) < 94
        assert found == list(range(128 - len(found), 128))
        inner = [number for number in range(128) if await kept.latest(f"t{number}/0.0.inner")]
        assert inner == found
        assert await kept.latest("waits")
        assert await kept.latest("begun")

    asyncio.run(run())


def test_a_checkpoint_of_another_format_is_refused_and_left_alone(kept: Checkpointer) -> None:
    async def run() -> None:
        await kept.put(replace(FIRST, format=FORMAT + 1))
        for look in (kept.latest("t"), kept.history("t"), kept.get("t", "chk_1")):
            with pytest.raises(HostUnfit, match=rf"'t' has the format {FORMAT + 1}, and this version reads {FORMAT}"):
                await look

    asyncio.run(run())


def test_a_broken_checkpoint_is_told_as_such(tmp_path: Path) -> None:
    async def run() -> None:
        async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
            await grown(kept, 1)
            whole = json.loads(encoded(FIRST))
            wrong = {
                **dict.fromkeys(("state", "due", "visits", "waits", "ran", "error", "graph"), 5),
                **dict.fromkeys(("step", "seq", "status", "stopped", "format"), "x"),
                "thread_id": "other",
            }
            bodies = [
                *("{", "[]", "null", "[" * 100_000, "9" * 5_000, b"\xff"),
                *(json.dumps(whole | {key: value}) for key, value in wrong.items()),
                *(json.dumps({key: value for key, value in whole.items() if key != left_out}) for left_out in ("due", "id")),
                json.dumps(whole | {"more": 1}),
                json.dumps(whole | {"due": [["a"]]}),
            ]
            conn = sqlite.connect(tmp_path / "threads.db")
            for body in bodies:
                conn.execute("UPDATE checkpoints SET body = ?, crc = NULL", (body,))
                with pytest.raises(StoreCorrupt, match="'t' cannot be read"):
                    await kept.latest("t")
            conn.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE checkpoints SET body = replace(body, '1.5', '2.5')", "not as it was written"),
        ("UPDATE checkpoints SET thread = 't', seq = 9 WHERE thread = 'u'", "not as it was written"),
        ("UPDATE branch_writes SET branch = 3", "not as it was written"),
        ("UPDATE branch_writes SET body = 5, crc = NULL", "cannot be read"),
        ("UPDATE branch_writes SET body = 'x', crc = NULL", "cannot be read"),
        ("DROP TABLE branch_writes", "no store of checkpoints"),
        ("ALTER TABLE checkpoints RENAME COLUMN body TO other", "no store of checkpoints"),
    ],
)
def test_what_is_not_as_it_was_written_is_told(tmp_path: Path, damage: str, said: str) -> None:
    async def run() -> None:
        async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
            for thread in "tu":
                await grown(kept, 1, thread)
            await kept.put_write("t", 0, 0, {"n": 0})
            conn = sqlite.connect(tmp_path / "threads.db")
            conn.execute(damage)
            conn.close()
            found = await asyncio.gather(kept.latest("t"), kept.writes("t", 0), return_exceptions=True)
            (error,) = (each for each in found if isinstance(each, StoreCorrupt))
            assert said in str(error)

    asyncio.run(run())


def test_what_was_written_without_checksums_is_read(tmp_path: Path) -> None:
    async def run() -> None:
        conn = sqlite.connect(tmp_path / "threads.db", migrations=_MIGRATIONS[:1])
        conn.execute("INSERT INTO checkpoints VALUES ('t', 1, 'chk_1', 1, ?)", (encoded(FIRST),))
        conn.close()
        async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
            assert await kept.latest("t") == FIRST

    asyncio.run(run())


def test_a_keeper_that_is_closed_says_so(tmp_path: Path) -> None:
    kept = SqliteCheckpointer(tmp_path / "threads.db")
    kept.close()
    with pytest.raises(InvalidInput, match="is closed"):
        asyncio.run(kept.latest("t"))


def started(folder: Path, thread: str) -> "subprocess.Popen[str]":
    argv = [sys.executable, "-m", killed_graph.__name__, str(folder), thread]
    return subprocess.Popen(argv, text=True, stderr=subprocess.PIPE)


def log(folder: Path) -> list[str]:
    path = folder / "log"
    return path.read_text().split() if path.exists() else []


def test_a_process_that_is_killed_is_gone_on_with_after_its_last_finished_nodes(tmp_path: Path) -> None:
    """Finished steps, finished branches of the step, and the finished steps of a subgraph in it are not run again."""
    child = started(tmp_path, "t")
    try:
        checked = until(lambda: sorted(log(tmp_path)) == ["first", "inner.first", "inner.slow", "quick", "slow"])
        assert checked, log(tmp_path)
        conn = sqlite.connect(tmp_path / "threads.db")
        assert until(lambda: conn.execute("SELECT count(*) FROM branch_writes").fetchone()[0] == 1)
        conn.close()
    finally:
        child.kill()
        child.communicate()
    (tmp_path / "go").touch()

    async def resumed() -> None:
        async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
            graph = killed_graph.graph(tmp_path, kept)
            found = await graph.get_state("t")
            assert found is not None
            assert (found.status, found.state["ran"]) == ("running", ["first"])
            result = await graph.resume("t")
            assert result.require() == {
                "ran": ["first", "quick", "slow", "inner.first", "inner.slow", "last"],
                "where": killed_graph.Place(path="a.py"),
            }

    asyncio.run(resumed())
    assert sorted(log(tmp_path)[5:]) == ["inner.slow", "last", "slow"]


def test_of_two_processes_on_one_thread_one_runs_and_the_other_is_told(tmp_path: Path) -> None:
    child = started(tmp_path, "t")
    try:
        assert until(lambda: "slow" in log(tmp_path))

        async def second() -> None:
            async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
                graph = killed_graph.graph(tmp_path, kept)
                for run in (graph.resume("t"), graph.invoke({"ran": []}, thread_id="t"), graph.delete("t")):
                    with pytest.raises(Conflict, match="Another run holds the thread 't'"):
                        await run
                (tmp_path / "go").touch()
                said = await asyncio.to_thread(child.communicate, timeout=60)
                assert (child.returncode, said[1]) == (0, "")
                assert (await graph.resume("t")).success

        asyncio.run(second())
        assert log(tmp_path).count("last") == 1
    finally:
        child.kill()
        child.communicate()


def test_a_full_disk_fails_the_step_and_the_thread_goes_on_when_there_is_room(tmp_path: Path) -> None:
    def grows(state: Counted) -> Mapping[str, object]:
        return {"n": state["n"] + 1, "seen": [*state["seen"], "x" * 100_000]}

    graph = StateGraph(Counted).add_node("grow", grows).set_entry_point("grow")
    graph.add_conditional_edge("grow", lambda state: state["n"] < 5, {True: "grow", False: END})

    async def run() -> None:
        async with SqliteCheckpointer(tmp_path / "threads.db") as kept:
            made = graph.compile(kept)
            kept._db._conn.execute("PRAGMA max_page_count=100")
            full = await made.invoke(begun(), thread_id="t")
            failed(full, DiskFull, "threads.db")
            assert 0 < full.state["n"] < 5
            state = await made.get_state("t")
            assert state is not None
            assert (state.state["n"], state.next_nodes) == (full.state["n"], ("grow",))
            kept._db._conn.execute("PRAGMA max_page_count=10000")
            assert (await made.resume("t")).require()["n"] == 5

    asyncio.run(run())
