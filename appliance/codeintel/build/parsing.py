"""From a listed tree to cached facts: only blobs that were never seen are read and parsed."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from appliance.base.clock import Clock
from appliance.codeintel.build.staging import Missing, Staging
from appliance.codeintel.facts import UNSURE, BlobTask
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.parse.languages import PARSER_VERSION
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.source.base import Examined, Source
from appliance.codeintel.source.filters import judge_content
from appliance.codeintel.source.secrets import policy_of
from appliance.codeintel.store.code import BlobRow, CodeStore
from appliance.config import Index
from appliance.ids import BlobId

Parsers = Callable[[], AbstractContextManager[ParserPool]]

_COMMIT_ROWS = 200
_COMMIT_S = 1.0  # a killed process loses at most this much work


def facts_recipe(limits: Index) -> str:
    """Return what tells the facts of a blob, as they are found under *limits*, from those that others find."""
    return f"{PARSER_VERSION}/{limits.max_line_bytes}/{policy_of(masked=limits.mask_secrets)}"


def tried_under(limits: Index, *, recipe: str) -> str:
    """Return what tells a try to parse a file from one that may go better: with other limits, or another parser."""
    return f"{recipe}/{limits.parse_seconds}/{limits.worker_memory}"


@dataclass(slots=True)
class _Tally:
    done: int = 0
    parsed: int = 0
    last_commit: float = 0.0


class FactFinder:
    """Finds the facts of every blob in *staging* that has none made by *recipe*, with the processes of *parsers*.

    What facts are cached under says which added language a blob is in, and how that is defined: see `parse.added.Languages`.
    """

    def __init__(
        self,
        staging: Staging,
        store: CodeStore,
        *,
        source: Source,
        limits: Index,
        recipe: str,
        clock: Clock,
        parsers: Parsers,
    ) -> None:
        self._staging = staging
        self._store = store
        self._source = source
        self._limits = limits
        self._recipe = recipe
        self._trying = tried_under(limits, recipe=recipe)
        self._clock = clock
        self._parsers = parsers
        self._rows: list[BlobRow] = []
        self._waiting: dict[BlobId, str] = {}  # handed to the pool, and the hint of each
        self._unreadable: list[BlobId] = []

    def run(self, *, progress: Progress, check: Check) -> int:
        """Read, judge and parse; return how many blobs were parsed. What was found is committed every second.

        A file whose parser died or took too long at its last time is tried once more, a few times in all. No parser process
        is started when nothing is missing.
        """
        self._store.try_again(limits=self._trying)
        missing = self._staging.find_missing(recipe=self._recipe)
        tally = _Tally(last_commit=self._clock.monotonic())
        if not missing:
            return 0
        with self._parsers() as pool:
            while missing:
                self._pass(pool, tally, total=tally.done + missing, progress=progress, check=check)
                missing = self._staging.find_missing(recipe=self._recipe)
        return tally.parsed

    def _pass(self, pool: ParserPool, tally: _Tally, *, total: int, progress: Progress, check: Check) -> None:
        progress("parse", tally.done, total)
        for blob, packed in pool.map(self._tasks()):
            unsure = self._trying if packed.problem in UNSURE else ""
            self._rows.append(BlobRow(blob, self._waiting.pop(blob), packed.facts, unsure=unsure))
            tally.parsed += 1
            tally.done += 1
            if len(self._rows) >= _COMMIT_ROWS or self._clock.monotonic() - tally.last_commit >= _COMMIT_S:
                self._commit()
                tally.last_commit = self._clock.monotonic()
                check()
                progress("parse", tally.done, total)
        self._unreadable += self._waiting  # a pool that loses a task must not make us ask for ever
        self._waiting.clear()
        self._commit()
        check()
        tally.done = total
        progress("parse", total, total)

    def _tasks(self) -> Iterator[BlobTask]:
        for batch in self._staging.missing():
            wanted = {item.blob: item for item in batch}
            for found in self._source.examine(list(wanted)):
                task = self._judged(wanted.pop(found.blob), found)
                if task is not None:
                    yield task
            self._unreadable += wanted

    def _judged(self, item: Missing, found: Examined) -> BlobTask | None:
        refusal = judge_content(item.path, found.content, limits=self._limits, hint=item.hint)
        if refusal is not None:
            self._rows.append(BlobRow(item.blob, item.hint, reason=refusal.reason, detail=refusal.detail))
            return None
        self._waiting[item.blob] = item.hint
        return BlobTask(item.blob, item.path, found.content, found.secrets)

    def _commit(self) -> None:
        if self._rows:
            self._store.put(self._rows, recipe=self._recipe)
            self._rows.clear()
        if self._unreadable:
            self._staging.drop_unreadable(self._unreadable)
            self._unreadable.clear()
