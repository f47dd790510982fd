"""``skellig repo``: which repositories are indexed, and how that goes."""

import contextlib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import click
import msgspec
from rich.text import Text

from appliance.base.paths import display
from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.progress import wait
from appliance.cli.remote import Remote, Value, connect, error_of
from appliance.cli.repo_lines import listing, standing, summary
from appliance.cli.repo_settings import kept, settings_of
from appliance.cli.views import Job, LeftOut, LeftOutPage, Repo, SecretsPage, Wanted
from appliance.codeintel.source.address import address_of
from appliance.codeintel.source.base import Reason
from appliance.errors import Conflict, InvalidInput, NotFound

_PAGE = 100
_NAMED = 200  # files left out that are named at the end of a wait; `skellig repo left-out` names every one
_DEFAULT = "default"


@click.group()
def command() -> None:
    """Add, list, show, refresh and remove repositories."""


@command.command()
@click.argument("path")
@click.option("--name", help="What to call it; default: the folder's name.")
@click.option("--project", default=_DEFAULT, show_default=True, help="The project that it belongs to.")
@click.option("--branch", help="The branch to index; default: what HEAD names.")
@kept
@click.option("--check/--no-check", "checks", default=True, help="--no-check: keep it even if it cannot be read now.")
@click.option(
    "--wait/--no-wait",
    "waits",
    default=False,
    help="Wait until it is indexed and its calls are followed, and name what was left out.",
)
@click.option("--vectors", "embeds", is_flag=True, help="Wait for its vectors too.")
@output.json_option
@click.pass_obj
def add(  # noqa: PLR0913 - one parameter an option
    flags: Flags,
    /,
    *,
    path: str,
    name: str | None,
    project: str,
    branch: str | None,
    checks: bool,
    waits: bool,
    embeds: bool,
    as_json: bool,
    **given: Value,
) -> None:
    """Add the repository or folder at PATH and index it. One that is there already is refreshed; a new project is made.

    PATH may also be a bundle file, or an address: ssh://user@host/path, user@host:path, https://host/path.
    """
    if name == "" or not path.strip():
        raise InvalidInput("The path or the name is empty.", remedy="Give the folder; the name is optional.")
    with _remote(flags) as remote:
        new: dict[str, object] = {"path": _whole(path), "project": project}
        new |= {key: value for key, value in (("name", name), ("branch", branch)) if value}
        new |= ({"settings": settings} if (settings := settings_of(given)) else {}) | ({} if checks else {"check": False})
        repo = _added(remote, new)
        waits = waits or embeds
        if waits:
            repo = _waited(remote, repo, embeds=embeds, quiet=as_json)
        if as_json:
            click.echo(msgspec.json.format(remote.raw("GET", f"repos/{repo.id}"), indent=2))
            return
        output.screen().print(summary(repo))
        if waits:
            _print_left_out(remote, repo)


def _waited(remote: Remote, repo: Repo, *, embeds: bool, quiet: bool) -> Repo:
    """Return *repo* as it is once it is indexed, its calls are followed and, if *embeds*, its vectors are there."""
    if repo.job is not None:
        repo = _indexed(remote, wait(remote, repo.job, title=repo.name, quiet=quiet))
        _wait_behind(remote, repo, "graph", title=f"{repo.name}, calls", quiet=quiet)
    if embeds:
        _wait_behind(remote, repo, "embed", title=f"{repo.name}, vectors", quiet=quiet)
    return remote.get(f"repos/{repo.id}", Repo)


@command.command("list")
@click.option("--project", help="Only those of this project.")
@output.json_option
@click.pass_obj
def list_repos(flags: Flags, *, project: str | None, as_json: bool) -> None:
    """List the repositories, what is indexed of each, and what works on it."""
    loaded = loading.load(flags)
    with connect(loaded) as remote:
        body = remote.raw("GET", "repos", query={"project": project})
        known = loaded.settings.repositories or loaded.settings.repos_from
        wanted = remote.get("wanted", list[Wanted]) if known and not as_json else []
    if as_json:
        click.echo(msgspec.json.format(body, indent=2))
        return
    screen = output.screen()
    screen.print(listing(msgspec.json.decode(body, type=list[Repo]), repos_from=loaded.settings.repos_from))
    for each in wanted:
        if each.outcome != "kept":
            screen.print(Text(f"{each.origin}, not kept: {each.path}: {each.reason} {each.remedy}".rstrip(), style="red"))


@command.command()
@click.argument("repo")
@output.json_option
@click.pass_obj
def show(flags: Flags, *, repo: str, as_json: bool) -> None:
    """Show REPO (its name or id): what is indexed, what was left out, what went wrong."""
    with _remote(flags) as remote:
        body, found = _asked(remote, repo)
        if as_json:
            click.echo(msgspec.json.format(body, indent=2))
            return
        screen = output.screen()
        screen.print(summary(found))
        screen.print(Text(f"  project    {found.project_name}"))
        screen.print(Text(f"  source     {found.path}"))
        for line in standing(found):
            screen.print(Text(f"  {line}"))
        if found.index is not None:
            languages = output.joined(list(found.index.languages.items()))
            screen.print(Text(f"  languages  {languages}"))
            screen.print(Text(f"  left out   {output.joined(list(found.index.left_out.items())) or 'nothing'}"))
            if found.index.problems:
                unread = output.counted(found.index.problems, "file")
                screen.print(Text(f"  syntax     of {unread} could not be used: only their text is indexed"))
            if found.index.torn:
                torn = output.counted(found.index.torn, "file")
                screen.print(Text(f"  torn       {torn} with places that are no syntax: what those define may be missing"))
            if found.index.secrets:
                screen.print(Text(f"  secrets    {found.index.secrets:,} found: skellig repo secrets {found.name}"))


@command.command()
@click.argument("repo")
@click.option("--wait/--no-wait", "waits", default=False, help="Wait until it is indexed.")
@output.json_option
@click.pass_obj
def refresh(flags: Flags, *, repo: str, waits: bool, as_json: bool) -> None:
    """Index the newest state of REPO; what did not change is not parsed again."""
    with _remote(flags) as remote:
        _, found = _asked(remote, repo)
        job = remote.post(f"repos/{found.id}/refresh", Job)
        if waits:
            job = wait(remote, job, title=found.name, quiet=as_json)
            _indexed(remote, job)
        if as_json:
            output.print_json(job)
            return
        output.screen().print(summary(remote.get(f"repos/{found.id}", Repo)))


@command.command("set")
@click.argument("repo")
@click.option("--branch", help='Its own branch; "" for what HEAD names.')
@kept
@output.json_option
@click.pass_obj
def change(flags: Flags, /, *, repo: str, branch: str | None, as_json: bool, **given: Value) -> None:
    """Change how REPO is kept, and index it so; what is not named stays, and what did not change is not parsed again."""
    body = {"settings": settings_of(given)} | ({} if branch is None else {"branch": branch})
    if body == {"settings": {}}:
        raise InvalidInput("Nothing is to change.", remedy="`skellig repo set --help` names what can.")
    with _remote(flags) as remote:
        _, found = _asked(remote, repo)
        changed = remote.patch(f"repos/{found.id}", Repo, body)
        if as_json:
            click.echo(msgspec.json.format(remote.raw("GET", f"repos/{found.id}"), indent=2))
            return
        output.screen().print(summary(changed))


@command.command()
@click.argument("repo")
@output.json_option
@click.pass_obj
def remove(flags: Flags, *, repo: str, as_json: bool) -> None:
    """Forget REPO and its index. The repository itself is not touched."""
    with _remote(flags) as remote:
        _, found = _asked(remote, repo)
        remote.delete(f"repos/{found.id}")
    if as_json:
        output.print_json({"id": found.id, "name": found.name, "removed": True})
    else:
        click.echo(f"{found.name} is removed; {found.path} was not touched.")


@command.command("left-out")
@click.argument("repo")
@click.option("--reason", type=click.Choice(get_args(Reason)), metavar="REASON", help="Only those left out for this reason.")
@output.json_option
@click.pass_obj
def left_out(flags: Flags, *, repo: str, reason: str | None, as_json: bool) -> None:
    """List every file of REPO that the index does not hold, and why."""
    with _remote(flags) as remote:
        _, found = _asked(remote, repo)
        items = list(_left_out(remote, found.id, reason=reason))
    if as_json:
        output.print_json(items)
        return
    table = output.table("file", "reason", "detail")
    for item in items:
        table.add_row(Text(item.path), item.reason, Text(item.detail))
    output.screen().print(table if items else "Nothing was left out.")


@command.command("secrets")
@click.argument("repo")
@output.json_option
@click.pass_obj
def secrets(flags: Flags, *, repo: str, as_json: bool) -> None:
    """List where keys, tokens and passwords were found in the files of REPO; never what they are."""
    with _remote(flags) as remote:
        _, found = _asked(remote, repo)
        pages = list(_secrets(remote, found.id))
    items = [item for page in pages for item in page.items]
    if as_json:
        output.print_json(items)
        return
    table = output.table("file", "line", "kind")
    for item in items:
        table.add_row(Text(item.path), f"{item.line:,}", item.kind)
    screen = output.screen()
    screen.print(table if items else "No secret was found.")
    if items and not pages[0].masked:
        screen.print(Text("They are not masked: index.mask_secrets is off.", style="yellow"))


def _whole(path: str) -> str:
    """Return the address *path*, or the path with what stands before it."""
    address = address_of(path)
    return str(address.absolute() if isinstance(address, Path) else address)


def _added(remote: Remote, new: Mapping[str, object]) -> Repo:
    project, path, branch = str(new["project"]), str(new["path"]), new.get("branch")
    if project != _DEFAULT:
        with contextlib.suppress(Conflict):  # it exists
            remote.raw("POST", "projects", body={"name": project})
    try:
        return remote.post("repos", Repo, new)
    except Conflict:
        name = new.get("name") or Path(path).name
        known = next((each for each in remote.get("repos", list[Repo], project=project) if each.name == name), None)
        if known is None or known.path != path or (branch is not None and known.branch != branch):
            raise
        if "settings" in new:
            return remote.patch(f"repos/{known.id}", Repo, {"settings": new["settings"]})
        known.job = remote.post(f"repos/{known.id}/refresh", Job)
        return known


def _wait_behind(remote: Remote, repo: Repo, kind: str, *, title: str, quiet: bool) -> None:
    """Wait for the newest job of *kind* on *repo*, which comes behind its index, if there is one at work."""
    for job in msgspec.json.decode(
        remote.raw("GET", "jobs", query={"kind": kind, "key": repo.id, "limit": 1}), type=list[Job]
    ):
        if not job.ended:
            wait(remote, job, title=title, quiet=quiet)


def _indexed(remote: Remote, job: Job) -> Repo:
    """Return the repo that *job* was about; raise what kept it from being indexed."""
    repo = remote.get(f"repos/{job.key}", Repo)
    if job.state == "failed":
        raise error_of(repo.error, repo.message or job.reason, remedy=repo.remedy)
    return repo


def _print_left_out(remote: Remote, repo: Repo) -> None:
    if repo.index is None:
        return
    screen, room = output.screen(), _NAMED
    for reason, count in sorted(repo.index.left_out.items()):
        found = [item.path for item in islice(_left_out(remote, repo.id, reason=reason), room)]
        room -= len(found)
        named = f": {', '.join(found)}" if found else ""
        more = f" … and {count - len(found):,} more: skellig repo left-out {repo.name}" if count > len(found) else ""
        screen.print(Text(f"  left out, {reason} ({count:,}){named}{more}", style="dim"))


def _left_out(remote: Remote, repo: str, *, reason: str | None) -> Iterator[LeftOut]:
    offset: int | None = 0
    while offset is not None:
        query: dict[str, Value] = {"reason": reason, "limit": _PAGE, "offset": offset}
        page = remote.get(f"repos/{repo}/left-out", LeftOutPage, **query)
        yield from page.items
        offset = page.next_offset


def _secrets(remote: Remote, repo: str) -> Iterator[SecretsPage]:
    offset: int | None = 0
    while offset is not None:
        page = remote.get(f"repos/{repo}/secrets", SecretsPage, limit=_PAGE, offset=offset)
        yield page
        offset = page.next_offset


def _asked(remote: Remote, which: str) -> tuple[bytes, Repo]:
    """Return the very repo that *which* names, also as it came; raise `NotFound`."""
    missing = NotFound(f"There is no repository {display(which)!r}.", remedy="`skellig repo list` names them.")
    if which in {"", ".", ".."}:  # a path would lose them
        raise missing
    body = remote.raw("GET", f"repos/{quote(which, safe='', errors='surrogateescape')}")
    try:
        found = msgspec.json.decode(body, type=Repo)
    except msgspec.DecodeError as exc:  # the name has led to another address
        raise missing from exc
    if which not in {found.id, found.name}:
        raise missing
    return body, found


def _remote(flags: Flags) -> Remote:
    return connect(loading.load(flags))
