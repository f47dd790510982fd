"""A program of a build at work: it says how far it is, one JSON line at a time, and in the last one how it ended."""

import selectors
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from appliance.base import proc
from appliance.base.durable import is_full
from appliance.codeintel.build import programs
from appliance.codeintel.build.counts import Counts
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.store.graph import GraphInfo
from appliance.errors import ApplianceError, DiskFull, HostUnfit, StorageFault, StoreBusy, StoreCorrupt

_LISTEN_S: Final = 0.5  # how soon a cancel is seen
_ERRORS: dict[str, type[ApplianceError]] = {kind.code: kind for kind in (DiskFull, StoreCorrupt, StoreBusy, StorageFault)}


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of what a program says: how far it is, or how it ended."""

    done: int = 0
    total: int = 0
    counts: Counts | None = None
    graph: GraphInfo | None = None
    error: str = ""
    message: str = ""
    remedy: str = ""


_DECODER: Final = msgspec.json.Decoder(Said)


def run(
    module: str,
    *arguments: str,
    folder: Path,
    phase: str,
    progress: Progress,
    check: Check,
    beside: Callable[[], object] | None = None,
) -> Said:
    """Run *module*, which works in *folder*, to its end and return the last that it says.

    *beside*, if given, is done meanwhile. *progress* hears of *phase*. When *check* or *beside* raises, the process is ended
    at once. Raise what it reports, `HostUnfit` when it dies without a word.
    """
    child = programs.start(module, str(folder), *arguments, stdout=subprocess.PIPE)
    try:
        if beside is not None:
            beside()
        for said in _lines(child, check):
            if said.error:
                raise _ERRORS.get(said.error, StorageFault)(said.message, remedy=said.remedy, path=str(folder))
            if said.counts is not None or said.graph is not None:
                return said
            progress(phase, said.done, said.total)
    finally:
        proc.end_group(child, grace=0)
    raise HostUnfit(
        f"A process of the index ended without a result (status {child.returncode}).",
        remedy="Its last words stand in the worker's log; a lack of memory is the usual cause.",
    )


def serve(folder: Path, work: Callable[[Callable[[int, int], None]], Said]) -> int:
    """Be such a program: do *work* in *folder*, which is handed what tells of files done and in all; return the status."""
    programs.end_with_parent()
    try:
        _say(work(lambda done, total: _say(Said(done=done, total=total))))
    except ApplianceError as exc:
        _say(Said(error=exc.code, message=exc.message, remedy=exc.remedy))
        return 1
    except BrokenPipeError:  # nobody listens any more
        return 1
    except Exception as exc:  # the outermost loop of this process: libraries report a full disk each in their own way
        if not is_full(folder):
            raise
        _say(
            Said(error=DiskFull.code, message=f"No space is left for {folder}: {exc}.", remedy="Free space, then try again.")
        )
        return 1
    return 0


def _lines(child: "subprocess.Popen[bytes]", check: Check) -> Iterator[Said]:
    stream = child.stdout
    if stream is None:
        raise HostUnfit("A process of the index has no output.")
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            check()
            if not selector.select(_LISTEN_S):
                continue
            data = stream.read1(65536)  # type: ignore[attr-defined]  # a BufferedReader, which Popen's type does not say
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            yield from map(_DECODER.decode, lines)


def _say(said: Said) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(said) + b"\n")
    sys.stdout.buffer.flush()
