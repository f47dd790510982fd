"""What a question or a search can be about: a project, one repository of it, or one branch of that."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.results import Scope
from appliance.ids import ProjectId
from appliance.services import DEFAULT_PROJECT, Services

LONGEST: Final = 500  # of what is chosen, as the address has it
MOST_BRANCHES: Final = 200  # in one select

_AT: Final = "@"  # in no id


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the select.

    ``value`` is a repository's id, with `_AT` and a branch where that is not its own, a project's id, or "" for the project
    that is meant unsaid.
    """

    value: str
    label: str
    project: ProjectId
    repo: str
    chosen: bool
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The choices of one project, all of it first."""

    project: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """Every choice. A search never spans projects: with more than one, each says for itself what "all" is."""

    groups: tuple[Group, ...]
    more: int = 0  # branches that are not among them

    @property
    def empty(self) -> bool:
        """Whether there is no repository at all."""
        return not any(choice.repo for group in self.groups for choice in group.choices)

    @property
    def chosen(self) -> str:
        """The repository that is chosen, in words; "" for all of a project."""
        return next((c.label for group in self.groups for c in group.choices if c.chosen and c.repo), "")

    @property
    def value(self) -> str:
        """What is chosen, as the address has it."""
        return next((c.value for group in self.groups for c in group.choices if c.chosen), "")


def choices(services: Services, asked: str = "") -> Choices:
    """Return what can be chosen, with *asked* (an id, or a repository's name) chosen if it is among that."""
    projects, repos = services.registry.projects(), services.registry.repos()
    used = {repo.project for repo in repos}
    shown = [project for project in projects if project.name == DEFAULT_PROJECT or project.id in used]
    shown.sort(key=lambda project: project.name != DEFAULT_PROJECT)
    branches = [(repo, branch) for repo in repos for branch in _branches(repo, services)]
    few = branches[:MOST_BRANCHES]
    groups = (_group(project, repos, few, asked=asked, alone=len(shown) == 1) for project in shown)
    return Choices(tuple(groups), len(branches) - len(few))


def scope_of(services: Services, asked: str) -> Scope:
    """Return the scope that *asked* names: a repository or a branch of it, or all of a project; raise `NotFound`."""
    if not asked:
        return Scope(services.registry.project(DEFAULT_PROJECT).id)
    if any(project.id == asked for project in services.registry.projects()):
        return Scope(ProjectId(asked))
    which, _, branch = asked.partition(_AT)
    repo = services.registry.repo(which)
    return Scope(repo.project, (repo.id,), (branch,) if branch else ())


def _branches(repo: Repo, services: Services) -> Iterator[str]:
    """Yield the indexed branches of *repo* beside its own that an address can name."""
    if repo.settings.branches:
        yield from (branch for branch in services.generations.branches(repo.id) if branch and display(branch) == branch)


def _group(project: Project, repos: list[Repo], branches: list[tuple[Repo, str]], *, asked: str, alone: bool) -> Group:
    unsaid = project.name == DEFAULT_PROJECT
    whole = Choice(
        value="" if unsaid else project.id,
        label="All repositories" if alone else f"All of {project.name}",
        project=project.id,
        repo="",
        chosen=asked == project.id or (unsaid and not asked),
    )
    return Group(project.name, (whole, *_own(project, repos, branches, asked=asked)))


def _own(project: Project, repos: list[Repo], branches: list[tuple[Repo, str]], *, asked: str) -> Iterator[Choice]:
    for repo in repos:
        if repo.project == project.id:
            yield Choice(repo.id, repo.name, project.id, repo.id, asked in {repo.id, repo.name})
            for of, branch in branches:
                if of.id == repo.id:
                    value = f"{repo.id}{_AT}{branch}"
                    yield Choice(value, f"{repo.name} at {branch}", project.id, repo.id, asked == value, branch)
