"""How repositories are told of on a screen: in a line, a table, or a line for each thing that can be said."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.table import Table
from rich.text import Text

from appliance.base.figures import percent
from appliance.cli import output
from appliance.cli.views import Job, Repo


def summary(repo: Repo) -> Text:
    """Return how *repo* is, in a line that begins with its name."""
    return Text.assemble((repo.name, "bold"), "  ", _how(repo))


def listing(repos: list[Repo], *, repos_from: Path | None) -> Table | Text:
    """Return how each of *repos* is, a row each, with its project and its id: two projects may have the same name."""
    if not repos and repos_from is not None:
        return Text(f"No repository yet. Each that is put into {repos_from}, the setting repos_from, is indexed by itself.")
    if not repos:
        return Text("No repository yet. Add one with: skellig repo add PATH")
    table = output.table("project", "repository", "id", "index")
    for repo in repos:
        table.add_row(Text(repo.project_name), Text(repo.name, style="bold"), Text(repo.id, style="dim"), _how(repo))
    return table


def _how(repo: Repo) -> Text:
    line = Text()
    if repo.index is None:
        line.append("not indexed yet")
    else:
        index = repo.index
        line.append(f"{output.counted(index.files, 'file')}, {output.counted(index.lines, 'line')}")
        line.append(f" at {index.branch or 'HEAD'} {index.commit[:10]}")
        line.append(_lag(index.behind), style="yellow" if index.behind != 0 else "green")
        if index.left_out:
            line.append(f", {output.counted(sum(index.left_out.values()), 'file')} left out")
        if index.vectors < 1:
            line.append(f", vectors {percent(index.vectors)}")
        if index.vectors_failed:
            line.append(f", {output.counted(index.vectors_failed, 'text')} refused by the embedder")
    if repo.job is not None and not repo.job.ended:
        line.append(f"  {_work(repo.job)}", style="yellow")
    if repo.error:
        line.append(f"  last attempt failed: {repo.message} {repo.remedy} [{repo.error}]{_next(repo)}", style="red")
    return line


def _next(repo: Repo) -> str:
    if repo.next_attempt is None:
        return ""
    rare = " In quarantine: it is tried once a day." if repo.state == "quarantined" else ""
    return f" {output.counted(repo.failures, 'failure')} so far, next attempt after {_moment(repo.next_attempt)}.{rare}"


def _moment(at: float | None) -> str:
    return "never" if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def standing(repo: Repo) -> Iterator[str]:
    """Yield how *repo* and its tracked branches are, and how it is kept, a line each."""
    yield f"state      {repo.state}, last attempt {_moment(repo.last_attempt)}, last success {_moment(repo.last_success)}"
    if repo.watched:
        yield f"watched    {repo.watched}"
    for branch in repo.branches:
        indexed = f"{output.counted(branch.files, 'file')}, indexed {_moment(branch.indexed_at)}{_lag(branch.behind)}"
        yield f"branch     {branch.name} {branch.commit[:10]}, {indexed}"
    for name, value in msgspec.structs.asdict(repo.settings).items():
        if value:
            yield f"{name:<10} {' '.join(value) if isinstance(value, list) else value}"


def _lag(behind: int | None) -> str:
    if behind is None:
        return ", lag unknown"
    return f", {output.counted(behind, 'commit')} behind" if behind else ", current"


def _work(job: Job) -> str:
    made = job.progress
    if job.state == "queued" or made is None:
        return f"{job.kind} {job.state}"
    share = f" {made.done:,}/{made.total:,}" if made.total else ""
    return f"{job.kind}: {made.phase}{share}"
