"""``skellig status``: what is true now, also when nothing runs."""

from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from appliance.cli import loading, mission_lines, output, place
from appliance.cli.flags import Flags
from appliance.cli.missions import Approval
from appliance.cli.remote import connect, shown_address
from appliance.cli.repo_lines import listing
from appliance.cli.views import Health, Job, Part, Repo
from appliance.config import Loaded
from appliance.errors import ApplianceError, Unavailable
from appliance.inference.catalog import Catalog
from appliance.ops import strays
from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import ProgramState, Supervisor

_DOWN = 8  # as `Unavailable` has it
_NOT_UP = {"down", "orphaned", "failed"}
_JOBS = 20


@dataclass(slots=True)
class Status:
    """Everything that `status` knows. ``state`` is ``down`` when nothing runs, ``orphaned`` without a supervisor."""

    state: str
    url: str
    data: str
    note: str = ""
    without: str = ""
    phase: str = ""
    chat: str = ""
    embed: str = ""
    programs: list[ProgramState] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    repos: list[Repo] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    decisions: list[Approval] = field(default_factory=list)


@click.command()
@output.json_option
@click.pass_obj
def command(flags: Flags, *, as_json: bool) -> None:
    """Say what runs, what is indexed, and what works. The exit status is 0 while the appliance answers, else 8."""
    loaded = loading.load(flags)
    status = look(loaded)
    if as_json:
        output.print_json(status)
    else:
        _show(output.screen(), status, repos_from=loaded.settings.repos_from)
    if status.state in _NOT_UP:
        raise click.exceptions.Exit(_DOWN)


def look(loaded: Loaded) -> Status:
    """Return how things are, each part asked by itself: what does not answer does not hide the rest."""
    paths = loading.paths(loaded)
    where = place.read(paths)
    status = Status("down", shown_address(where.web if where else loaded.settings.web), str(paths.root))
    if where is not None:
        status.chat, status.embed, status.without = where.chat, where.embed, where.without
    status.models = [model.name for model in loading.store(loaded, catalog=Catalog.load()).installed()]
    try:
        status.programs = list(Supervisor(RunFiles(paths)).programs())
    except Unavailable:
        left = strays.find(RunFiles(paths))
        status.state = "orphaned" if left else "down"
        status.note = _ORPHANED if left else "Skellig is not running. Start it with: skellig up"
    else:
        _ask(loaded, status)
    return status


_ORPHANED = "The supervisor is gone and its programs are not. `skellig up` mends that, `skellig down` ends them."


def _ask(loaded: Loaded, status: Status) -> None:
    try:
        with connect(loaded) as remote:
            health = remote.get("health", Health)
            status.state, status.phase, status.parts = health.state, health.phase, health.parts
            status.repos = remote.get("repos", list[Repo])
            status.decisions = remote.get("approvals", list[Approval])
            status.jobs = [job for job in remote.get("jobs", list[Job], limit=_JOBS) if not job.ended]
    except ApplianceError as exc:
        status.state, status.note = "failed", f"The web process does not answer: {exc}"


def _show(screen: Console, status: Status, *, repos_from: Path | None) -> None:
    screen.print(Text.assemble("Skellig is ", output.state(status.state), f" at {status.url}, data in {status.data}"))
    if status.phase:
        screen.print(f"Waiting for {status.phase}.")
    if status.note:
        screen.print(Text(status.note, style="yellow"))
    if status.without:
        screen.print(Text(status.without, style="yellow"))
    if status.programs:
        screen.print(_programs(status))
    for part in status.parts:
        if part.state not in {"ok", "off"}:
            screen.print(Text.assemble(output.state(part.state), f" {part.name}: {part.detail} {part.remedy}".rstrip()))
    screen.print(Text(f"models here: {', '.join(status.models) or 'none'}", style="dim"))
    if status.state not in {"down", "orphaned"}:
        screen.print(listing(status.repos, repos_from=repos_from))
    for approval in status.decisions:
        screen.print(mission_lines.waiting(approval))
    for job in status.jobs:
        progress = f": {job.progress.phase} {job.progress.done:,}" if job.progress else ""
        screen.print(Text(f"job {job.id}: {job.kind} of {job.key}, {job.state}{progress}", style="dim"))


def _programs(status: Status) -> Table:
    table = output.table("program", "state", "for", "process", "about")
    models = {"engine-chat": status.chat, "engine-embed": status.embed}
    well = {part.name for part in status.parts if part.state == "ok"} | ({"web"} if status.parts else set())
    for program in status.programs:
        state = "running" if program.state == "starting" and program.name in well else program.state
        about = Text(program.said or models.get(program.name, ""))
        process = "" if program.pid is None else str(program.pid)
        table.add_row(program.name, output.state(state), _age(program.seconds), process, about)
    return table


def _age(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
