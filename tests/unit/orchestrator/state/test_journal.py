import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base.sqlite import connect
from appliance.errors import DiskFull, StoreCorrupt
from appliance.orchestrator.state import (
    Effect,
    Journal,
    JournalEntry,
    MemoryJournal,
    SqliteJournal,
    TransitionApplier,
    TransitionBatch,
)
from appliance.orchestrator.state.journal import Status
from tests.support.clock import FakeClock
from tests.unit.orchestrator.state.hosts import PlainHost

NOW = FakeClock().now()


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    if request.param == "memory":
        yield MemoryJournal(clock=FakeClock())
        return
    kept = SqliteJournal(tmp_path / "journal.db", clock=FakeClock())
    yield kept
    kept.close()


def run(host: PlainHost, batch: TransitionBatch, journal: Journal) -> None:
    asyncio.run(TransitionApplier(host, journal=journal).apply_batch(batch))


def test_a_batch_that_was_applied_is_in_the_journal(journal: Journal) -> None:
    run(PlainHost(), TransitionBatch().update_state("k", 1).execute_tool("ls").create_session("s"), journal)
    effects = (Effect(1, "execute_tool", "ls"), Effect(2, "create_session", "s"))
    assert journal.entries() == (JournalEntry(1, "sid", 3, "applied", NOW, NOW, None, "", effects),)


def test_a_batch_that_failed_says_where_and_which_effects_happened_all_the_same(journal: Journal) -> None:
    inner = TransitionBatch().execute_tool("in").execute_tool("explode").execute_tool("never")
    with pytest.raises(RuntimeError):
        run(
            PlainHost(),
            TransitionBatch().execute_tool("ls").update_state("k", 1).add_batch(inner).execute_tool("never"),
            journal,
        )
    (entry,) = journal.entries()
    assert (entry.status, entry.failed_index, entry.error) == ("rolled_back", 2, "RuntimeError: tool failed")
    assert entry.effects == (Effect(0, "execute_tool", "ls"), Effect(2, "execute_tool", "in"))


def test_a_batch_that_was_cancelled_says_so(journal: Journal) -> None:
    host = PlainHost()

    async def main() -> None:
        applier = TransitionApplier(host, journal=journal)
        task = asyncio.create_task(applier.apply_batch(TransitionBatch().execute_tool("ls").execute_tool("hang")))
        await host.called.wait()
        assert [(entry.status, len(entry.effects)) for entry in journal.entries()] == [("started", 1)]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (entry,) = journal.entries()
    assert (entry.status, entry.failed_index, entry.error) == ("rolled_back", 1, "cancelled")
    assert entry.effects == (Effect(0, "execute_tool", "ls"),)


def test_a_batch_that_the_host_refused_says_which_transition_that_was(journal: Journal) -> None:
    class Refuses(PlainHost):
        def add_message(self, message: object) -> None:
            raise OSError(f"no {message}")

    with pytest.raises(OSError, match="no m"):
        run(Refuses(), TransitionBatch().update_state("k", 1).execute_tool("ls").add_message("m"), journal)
    (entry,) = journal.entries()
    assert (entry.status, entry.failed_index, entry.error) == ("rolled_back", 2, "OSError: no m")


def test_the_latest_entries_are_returned_oldest_first(journal: Journal) -> None:
    host = PlainHost()
    for count in range(1, 6):
        batch = TransitionBatch()
        for _ in range(count):
            batch.update_state("k", count)
        run(host, batch, journal)
    assert [entry.transitions for entry in journal.entries(limit=2)] == [4, 5]
    assert journal.entries(limit=0) == ()
    run(host, TransitionBatch(), journal)
    assert len(journal.entries()) == 5, "an empty batch is no news"


def test_what_was_written_is_there_after_the_process_and_shows_what_it_was_at(tmp_path: Path) -> None:
    """A process that was killed leaves its batch as started, with the effects that it came to."""
    path = tmp_path / "journal.db"
    first = SqliteJournal(path, clock=FakeClock())
    batch = first.begin(session="s", transitions=2)
    first.happened(batch, Effect(0, "execute_tool", "ls"))
    first.close()
    again = SqliteJournal(path, clock=FakeClock())
    assert again.entries() == (JournalEntry(batch, "s", 2, "started", NOW, effects=(Effect(0, "execute_tool", "ls"),)),)
    again.close()


def test_a_journal_is_kept_at_a_path(tmp_path: Path) -> None:
    applier = TransitionApplier(PlainHost(), journal=tmp_path / "journal.db")
    asyncio.run(applier.apply_batch(TransitionBatch().update_state("k", 1)))
    assert isinstance(applier.journal, SqliteJournal)
    applier.journal.close()
    again = SqliteJournal(tmp_path / "journal.db")
    assert [entry.status for entry in again.entries()] == ["applied"]
    again.close()


@pytest.mark.parametrize("damage", ["DROP TABLE batches", "DROP TABLE effects", "PRAGMA user_version=0"])
def test_a_journal_that_is_damaged_is_told_and_changes_no_state(tmp_path: Path, damage: str) -> None:
    SqliteJournal(tmp_path / "journal.db").close()
    conn = connect(tmp_path / "journal.db")
    conn.execute(damage)
    conn.close()
    host = PlainHost()
    before = dict(host.conversation_state)
    with pytest.raises(StoreCorrupt, match="is no journal, or damaged"):
        run(host, TransitionBatch().execute_tool("ls").update_state("k", 1), SqliteJournal(tmp_path / "journal.db"))
    assert host.conversation_state == before


def test_an_error_is_kept_short(journal: Journal) -> None:
    batch = journal.begin(session="", transitions=1)
    journal.settle(batch, "rolled_back", error="x" * 100_000)
    assert len(journal.entries()[0].error) == 500


class Full(MemoryJournal):
    """A disk that is full when a batch comes to some step."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self._step = step

    def begin(self, *, session: str, transitions: int) -> int:
        self._refuse("begin")
        return super().begin(session=session, transitions=transitions)

    def happened(self, batch: int, effect: Effect) -> None:
        self._refuse("happened")
        super().happened(batch, effect)

    def settle(self, batch: int, status: Status, *, failed_index: int | None = None, error: str = "") -> None:
        self._refuse("settle")
        super().settle(batch, status, failed_index=failed_index, error=error)

    def _refuse(self, step: str) -> None:
        if step == self._step:
            raise DiskFull("The disk is full.")


@pytest.mark.parametrize("step", ["begin", "happened", "settle"])
def test_a_batch_that_cannot_be_written_down_changes_no_state(step: str) -> None:
    host = PlainHost()
    before = host.state()
    with pytest.raises(DiskFull):
        run(host, TransitionBatch().update_state("k", 1).execute_tool("ls").add_message("m"), Full(step))
    assert host.state() == before
    assert bool(host.calls) is (step != "begin")
