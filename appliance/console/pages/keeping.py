"""How a repository is kept: the form that says so, and what a form that was sent means."""

from dataclasses import dataclass, fields

from appliance.base.paths import display
from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.console.text import count
from appliance.errors import InvalidInput
from appliance.services import Services

_LISTS = ("branches", "include", "exclude")
_NUMBERS = {
    "share": "share is no number: write one from 1 to 100",
    "max_mb": "megabytes are no number: write one from 1 to 1000000",
}
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Keeping:
    """The form: lists one pattern a line, a checkbox that is there or not."""

    branch: str = ""
    branches: str = ""
    include: str = ""
    exclude: str = ""
    schedule: str = ""
    quiet: str = ""
    share: str = "100"
    watch: str = ""
    key_file: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    credentials_file: str = ""
    max_mb: str = ""

    def settings(self) -> RepoSettings:
        """Return what was filled in; raise `InvalidInput` for a number that is none."""
        values: dict[str, object] = {
            field.name: getattr(self, field.name).strip() for field in fields(self) if field.name != "branch"
        }
        values |= {name: tuple(filter(None, map(str.strip, getattr(self, name).splitlines()))) for name in _LISTS}
        numbers = {name: _number(str(values[name]), what) for name, what in _NUMBERS.items()}
        return RepoSettings(**{**values, **numbers, "watch": bool(self.watch)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A tracked branch, as far as it is indexed."""

    name: str
    commit: str
    indexed_at: float
    files: int
    lag: str


def form_of(repo: Repo) -> Keeping:
    """Return the form as *repo* is kept now."""
    settings = repo.settings
    return Keeping(
        branch=display(repo.branch or ""),
        branches="\n".join(settings.branches),
        include="\n".join(settings.include),
        exclude="\n".join(settings.exclude),
        schedule=settings.schedule,
        quiet=settings.quiet,
        share=str(settings.share),
        watch="yes" if settings.watch else "",
        key_file=settings.key_file,
        known_hosts=settings.known_hosts,
        ca_file=settings.ca_file,
        credentials_file=settings.credentials_file,
        max_mb=str(settings.max_mb),
    )


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > _DIGITS:
        raise InvalidInput(f"The {what}.")
    return int(text)


def branch_rows(repo: Repo, services: Services) -> tuple[BranchRow, ...]:
    """Return the tracked branches of *repo* that are indexed."""
    found = []
    for branch in services.generations.branches(repo.id):
        if branch:
            info = services.generations.info(repo.id, branch)
            behind = services.generations.freshness(repo.id, branch).behind
            lag = "Lag unknown, or gone" if behind is None else f"{count(behind, 'commit')} behind" if behind else "Current"
            found.append(BranchRow(display(branch), info.commit, info.created_at, info.files, lag))
    return tuple(found)
