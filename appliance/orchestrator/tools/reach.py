"""What one call may look at: the repositories that its run was granted, at the branches that it was granted."""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from appliance.base.paths import display
from appliance.codeintel.offers import Graphing, Searching
from appliance.codeintel.query.parts import Part, open_parts
from appliance.codeintel.registry import Registry, Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generations import Generations
from appliance.contracts.tools import ToolContext
from appliance.errors import NotGranted
from appliance.ids import ProjectId


class CodeIndex(Protocol):
    """What the tools read code from. `appliance.services.Services` is one."""

    @property
    def registry(self) -> Registry:
        """Which repositories there are."""

    @property
    def generations(self) -> Generations:
        """What is indexed of them."""

    @property
    def searcher(self) -> Searching:
        """What finds code."""

    @property
    def graphs(self) -> Graphing:
        """What knows definitions, and what uses what."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The granted repositories, of one project, and the granted branches. Everything else is refused before it is read."""

    project: ProjectId
    repos: tuple[Repo, ...]
    branches: tuple[str, ...]

    @classmethod
    async def of(cls, index: CodeIndex, context: ToolContext) -> "Reach":
        """Return what *context* grants of *index*; raise `NotGranted` where that is nothing."""
        project = ProjectId(context.grants.project)
        known = await asyncio.to_thread(index.registry.repos, project)
        repos = tuple(repo for repo in known if repo.id in context.grants.repos)
        if not repos:
            raise NotGranted("No repository was granted to this run.", remedy="Start it for a repository that is there.")
        return cls(project, repos, context.branches)

    def scope(self, repo: str) -> Scope:
        """Return the one granted repository called *repo*, or with "" all of them, as a scope; raise `NotGranted`."""
        wanted = (self.one(repo),) if repo else self.repos
        return Scope(self.project, tuple(each.id for each in wanted), self.branches)

    def one(self, repo: str) -> Repo:
        """Return the granted repository called *repo*, by name or id, or the only one; raise `NotGranted`."""
        found = [each for each in self.repos if repo in {each.id, each.name}] if repo else list(self.repos)
        if len(found) == 1:
            return found[0]
        names = ", ".join(display(each.name) for each in self.repos)
        if not repo:
            raise NotGranted("There are several repositories.", remedy=f"Name one: {names}.")
        raise NotGranted(f"This run may not read the repository {display(repo)!r}.", remedy=f"It may read: {names}.")

    def part(self, index: CodeIndex, repo: str) -> Part:
        """Open what is indexed of one granted repository, at the first granted branch; raise as `one` and `open_parts`."""
        return open_parts(index.generations, [self.one(repo)], branches=self.branches)[0][0]
