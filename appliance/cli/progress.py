"""Waiting for a job, with its progress on standard error: a bar, or lines in a pipe. Ctrl-C stops the job too."""

import contextlib
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from appliance.cli.lines import Lines
from appliance.cli.remote import Remote
from appliance.cli.views import Health, Job
from appliance.errors import ApplianceError, Cancelled, Unavailable

_STEP_S = 0.2
_QUEUED_S = 10.0  # a worker takes a job up within a second, unless it is busy with another or not there
_GONE_S = 30.0  # a web process that was killed is back by then


def wait(remote: Remote, job: Job, *, title: str, quiet: bool) -> Job:
    """Return *job* once it has ended, done or failed; raise `Cancelled` if somebody stopped it."""
    console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True, markup=False)
    lines = Lines(console.print)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bars:
            task = bars.add_task(title, total=None)
            queued_since = time.monotonic()
            while not job.ended:
                time.sleep(_STEP_S)
                job = _look(remote, job.id)
                _show(job, bars, task, lines, title=title)
                if job.state != "queued":
                    queued_since = time.monotonic()
                elif time.monotonic() - queued_since > _QUEUED_S:
                    require_worker(remote)
    except KeyboardInterrupt:
        with contextlib.suppress(ApplianceError):
            remote.post(f"jobs/{job.id}/cancel", Job)
        raise
    if job.state == "cancelled":
        raise Cancelled(f"The job on {title} was cancelled.")
    return job


def _show(job: Job, bars: Progress, task: TaskID, lines: Lines, *, title: str) -> None:
    phase, done, total = (
        (job.progress.phase, job.progress.done, job.progress.total) if job.progress else (job.state, 0, None)
    )
    if bars.disable and not job.ended:
        lines.tell(f"{title}: {phase}", f"{done:,} of {total:,}" if total else "")
    elif job.progress is not None:
        bars.update(task, description=f"{title}: {phase}", completed=done, total=total)


def require_worker(remote: Remote) -> None:
    """Raise `Unavailable` if nobody will take the job up: the appliance says that its worker is not well."""
    for part in remote.get("health", Health).parts:
        if part.name == "worker" and part.state in {"degraded", "failed"}:
            raise Unavailable(f"The job waits, and the worker is {part.state}: {part.detail}", remedy=part.remedy)


def _look(remote: Remote, job: str) -> Job:
    end = time.monotonic() + _GONE_S
    while True:
        try:
            return remote.get(f"jobs/{job}", Job)
        except Unavailable:
            if time.monotonic() > end:
                raise
            time.sleep(_STEP_S)
