"""``skellig mission``: goals that agents work on, every step on record."""

import contextlib
from collections.abc import Iterator
from urllib.parse import quote

import click
import msgspec

from appliance.cli import loading, mission_lines, output
from appliance.cli.ask import Paper
from appliance.cli.flags import Flags
from appliance.cli.mission_watch import Watch
from appliance.cli.missions import Approval, Entry, Mission, MissionPage, Replay, Verification
from appliance.cli.remote import Remote, connect
from appliance.errors import ApplianceError, Cancelled, DigestMismatch, InvalidInput, Unavailable

_PAGE = 500


@click.group()
def command() -> None:
    """Have a goal worked on by agents, step by step on record, and watch, stop and check that."""


@command.command()
@click.argument("goal", nargs=-1, required=True)
@click.option("--repo", multiple=True, help="A repository of the project; may be repeated. Without, all of it.")
@click.option("--project", default="default", show_default=True, help="The project that it is about.")
@click.option("--branch", multiple=True, help="A pattern of indexed branches; may be repeated. Without, each one's own.")
@click.option("--wait/--no-wait", "waits", default=True, help="--no-wait: leave it to the worker, and print its id.")
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Seconds at work, then it pauses.")
@click.option("--max-tokens", type=click.IntRange(1), help="Tokens of prompts and completions.")
@click.option("--max-calls", "max_tool_calls", type=click.IntRange(1), help="Calls of tools.")
@click.option("--max-model-calls", type=click.IntRange(1), help="Completions.")
@output.json_option
@click.pass_obj
def run(
    flags: Flags,
    /,
    *,
    goal: tuple[str, ...],
    repo: tuple[str, ...],
    project: str,
    branch: tuple[str, ...],
    waits: bool,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Have GOAL worked on, and print the answer: the lines that bear on it, each checked, and the model's reading of them.

    The steps are told on standard error as they happen. Ctrl-C cancels the mission; --no-wait leaves it running, and
    `skellig mission watch` takes up where it is. Where a limit is reached, what was found so far is the answer.
    """
    body = {
        "goal": " ".join(goal),
        "project": project,
        "repos": repo,
        "branches": branch,
        **{name: most for name, most in limits.items() if most is not None},
    }
    with _remote(flags) as remote:
        mission = remote.post("missions", Mission, body)
        if not waits:
            _print_asked(remote, mission, as_json=as_json)
            return
        with cancelling(remote, mission.id):
            stopped = _watched(remote, mission.id, as_json=as_json)
    _end(stopped)


@command.command("list")
@click.option("--project", help="Only those of this project.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="How many.")
@click.option("--offset", type=click.IntRange(0, 1_000_000), default=0, help="Missions to skip.")
@output.json_option
@click.pass_obj
def list_missions(flags: Flags, *, project: str | None, limit: int, offset: int, as_json: bool) -> None:
    """List the missions, the newest first."""
    with _remote(flags) as remote:
        body = remote.raw("GET", "missions", query={"project": project, "limit": limit, "offset": offset})
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    page = msgspec.json.decode(body, type=MissionPage)
    screen = output.screen()
    if not page.items:
        screen.print(
            'No mission yet. Ask for one: skellig mission run "…" --repo NAME' if not offset else "No more missions."
        )
        return
    screen.print(mission_lines.listing(page.items))
    if page.next_offset is not None:
        screen.print(f"More: --offset {page.next_offset}")


@command.command()
@click.argument("mission")
@click.option("--steps", is_flag=True, help="Its steps too.")
@output.json_option
@click.pass_obj
def show(flags: Flags, *, mission: str, steps: bool, as_json: bool) -> None:
    """Show MISSION: how it stands, what it used, and its answer."""
    with _remote(flags) as remote:
        body = remote.raw("GET", _at(mission))
        if as_json:
            click.echo(msgspec.json.format(body, indent=2))
            return
        found = msgspec.json.decode(body, type=Mission)
        screen = output.screen()
        mission_lines.head(screen, found)
        if steps:
            _print_steps(remote, found)
        for approval in remote.get("approvals", list[Approval], run=found.id):
            screen.print(mission_lines.waiting(approval))
        _print_answer(found)


@command.command()
@click.argument("mission")
@output.json_option
@click.pass_obj
def watch(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Tell of the steps of MISSION from the first on, then its answer. Ctrl-C stops watching, and the mission goes on."""
    with _remote(flags) as remote:
        found = remote.get(_at(mission), Mission)
        try:
            stopped = _watched(remote, found.id, as_json=as_json)
        except (KeyboardInterrupt, click.exceptions.Abort):
            click.echo(f"The mission goes on: skellig mission watch {found.id}", err=True)
            raise
    _end(stopped)


@command.command()
@click.argument("mission")
@output.json_option
@click.pass_obj
def cancel(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Stop MISSION, at whatever it is. What it has done stays on record."""
    with _remote(flags) as remote:
        _print_state(remote.raw("POST", f"{_at(mission)}/cancel"), as_json=as_json)


@command.command()
@click.argument("mission")
@click.option("--say", default="", help="What it is told before it goes on.")
@click.option("--wait/--no-wait", "waits", default=False, help="Tell of its steps, and print its answer.")
@output.json_option
@click.pass_obj
def resume(flags: Flags, *, mission: str, say: str, waits: bool, as_json: bool) -> None:
    """Let MISSION, which is paused, go on where it stopped."""
    with _remote(flags) as remote:
        body = remote.raw("POST", f"{_at(mission)}/resume", body={"instruction": say})
        if not waits:
            _print_state(body, as_json=as_json)
            return
        stopped = _watched(remote, msgspec.json.decode(body, type=Mission).id, as_json=as_json)
    _end(stopped)


@command.command()
@click.argument("mission")
@output.json_option
@click.pass_obj
def verify(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Check that the record of MISSION is as it was written. The exit status is 7 if an entry was changed."""
    with _remote(flags) as remote:
        body = remote.raw("POST", f"{_at(mission)}/verify")
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
    found = msgspec.json.decode(body, type=Verification)
    if not found.whole:
        where = f"entry {found.broken_at}" if found.broken_at is not None else "its end"
        raise DigestMismatch(f"The record of {mission} is not as it was written, from {where} on: {found.reason}")
    if not as_json:
        output.screen().print(f"The record of {mission} is whole: {found.entries:,} entries, head {found.head}")
        if found.uncovered:
            output.screen().print(f"No entry holds, so that it was not checked: {', '.join(found.uncovered)}")


@command.command("rm")
@click.argument("mission")
@output.json_option
@click.pass_obj
def remove(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Delete MISSION, which must have ended, with all of its record. It cannot be brought back."""
    with _remote(flags) as remote:
        remote.delete(_at(mission))
    if as_json:
        output.print_json({"id": mission, "removed": True})
    else:
        click.echo(f"{mission} and its record are deleted.")


@command.command()
@click.argument("mission")
@output.json_option
@click.pass_obj
def replay(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Run MISSION again from its record alone, without model, index or tool. The exit status is 7 if it is not the same."""
    with _remote(flags) as remote:
        body = remote.raw("POST", f"{_at(mission)}/replay", patient=True)
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
    found = msgspec.json.decode(body, type=Replay)
    if not found.same:
        where = f"entry {found.differs_at}" if found.differs_at is not None else "its end"
        raise DigestMismatch(f"{mission} is not the same when it is run again, from {where} on: {found.reason}")
    if not as_json:
        output.screen().print(f"{mission} is the same, byte for byte: {found.entries:,} entries, head {found.head}")


@command.command()
@click.argument("mission")
@click.option("--json", "as_json", is_flag=True, help="One list instead of lines, indented.")
@click.pass_obj
def record(flags: Flags, *, mission: str, as_json: bool) -> None:
    """Print the record of MISSION as it is stored: a line of JSON for each entry, for whoever checks it elsewhere."""
    with _remote(flags) as remote:
        lines = remote.raw("GET", f"{_at(mission)}/record", patient=True)
    whole = b"[" + b",".join(lines.splitlines()) + b"]"
    click.echo(msgspec.json.format(whole, indent=2) if as_json else lines, nl=as_json)


@command.command()
@click.argument("approval")
@click.option("--note", default="", help="Why; it stands on record.")
@output.json_option
@click.pass_obj
def approve(flags: Flags, *, approval: str, note: str, as_json: bool) -> None:
    """Say yes to APPROVAL, or to what the mission of that id asks: exactly that call is made, once."""
    _decide(flags, approval, "approved", note=note, as_json=as_json)


@command.command()
@click.argument("approval")
@click.option("--note", default="", help="Why; it stands on record.")
@output.json_option
@click.pass_obj
def reject(flags: Flags, *, approval: str, note: str, as_json: bool) -> None:
    """Say no to APPROVAL, or to what the mission of that id asks: it goes on without."""
    _decide(flags, approval, "rejected", note=note, as_json=as_json)


def _decide(flags: Flags, which: str, decision: str, *, note: str, as_json: bool) -> None:
    with _remote(flags) as remote:
        if which.startswith("mission_"):
            pending = remote.get("approvals", list[Approval], run=which)
            if len(pending) != 1:
                names = ", ".join(each.id for each in pending)
                raise InvalidInput(
                    f"{which} asks for {len(pending)} decisions{f': {names}' if names else ''}.",
                    remedy="Name the one that is meant." if names else "`skellig mission show` says how it stands.",
                )
            which = pending[0].id
        body = remote.raw("POST", f"approvals/{quote(which, safe='')}", body={"decision": decision, "note": note})
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    decided = msgspec.json.decode(body, type=Approval)
    output.screen().print(f"{decided.state}: {mission_lines.question(decided)}", markup=False)


def _watched(remote: Remote, mission: str, *, as_json: bool) -> Mission:
    """Return *mission* once it has ended or paused, with its answer printed."""
    stopped = Watch(remote, mission, quiet=as_json).until_it_stops()
    if as_json:
        click.echo(msgspec.json.format(remote.raw("GET", _at(mission)), indent=2))
    else:
        _print_answer(stopped)
    return stopped


def _end(mission: Mission) -> None:
    """Return if *mission* is done; else raise what scripts can tell apart."""
    if mission.state == "failed":
        raise ApplianceError(
            f"The mission failed: {mission.reason}", remedy=f"`skellig mission show {mission.id} --steps` says how."
        )
    if mission.state == "cancelled":
        raise Cancelled("The mission was cancelled.")
    if mission.state == "paused":
        remedy = f'`skellig mission resume {mission.id} --say "…"` has it go on.'
        raise Unavailable(f"The mission is paused: {mission.reason}", remedy=remedy)


@contextlib.contextmanager
def cancelling(remote: Remote, mission: str) -> Iterator[None]:
    """Cancel *mission* where Ctrl-C ends the block, and say so."""
    try:
        yield
    except (KeyboardInterrupt, click.exceptions.Abort):
        with contextlib.suppress(ApplianceError):
            remote.raw("POST", f"{_at(mission)}/cancel")
            click.echo(f"The mission is cancelled; what it did stays on record: skellig mission show {mission}", err=True)
        raise


def _print_asked(remote: Remote, mission: Mission, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(remote.raw("GET", _at(mission.id)), indent=2))
        return
    click.echo(mission.id)
    click.echo(f"It is worked on. Watch it: skellig mission watch {mission.id}", err=True)


def _print_state(body: bytes, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
    else:
        mission_lines.head(output.screen(), msgspec.json.decode(body, type=Mission))


def _print_steps(remote: Remote, mission: Mission) -> None:
    with remote.follow(f"{_at(mission.id)}/events", after=0) as events:
        begun_at = 0.0
        for event in events:
            if event.name != "entry":
                return
            entry = msgspec.json.decode(event.data, type=Entry)
            begun_at = begun_at or entry.at
            output.screen().print(mission_lines.step(entry, begun_at=begun_at))
            if entry.seq >= mission.entries:
                return


def _print_answer(mission: Mission) -> None:
    if mission.answer is not None:
        Paper(output.screen(), output.screen(stderr=True)).whole(mission.answer)


def _at(mission: str) -> str:
    return f"missions/{quote(mission, safe='')}"


@contextlib.contextmanager
def _remote(flags: Flags) -> Iterator[Remote]:
    with connect(loading.load(flags)) as remote:
        yield remote
