"""Starts the writer of a generation and listens to it."""

import selectors
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from appliance.base import proc
from appliance.codeintel.build import programs
from appliance.codeintel.build.assembly import Counts
from appliance.codeintel.build.writer import Said
from appliance.codeintel.needs import Check, Progress
from appliance.errors import ApplianceError, DiskFull, HostUnfit, StorageFault, StoreBusy, StoreCorrupt

_PROGRAM = "appliance.codeintel.build.writer"
_LISTEN_S = 0.5  # how soon a cancel is seen
_ERRORS: dict[str, type[ApplianceError]] = {kind.code: kind for kind in (DiskFull, StoreCorrupt, StoreBusy, StorageFault)}
_DECODER = msgspec.json.Decoder(Said)


def write(folder: Path, *, project_db: Path, recipe: str, progress: Progress, check: Check) -> Counts:
    """Turn what is staged in *folder* into a generation and return what it holds. Nothing is synced yet.

    When *check* raises, the process is ended at once. Raise what it reports, `HostUnfit` when it dies without a word.
    """
    child = programs.start(_PROGRAM, str(folder), str(project_db), recipe, stdout=subprocess.PIPE)
    try:
        for said in _lines(child, check):
            if said.error:
                raise _ERRORS.get(said.error, StorageFault)(said.message, remedy=said.remedy, path=str(folder))
            if said.counts is not None:
                return said.counts
            progress("index", said.done, said.total)
    finally:
        proc.end_group(child, grace=0)
    raise HostUnfit(
        f"The process that writes an index ended without a result (status {child.returncode}).",
        remedy="Its last words stand in the worker's log; a lack of memory is the usual cause.",
    )


def _lines(child: "subprocess.Popen[bytes]", check: Check) -> Iterator[Said]:
    stream = child.stdout
    if stream is None:
        raise HostUnfit("The process that writes an index has no output.")
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
