"""Parser processes: threads would share one interpreter, and a hostile file may cost a process but never the worker."""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from appliance.base import proc
from appliance.codeintel.facts import BlobFacts, BlobTask, Packed, pack_facts
from appliance.codeintel.parse.added import BUILT_IN, Languages
from appliance.codeintel.parse.frames import LENGTH, READY, Work, decode_packed, encode_batch, encode_languages
from appliance.codeintel.parse.grammars import WHEELS
from appliance.codeintel.parse.sparing import Sparing
from appliance.config import Index
from appliance.errors import HostUnfit
from appliance.ids import BlobId

_ROOT = Path(__file__).parents[3]
_START_SECONDS = 60.0
_SILENT_SECONDS = 60.0  # how long a child may say nothing beside
_PATIENCE = 10  # times the processor seconds that it may take: others may have the cores, and go before it
_BATCH_BYTES = 200_000
_BATCH_TASKS = 100
_PIPE: Final = 1 << 20
_AHEAD: Final = 800_000  # bytes of contents that fit a pipe with all that goes with them

_Answer = tuple[Work, bytes | None]  # None: nobody could say anything


class ParserPool:
    """Up to *workers* parser processes, which know *languages*, started when there is work for them. Used by one thread."""

    def __init__(
        self, workers: int, limits: Index, *, languages: Languages = BUILT_IN, interpreter: str = sys.executable
    ) -> None:
        missing = sorted({module for module, _ in WHEELS.values() if find_spec(module) is None})
        if missing:
            raise HostUnfit(f"Grammars are not installed: {', '.join(missing)}.", remedy="Install Skellig again.")
        self._limits = limits
        self._languages = languages
        self._idle = [_Child(limits, languages, interpreter) for _ in range(workers)]
        self._all = tuple(self._idle)

    def map(self, tasks: Iterable[BlobTask]) -> Iterator[tuple[BlobId, Packed]]:
        """Yield the packed facts of each of *tasks*, in no promised order, reading *tasks* only as far as there is room.

        A child that dies or overruns costs only the file that it was at: that one is tried once more unless it took too
        long, then its facts come by lines, with ``problem`` "parse-crash" or "parse-timeout". So the worst of files costs
        the processor seconds of the limits twice, and the start of two processes. A language that a plugin added is given up
        where its grammar ends too many: see `Sparing`.
        """
        with contextlib.closing(self._answers(Work.of(task, flow=False) for task in tasks)) as answers:
            for work, answer in answers:
                yield BlobId(work.blob), _nothing(work) if answer is None else decode_packed(answer)

    def flows(self, tasks: Iterable[BlobTask]) -> Iterator[tuple[BlobId, bytes]]:
        """Yield the packed flow of each of *tasks* as `map` does facts; nothing for one that a child died of."""
        with contextlib.closing(self._answers(Work.of(task, flow=True) for task in tasks)) as answers:
            for work, answer in answers:
                yield BlobId(work.blob), answer or b""

    def _answers(self, work: Iterable[Work]) -> Generator[_Answer, None, None]:
        source = iter(work)
        again: deque[Work] = deque()  # what a child did not get to, or could not take yet
        sparing = Sparing(self._languages)
        busy: dict[int, _Child] = {}
        try:
            while True:
                while self._idle and (batch := _batch(source, again, sparing)):
                    child = self._idle.pop()
                    child.send(batch)
                    busy[child.output] = child
                if not busy:
                    return
                for child in _readable(busy):
                    output = child.output
                    results, unfinished = child.collect()
                    sparing.note(unfinished[:1])
                    again += unfinished
                    if not child.busy:
                        del busy[output]
                        self._idle.append(child)
                        if batch := _batch(source, again, sparing):
                            self._idle.remove(child)
                            child.send(batch)
                            busy[child.output] = child
                    elif child.is_at_its_last and (batch := _batch(source, again, sparing)):
                        if _size(batch) <= _AHEAD:
                            child.send(batch)  # it waits in the pipe: a child need not wait for who takes the answers
                        else:
                            again.extendleft(reversed(batch))
                    yield from results
        finally:
            for child in busy.values():  # somebody stopped listening: what is half done is of no use
                child.end()
                self._idle.append(child)

    def close(self) -> None:
        """End the processes."""
        for child in self._all:
            child.end()


def _nothing(work: Work) -> Packed:
    return pack_facts(BlobFacts(language="text", encoding="utf-8", lines=0, problem="parse-crash", secrets=work.secrets))


def _batch(source: Iterator[Work], again: deque[Work], sparing: Sparing) -> list[Work]:
    batch: list[Work] = []
    size = 0
    while size < _BATCH_BYTES and len(batch) < _BATCH_TASKS:
        if again:
            work = again.popleft()
        elif (following := next(source, None)) is not None:
            work = following
        else:
            break
        batch.append(sparing.spared(work))
        size += len(work.content)
    return batch


def _size(batch: Sequence[Work]) -> int:
    return sum(len(work.content) for work in batch)


def _readable(busy: "dict[int, _Child]") -> "list[_Child]":
    """Wait until children have spoken, died or been silent for too long, and return them."""
    left = max(0.0, min(child.deadline for child in busy.values()) - time.monotonic())
    ready, _, _ = select.select(list(busy), [], [], left)
    now = time.monotonic()
    return [child for output, child in busy.items() if output in ready or child.deadline <= now]


class _Child:
    """One process, the batch that it is at and the one that waits for it."""

    def __init__(self, limits: Index, languages: Languages, interpreter: str) -> None:
        self._limits = limits
        self._languages = languages
        self._interpreter = interpreter
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._at: deque[Work] = deque()
        self._last = 0  # works of the batch that it was given last
        self.output = -1
        self.deadline = 0.0

    @property
    def busy(self) -> bool:
        """Whether answers are still to come."""
        return bool(self._at)

    @property
    def is_at_its_last(self) -> bool:
        """Whether it has read all that it was given, and has something of that left to do."""
        return 0 < len(self._at) < self._last

    def send(self, batch: list[Work]) -> None:
        """Give the child *batch*; it is started if it does not run. What it does not take it counts as unfinished."""
        self._at.extend(batch)
        self._last = len(batch)
        process = self._process or self._start()
        self._extend()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died: `collect` sees that
                process.stdin.write(encode_batch(batch))
                process.stdin.flush()

    def collect(self) -> tuple[list[_Answer], list[Work]]:
        """Take what the child has said: results, and after its end the work that somebody must do again."""
        data = self._read()
        self._buffer += data
        results = list(self._results())
        if data and self._at:
            if results:
                self._extend()
            return results, []
        if not self._at:
            return results, []
        problem = self._bury()
        first, *rest = self._at
        self._at.clear()
        if first.problem and first.deaths > 2:  # not even by lines
            return [*results, (first, None)], rest
        return results, [first.after_death(first.problem or problem), *rest]

    def end(self) -> None:
        """End the process, if it runs, and forget what it was at."""
        if self._process is not None:
            proc.end_group(self._process, grace=0)
        self._process = None
        self._at.clear()
        self._buffer.clear()
        self.output = -1

    def _start(self) -> "subprocess.Popen[bytes]":
        limits = (str(self._limits.worker_memory), str(self._limits.parse_seconds))
        process = proc.spawn(
            (self._interpreter, "-s", "-P", "-m", "appliance.codeintel.parse.child", *limits),
            env={"PYTHONPATH": str(_ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            apart=False,
        )
        self._process = process
        self.output = process.stdout.fileno() if process.stdout else -1
        for pipe in filter(None, (process.stdin, process.stdout)):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died: the wait sees that
                process.stdin.write(encode_languages(self._languages))
                process.stdin.flush()
        self._await_ready()
        return process

    def _await_ready(self) -> None:
        expected = LENGTH.size + len(READY)
        end = time.monotonic() + _START_SECONDS
        while len(self._buffer) < expected:
            ready, _, _ = select.select([self.output], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self.output, _PIPE) if ready else b""
            if not data:
                self.end()
                raise HostUnfit(
                    "A parser process does not start.", remedy="Run `skellig doctor`; it needs memory and processes."
                )
            self._buffer += data
        del self._buffer[:expected]

    def _extend(self) -> None:
        self.deadline = time.monotonic() + _SILENT_SECONDS + self._limits.parse_seconds * _PATIENCE

    def _read(self) -> bytes:
        if time.monotonic() < self.deadline or select.select([self.output], [], [], 0)[0]:
            return os.read(self.output, _PIPE)
        return b""

    def _results(self) -> Iterator[_Answer]:
        while len(self._buffer) >= LENGTH.size and self._at:
            (size,) = LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < LENGTH.size + size:
                return
            body = bytes(self._buffer[LENGTH.size : LENGTH.size + size])
            del self._buffer[: LENGTH.size + size]
            yield self._at.popleft(), body

    def _bury(self) -> str:
        """End a process that died or overran and return the problem that this is for the file it was at."""
        process, overran = self._process, time.monotonic() >= self.deadline
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0 if overran else 10)  # its pipe is closed: it is about to be gone
            overran = overran or process.returncode == -signal.SIGPROF
            proc.end_group(process, grace=0)
        self._process = None
        self._buffer.clear()
        self.output = -1
        return "parse-timeout" if overran else "parse-crash"
