"""A parser process: reads batches of blobs, answers with facts, ends with its input.

It sets its own limits before the first foreign byte: memory, processor time for each file, no files written.
Whatever one file does to it, the pool notes that and starts another.
"""

import gc
import os
import signal
import sys

from appliance.base.proc import ChildLimits
from appliance.codeintel.facts import BlobTask
from appliance.codeintel.parse.added import Languages
from appliance.codeintel.parse.blob import facts, facts_by_lines
from appliance.codeintel.parse.flow.blob import flow
from appliance.codeintel.parse.frames import READY, Work, decode_batch, decode_languages, encode_facts, frame, read_frame
from appliance.ids import BlobId

_NICENESS = 5
_RARELY = 200_000  # objects made before their cycles are looked for: the facts of a file are many, and have none


def main(arguments: list[str]) -> None:
    """Serve batches until the input ends; the languages come before them.

    *arguments*: bytes of memory, processor seconds for one file.
    """
    memory, seconds = int(arguments[0]), float(arguments[1])
    os.nice(_NICENESS)  # it counts within the worker's session, which this process shares
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # nothing but frames may reach the pool
    ChildLimits(memory=memory, file_size=0).apply()
    gc.set_threshold(_RARELY)
    if (told := read_frame(sys.stdin.buffer.read)) is None:
        return
    languages = decode_languages(told)
    out.write(frame(READY))
    while (body := read_frame(sys.stdin.buffer.read)) is not None:
        for work in decode_batch(body):
            # Nobody handles this signal: the kernel ends the process, also in the middle of a parse.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            answer = frame(_answer(work, languages))
            signal.setitimer(signal.ITIMER_PROF, 0)
            _write(out.fileno(), answer)


def _answer(work: Work, languages: Languages) -> bytes:
    task = BlobTask(BlobId(work.blob), os.fsdecode(work.path), work.content, work.secrets)
    if work.flow:
        return b"" if work.problem else flow(task)
    problem = work.problem
    return encode_facts(facts_by_lines(task, languages, problem=problem) if problem else facts(task, languages))


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)
