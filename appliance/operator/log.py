"""The turn log: one SQLite file that a machine writes ahead, so that a kill costs at most the turn in flight."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from appliance.operator.encoding import encoded, writable
from appliance.operator.errors import LogDamaged, LogFault, LogTaken, LogVersion, SnapshotError
from appliance.operator.messages import Message
from appliance.operator.models import StateMachineModel
from appliance.operator.objectives import ObjectiveSlot
from appliance.operator.record import TurnRecord

VERSION: Final = 2
_APPLICATION: Final = 0x6F706C67  # "oplg": what kind of file this is
_BUSY_TIMEOUT_S: Final = 10.0
_BROKEN: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}  # the last: a table is another
_SCHEMA: Final = """
CREATE TABLE machines (
  machine TEXT PRIMARY KEY, epoch INTEGER NOT NULL, persona TEXT NOT NULL, crc INTEGER NOT NULL,
  messages INTEGER NOT NULL, slots INTEGER NOT NULL
);
CREATE TABLE messages (
  machine TEXT, position INTEGER, message TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (machine, position)
) WITHOUT ROWID;
CREATE TABLE slots (
  machine TEXT, agent TEXT, number INTEGER, slot TEXT NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (machine, agent, number)
) WITHOUT ROWID;
CREATE TABLE turns (
  number INTEGER PRIMARY KEY, machine TEXT NOT NULL, turn_id TEXT NOT NULL UNIQUE, record TEXT NOT NULL, crc INTEGER NOT NULL
);
CREATE INDEX turns_of ON turns (machine);
"""


class TurnLog:
    """The log of one *machine* at *path*; several machines may share a file, each under a name of its own.

    Whatever is kept survives a power cut on return. The methods may be called from any thread. A file of another version
    or kind raises `LogVersion`, a damaged one `LogDamaged`, a disk that is full or read-only `LogFault`; the file is left
    as it is then.
    """

    def __init__(self, path: Path | str, *, machine: str = "main") -> None:
        self.path = Path(path)
        self.machine = machine
        if not writable(machine) or "\0" in str(path):
            raise LogFault(f"No turn log can be of {machine!r} at {str(path)!r}: choose another name.")
        self._lock = threading.RLock()
        self._epoch = 0
        self._persona = ""
        self._thread: tuple[Message, ...] = ()
        self._slots: dict[str, int] = {}
        with self._faults():
            self._db = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
            try:
                self._open()
            except BaseException:
                self._db.close()
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def empty(self) -> bool:
        """Whether no machine of that name stands in it: one is made with the log then, and brought back from it else."""
        with self._lock, self._faults():
            return self._epoch_there() == 0

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Write for a new machine from now on; what the block keeps is kept with it. Raise `LogTaken` where there is one."""
        with self._writing(fenced=False):
            if not self.empty():
                raise LogTaken(f"{self.path} holds a machine {self.machine!r} already: bring it back with from_log.")
            self._db.execute("INSERT INTO machines VALUES (?, 1, '', 0, 0, 0)", (self.machine,))
            self._epoch = 1
            yield

    @contextmanager
    def resumed(self) -> Iterator[StateMachineModel]:
        """Give the machine as it was last kept, and write for it once the block is left without an error.

        Whoever wrote before is refused with `LogTaken` from then on. Raise `LogFault` if there is no machine.
        """
        with self._writing(fenced=False):
            epoch = self._epoch_there() + 1
            self._db.execute("UPDATE machines SET epoch = ? WHERE machine = ?", (epoch, self.machine))
            try:
                yield self.model()
            except SnapshotError as exc:
                raise self._damaged(str(exc)) from exc
        self._epoch = epoch

    def keep(
        self,
        *,
        persona: str | None = None,
        thread: tuple[Message, ...] | None = None,
        slots: Sequence[ObjectiveSlot] = (),
        turn: TurnRecord | None = None,
    ) -> None:
        """Keep all that is given, or on an error nothing of it."""
        rows = [(slot.agent, slot.index, encoded(slot, place=slot.commission_id)) for slot in slots]
        with self._lock:
            thread = self._thread if thread is None else thread
            known, messages = self._changed(thread)
            kept = {**self._slots}
            for agent, number, _ in rows:
                kept[agent] = max(number, kept.get(agent, 0))
            with self._writing():
                if persona is not None and persona != self._persona:
                    self._keep_persona(persona)
                if (counts := (len(thread), sum(kept.values()))) != (len(self._thread), sum(self._slots.values())):
                    self._db.execute(
                        "UPDATE machines SET messages = ?, slots = ? WHERE machine = ?", (*counts, self.machine)
                    )
                if messages or known < len(self._thread):
                    self._keep_messages(messages, after=known)
                for row in rows:
                    place = (self.machine, *row)
                    self._db.execute("INSERT OR REPLACE INTO slots VALUES (?, ?, ?, ?, ?)", (*place, _crc(*place)))
                if turn is not None:
                    self._keep_turn(turn)
            self._persona = self._persona if persona is None else persona
            self._thread, self._slots = thread, kept

    def objectives_of(self, agent: str) -> int:
        """Return how many objectives of *agent* are kept."""
        return self._slots.get(agent, 0)

    def model(self) -> StateMachineModel:
        """Return the machine as it was last kept; raise `LogFault` if there is none."""
        try:
            return StateMachineModel.model_validate(self._load())
        except (ValidationError, KeyError, TypeError) as exc:
            raise self._damaged("what stands there is no machine") from exc

    def _load(self) -> dict[str, Any]:
        with self._lock, self._faults():
            query = "SELECT messages, slots, persona, crc FROM machines WHERE machine = ?"
            found = self._db.execute(query, (self.machine,)).fetchone()
            if found is None:
                raise LogFault(f"{self.path} holds no machine {self.machine!r}: make a StateMachine with this log first.")
            persona = self._whole(*found[2:], what="the persona")
            query = "SELECT position, message, crc FROM messages WHERE machine = ? ORDER BY position"
            messages = [self._whole(*row, what="a message") for row in self._db.execute(query, (self.machine,))]
            query = "SELECT agent, number, slot, crc FROM slots WHERE machine = ? ORDER BY agent, number"
            slots = [self._whole(*row, what="an objective") for row in self._db.execute(query, (self.machine,))]
        if (len(messages), len(slots)) != found[:2]:
            raise self._damaged(f"it says that it has {found[0]} messages and {found[1]} objectives")
        specs = persona["agents"]
        agents = [{"spec": spec, "slots": [slot for slot in slots if slot["agent"] == spec["name"]]} for spec in specs]
        if sum(len(agent["slots"]) for agent in agents) != len(slots):
            raise self._damaged("an objective is of an agent that is not there")
        self._persona = encoded(persona)
        self._thread = tuple(messages)
        self._slots = {agent["spec"]["name"]: len(agent["slots"]) for agent in agents}
        return {"coordinator": persona["coordinator"], "coordinator_messages": messages, "agents": agents}

    def turns(self) -> list[TurnRecord]:
        """Return all turns of the machine, the first first; one that is ``running`` runs now, or was cut off."""
        with self._lock, self._faults():
            query = "SELECT turn_id, record, crc FROM turns WHERE machine = ? ORDER BY number"
            rows = self._db.execute(query, (self.machine,)).fetchall()
        try:
            return [TurnRecord.model_validate(self._whole(*row, what="a turn")) for row in rows]
        except ValidationError as exc:
            raise self._damaged("a turn is none") from exc

    def interrupt(self) -> None:
        """Mark the turns that are running as interrupted."""
        for turn in self.turns():
            if turn.status == "running":
                self.keep(turn=turn.model_copy(update={"status": "interrupted"}))

    def _changed(self, thread: tuple[Message, ...]) -> tuple[int, list[str]]:
        """Return how many messages of *thread* are kept already, and the others as JSON."""
        if thread is self._thread:
            return len(thread), []
        pairs = enumerate(zip(self._thread, thread, strict=False))
        known = next((at for at, (old, new) in pairs if old is not new and old != new), min(len(self._thread), len(thread)))
        rest = enumerate(thread[known:], start=known)
        return known, [encoded(message, place=f"coordinator_messages[{at}]") for at, message in rest]

    def _keep_persona(self, persona: str) -> None:
        crc = _crc(self.machine, persona)
        self._db.execute("UPDATE machines SET persona = ?, crc = ? WHERE machine = ?", (persona, crc, self.machine))

    def _keep_messages(self, messages: list[str], *, after: int) -> None:
        self._db.execute("DELETE FROM messages WHERE machine = ? AND position >= ?", (self.machine, after))
        places = [(self.machine, position, text) for position, text in enumerate(messages, start=after)]
        self._db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", [(*place, _crc(*place)) for place in places])

    def _keep_turn(self, turn: TurnRecord) -> None:
        text = encoded(turn)
        self._db.execute(
            "INSERT INTO turns (machine, turn_id, record, crc) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (turn_id) DO UPDATE SET record = excluded.record, crc = excluded.crc",
            (self.machine, turn.turn_id, text, _crc(self.machine, turn.turn_id, text)),
        )

    def _open(self) -> None:
        kind, version = self._number("PRAGMA application_id"), self._number("PRAGMA user_version")
        tables = self._number("SELECT count(*) FROM sqlite_schema")
        if tables and kind != _APPLICATION:
            raise LogVersion(f"{self.path} is a database, but no turn log: choose another path.")
        if tables and version != VERSION:
            said = f"{self.path} is a turn log of version {version}, and this program knows {VERSION}"
            raise LogVersion(f"{said}: open it with the program that wrote it, or begin a new one at another path.")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        if not tables:
            self._make()
        elif (found := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise self._damaged(str(found))

    def _make(self) -> None:
        with self._writing(fenced=False):
            if self._number("SELECT count(*) FROM sqlite_schema"):
                return  # another process was faster
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id={_APPLICATION}")
            self._db.execute(f"PRAGMA user_version={VERSION}")

    @contextmanager
    def _writing(self, *, fenced: bool = True) -> Iterator[None]:
        """Make the block one transaction, or part of the one around it; refuse it where another machine has the log."""
        with self._lock, self._faults():
            inside = self._db.in_transaction
            if inside:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                if fenced:
                    self._fence()
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk may have rolled back already
                    self._db.execute("ROLLBACK")
                raise

    def _fence(self) -> None:
        if self._epoch_there() != self._epoch:
            raise LogTaken(f"Another machine writes {self.machine!r} in {self.path} now: this one may not go on.")

    def _epoch_there(self) -> int:
        return self._number("SELECT epoch FROM machines WHERE machine = ?", self.machine)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            if getattr(exc, "sqlite_errorcode", 0) & 0xFF in _BROKEN:
                raise self._damaged(str(exc)) from exc
            raise LogFault(
                f"The turn log {self.path} failed: {exc}. Free space, or choose a path that can be written."
            ) from exc
        except (UnicodeDecodeError, OverflowError) as exc:
            raise self._damaged(str(exc)) from exc

    def _number(self, query: str, *values: object) -> int:
        row = self._db.execute(query, values).fetchone()
        if row is not None and not isinstance(row[0], int):
            raise self._damaged("a number is none")
        return 0 if row is None else row[0]

    def _whole(self, *row: object, what: str) -> Any:  # noqa: ANN401 - JSON
        """Return what stands in *row*: where it stands, its text, its checksum."""
        *place, text, crc = row
        try:
            if isinstance(text, str) and _crc(self.machine, *place, text) == crc:
                return json.loads(text)
        except (ValueError, RecursionError) as exc:
            raise self._damaged(f"{what} cannot be read") from exc
        raise self._damaged(f"{what} is not as it was written")

    def _damaged(self, what: str) -> LogDamaged:
        said = " ".join(what.split())
        return LogDamaged(
            f"The turn log {self.path} is damaged ({said}): restore it from a copy, or begin a new one at another path."
        )


def _crc(*parts: object) -> int:
    return zlib.crc32("\0".join(map(str, parts)).encode())
