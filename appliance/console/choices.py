"""What a question or a search can be about: a project, or one repository of it."""

from dataclasses import dataclass

from appliance.codeintel.registry import Project, Repo
from appliance.codeintel.results import Scope
from appliance.ids import ProjectId
from appliance.services import DEFAULT_PROJECT, Services


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the select. ``value`` is a repository's id, a project's, or "" for the project that is meant unsaid."""

    value: str
    label: str
    project: ProjectId
    repo: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The choices of one project, all of it first."""

    project: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """Every choice. A search never spans projects: with more than one, each says for itself what "all" is."""

    groups: tuple[Group, ...]

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
    return Choices(tuple(_group(project, repos, asked=asked, alone=len(shown) == 1) for project in shown))


def scope_of(services: Services, asked: str) -> Scope:
    """Return the scope that *asked* names: a repository within its own project, or all of a project; raise `NotFound`."""
    if not asked:
        return Scope(services.registry.project(DEFAULT_PROJECT).id)
    if any(project.id == asked for project in services.registry.projects()):
        return Scope(ProjectId(asked))
    repo = services.registry.repo(asked)
    return Scope(repo.project, (repo.id,))


def _group(project: Project, repos: list[Repo], *, asked: str, alone: bool) -> Group:
    unsaid = project.name == DEFAULT_PROJECT
    whole = Choice(
        value="" if unsaid else project.id,
        label="All repositories" if alone else f"All of {project.name}",
        project=project.id,
        repo=False,
        chosen=asked == project.id or (unsaid and not asked),
    )
    own = (
        Choice(repo.id, repo.name, project.id, repo=True, chosen=asked in {repo.id, repo.name})
        for repo in repos
        if repo.project == project.id
    )
    return Group(project.name, (whole, *own))
