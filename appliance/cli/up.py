"""``skellig up``: looks before it leaps, starts the programs, and waits where people can see for what."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from appliance.access.tokens import OneTimeTokens
from appliance.base import durable, log, sqlite
from appliance.base.clock import SystemClock
from appliance.base.paths import DataPaths
from appliance.cli import loading, output, place, planning
from appliance.cli.config import shown
from appliance.cli.exits import sentence
from appliance.cli.flags import Flags
from appliance.cli.lines import Lines
from appliance.cli.place import Place
from appliance.cli.planning import Plan
from appliance.cli.remote import Remote, shown_address
from appliance.cli.views import Health, Part
from appliance.config import Loaded
from appliance.errors import ApplianceError, Conflict, EngineUnavailable, HostUnfit, Unavailable
from appliance.inference import hardware
from appliance.inference.catalog import Catalog
from appliance.ops import entry, launch, preflight, strays
from appliance.ops.programs import RunFiles
from appliance.ops.supervisor import ProgramState, Supervisor

_WEB_SECONDS = 90.0
_STOP_SECONDS = 30.0
_STEP_S = 0.1
_ILL = frozenset({"degraded", "failed"})
_BESIDE = frozenset({"plugins"})  # parts without which everything else serves as it should: what ails them is said
_NO_PROGRAM = {"data", "models_from", "models_at"}  # settings that no running program reads, or that it cannot differ in


@dataclass(frozen=True, slots=True)
class Started:
    """What `up` says at its end."""

    url: str
    data: str
    token: str  # "": it is in the file
    token_file: str | None
    state: str
    chat: str
    embed: str
    notes: tuple[str, ...]
    parts: list[Part]
    stumbled: list[ProgramState]


@click.command()
@click.option(
    "--foreground", is_flag=True, help="Stay, as the entry of a container does; the supervisor's log is on standard output."
)
@output.json_option
@click.pass_obj
def command(flags: Flags, *, foreground: bool, as_json: bool) -> None:
    """Start the appliance: the web process, the worker, and an engine for each model.

    Prints where it is and a token for one login. Run again while it is up, it says how it is, starts what failed, names
    the settings that have changed since, and prints a fresh token. A plugin that failed is named and is no failure
    of the start. Ctrl-C before the end stops what was started; in the
    foreground Ctrl-C and SIGTERM end everything, and the supervisor's log joins standard error with --json.
    """
    loaded = loading.load(flags)
    paths = loading.paths(loaded)
    files = RunFiles(paths)
    screen = output.screen(stderr=True)
    if _runs(files):
        if foreground:
            raise Conflict(f"The appliance on {paths.root} runs already.", remedy="Stop it with: skellig down")
        started = _again(loaded, files, screen)
    else:
        with preflight.data_directory(paths) as lock:  # handed on: at no moment could another appliance begin here
            chosen = _looked(loaded, paths)
            environment = planning.environment(chosen, environ=os.environ, flags=flags, paths=paths)
            launch.prepare(chosen.programs, files=files)
            where = _place(loaded, chosen)
            place.write(where, paths=paths)
            if foreground:
                _stay(where, chosen, files, environment=environment, lock=lock, as_json=as_json)
                return
            started = _fresh(
                where, chosen, files, screen, start=lambda: launch.start(files, environment=environment, lock=lock)
            )
    _say(started, as_json=as_json)
    _raise_for(started.parts, started.stumbled)


def _runs(files: RunFiles) -> bool:
    try:
        Supervisor(files).pid()
    except Unavailable:
        return False
    return True


def _looked(loaded: Loaded, paths: DataPaths) -> Plan:
    strays.end(strays.find(RunFiles(paths)), grace=_STOP_SECONDS)  # else their port would look taken
    preflight.listening_address(loaded.settings.web)
    catalog = Catalog.load()
    store = loading.store(loaded, catalog=catalog)
    return planning.plan(loaded.settings, paths=paths, catalog=catalog, store=store, hardware=hardware.probe())


def _place(loaded: Loaded, chosen: Plan) -> Place:
    asked = _asked_for(loaded)
    return place.of(loaded.settings.web, chat=chosen.chat, embed=chosen.embed, settings=asked, without=chosen.without)


def _fresh(where: Place, chosen: Plan, files: RunFiles, screen: Console, *, start: Callable[[], None]) -> Started:
    """Start the supervisor and wait; what this very call started is stopped again when it does not get to the end."""
    try:
        with screen.status("Starting the supervisor…") as status:
            start()
            say = status.update if screen.is_terminal else Lines(partial(click.echo, err=True)).tell
            health, stumbled = _ready(where, files, say, seconds=chosen.load_seconds)
    except BaseException:
        launch.stop(files, seconds=_STOP_SECONDS)
        place.forget(files.paths)
        raise
    return _started(where, files, health, stumbled=stumbled, notes=chosen.notes)


def _stay(where: Place, chosen: Plan, files: RunFiles, *, environment: Mapping[str, str], lock: int, as_json: bool) -> None:
    """Run the supervisor as our child until it, or we, are told to end; say where it is as soon as the web answers."""
    says = sys.stderr.fileno() if as_json else None
    try:
        with entry.supervising(files, environment=environment, lock=lock, says=says, seconds=_STOP_SECONDS) as running:
            try:
                health = _web(where, files)
                _say(_started(where, files, health, stumbled=[], notes=chosen.notes), as_json=as_json)
                health, stumbled = _rest(where, files, health, lambda _: None, seconds=chosen.load_seconds)
                _raise_for(health.parts, stumbled)
            except Unavailable as exc:  # an engine, and the rest serves on; or the supervisor, and how it ended is told next
                click.echo(sentence(exc), err=True)
            running.wait()
    finally:
        place.forget(files.paths)


def _again(loaded: Loaded, files: RunFiles, screen: Console) -> Started:
    where = place.read(files.paths)
    if where is None or shown_address(where.web) != shown_address(loaded.settings.web):
        at = shown_address(where.web) if where else "another address"
        raise Conflict(
            f"The data directory {files.paths.root} is used by the appliance at {at}.",
            remedy="Stop it with `skellig down`, or choose another directory with --data.",
        )
    catalog = Catalog.load()
    planning.require_models(loaded.settings, catalog=catalog, store=loading.store(loaded, catalog=catalog))
    supervisor = Supervisor(files)
    for program in supervisor.programs():
        if program.state in {"failed", "stopped"}:
            supervisor.start(program.name)
    with screen.status("Looking…") as status:
        health, stumbled = _ready(where, files, status.update, seconds=_WEB_SECONDS)
    notes = tuple(filter(None, (where.without, *changes(where, loaded))))
    return _started(where, files, health, stumbled=stumbled, notes=notes)


def changes(where: Place, loaded: Loaded) -> Iterator[str]:
    """Give a sentence for each setting that is not the one with which the appliance at *where* was started."""
    now = _asked_for(loaded)
    for name, value in where.settings.items():
        if now.get(name, value) != value:
            yield (
                f"{name} is {now[name]}, and what runs was started with {value}:"
                " a changed setting takes `skellig down` and `skellig up`."
            )


def _asked_for(loaded: Loaded) -> dict[str, str]:
    values = {setting.name: setting.value for setting in shown(loaded) if setting.name not in _NO_PROGRAM}
    return {name: "unset" if value is None else str(value) for name, value in values.items()}


def _ready(
    where: Place, files: RunFiles, say: Callable[[str], None], *, seconds: float
) -> tuple[Health, list[ProgramState]]:
    """Return the health once nothing is awaited any more, and the programs that ended at their start, if any did."""
    say("Waiting for web…")
    return _rest(where, files, _web(where, files), say, seconds=seconds)


def _web(where: Place, files: RunFiles) -> Health:
    """Return the health as soon as the web process tells it; raise `HostUnfit` if it does not come."""
    supervisor = Supervisor(files)
    end = time.monotonic() + _WEB_SECONDS
    while (health := _health(where, files)) is None:
        _require_web(supervisor)
        if time.monotonic() > end:
            raise HostUnfit(f"The web process did not answer within {_WEB_SECONDS:.0f} s.", remedy=_log_of(files, "web"))
        time.sleep(_STEP_S)
    return health


def _rest(
    where: Place, files: RunFiles, health: Health, say: Callable[[str], None], *, seconds: float
) -> tuple[Health, list[ProgramState]]:
    supervisor = Supervisor(files)
    end = time.monotonic() + seconds
    while True:
        stumbled = [program for program in supervisor.programs() if program.state in {"retrying", "failed"}]
        health = _health(where, files) or health
        if stumbled or not health.phase or time.monotonic() > end:
            return health, stumbled
        say(f"Waiting for {health.phase}…")
        time.sleep(_STEP_S)


def _health(where: Place, files: RunFiles) -> Health | None:
    with contextlib.suppress(ApplianceError), Remote(where.web, paths=files.paths) as remote:
        return remote.get("health", Health)
    return None


def _require_web(supervisor: Supervisor) -> None:
    web = next((program for program in supervisor.programs() if program.name == "web"), None)
    if web is not None and web.state in {"failed", "retrying", "stopped"}:
        said = supervisor.last_words("web")
        raise HostUnfit(f"The web process ended at its start: {said}", remedy=_log_of(supervisor.files, "web"))


def _log_of(files: RunFiles, program: str) -> str:
    return f"Its log is {files.log(program)}."


def _started(
    where: Place, files: RunFiles, health: Health, *, stumbled: list[ProgramState], notes: tuple[str, ...]
) -> Started:
    token = _token(files)
    if (kept := where.web.token_file) is not None:
        durable.write_file(kept, f"{token}\n".encode())
    return Started(
        url=shown_address(where.web),
        data=str(files.paths.root),
        token="" if kept else token,
        token_file=str(kept) if kept else None,
        state=health.state,
        chat=where.chat,
        embed=where.embed,
        notes=notes,
        parts=health.parts,
        stumbled=stumbled,
    )


def _token(files: RunFiles) -> str:
    with files.log("cli").open("a", encoding="utf-8") as stream:
        log.configure(level="info", json=True, stream=stream)
        tokens = OneTimeTokens(sqlite.connect(files.paths.global_db), clock=SystemClock())
        try:
            return tokens.issue()
        finally:
            tokens.close()


def _say(started: Started, *, as_json: bool) -> None:
    if as_json:
        output.print_json(started)
        return
    screen = output.screen()
    for note in started.notes:
        screen.print(note, style="dim")
    for part in started.parts:
        if part.state == "starting":
            screen.print(output.state(part.state), f"{part.name}: {part.detail}")
        elif part.name in _BESIDE and part.state in _ILL:
            screen.print(output.state(part.state), Text(f"{part.name}: {part.detail} {part.remedy}".rstrip()))
    screen.print(f"Skellig is up at [bold]{started.url}[/bold]")
    if started.token_file:
        kept = _shown(Path(started.token_file), root=Path(started.data))
        screen.print(f"Log in with the token in {escape(kept)}, once and within a day.")
    else:
        screen.print(f"Log in with this token, once and within a day: [bold]{started.token}[/bold]")


def _shown(kept: Path, *, root: Path) -> str:
    """Return where *kept* is as it is called on both sides of a container, whose data folder has another path outside."""
    return f"{kept.relative_to(root)} in the data folder" if kept.is_relative_to(root) else str(kept)


def _raise_for(parts: Sequence[Part], stumbled: Sequence[ProgramState]) -> None:
    for program in stumbled:
        raise EngineUnavailable(
            f"{program.name} ended at its start. Its last words: {program.said}",
            remedy="`skellig status` says whether a later start went better; `skellig up` tries again.",
        )
    for part in parts:
        if part.state in _ILL and part.name not in _BESIDE:
            raise EngineUnavailable(f"{part.name} is {part.state}: {part.detail}", remedy=part.remedy)
