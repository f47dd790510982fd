"""The repos that a question is about, each held at one generation from its beginning to its end."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.citations import Texts
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Freshness, Scope
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.generations import Generations, Lag, counted
from appliance.errors import ApplianceError, NotFound
from appliance.ids import BlobId, RepoId

MOST_PLACES: Final = 20  # of the same text that are named


@dataclass(frozen=True, slots=True)
class Part:
    """One branch of one repo of the scope, held at one generation for the whole answer."""

    repo: Repo
    generation: Generation
    freshness: Freshness
    branch: str = ""  # as it was asked for; "": the repo's own

    @property
    def label(self) -> str:
        """What tells it apart from the other parts."""
        return f"{self.repo.name}@{display(self.branch)}" if self.branch else self.repo.name


def repos_of(generations: Generations, scope: Scope) -> list[Repo]:
    """Return the repos of *scope*, indexed or not; raise `NotFound` if there is none."""
    repos = [repo for repo in generations.repos(scope.project) if not scope.repos or repo.id in scope.repos]
    if not repos:
        raise NotFound("There is no repository to search.", remedy="Add one with `skellig repo add PATH`.")
    return repos


def open_parts(
    generations: Generations, wanted: Sequence[Repo], *, branches: Sequence[str] = ()
) -> tuple[list[Part], list[str]]:
    """Open what is published of *wanted*, and return with it a warning for each that cannot be read.

    Of each repo that is its own branch, or those of which a pattern of *branches* fits the name. Raise `NotFound` when
    nothing of it is indexed, and what is wrong when nothing else can be read.
    """
    parts: list[Part] = []
    warnings: list[str] = []
    broken: list[ApplianceError] = []
    for repo, branch in _fitting(generations, wanted, branches, warnings):
        try:
            generation = generations.published(repo, branch)
        except NotFound:
            if len(wanted) == 1:
                raise
            warnings.append(f"{repo.name} is not indexed yet: nothing of it can be found.")
        except ApplianceError as exc:
            broken.append(exc)
            warnings.append(unreadable(repo, exc))
        else:
            parts.append(Part(repo, generation, undated(repo, generation), branch))
    if not parts and broken:
        raise broken[0]
    if not parts:
        raise NotFound("No repository in this scope is indexed yet.", remedy="`skellig repo list` says how far each is.")
    return parts, warnings


def _fitting(
    generations: Generations, wanted: Sequence[Repo], branches: Sequence[str], warnings: list[str]
) -> list[tuple[Repo, str]]:
    """Return the branches to look at, and add to *warnings* each repo that has none; raise `NotFound` if no repo has one."""
    found = [(repo, branch) for repo in wanted for branch in generations.fitting(repo.id, branches)]
    asked = " or ".join(display(branch) for branch in branches)
    if not found:
        there = ", ".join(dict.fromkeys(name for repo in wanted for name in generations.named(repo.id)))
        remedy = f"There are: {there or 'none yet'}; `skellig repo set --track` adds to them."
        raise NotFound(f"No branch {asked} is indexed.", remedy=remedy)
    having = {repo.id for repo, _ in found}
    warnings += [f"{repo.name} has no branch {asked} in the index." for repo in wanted if repo.id not in having]
    return found


def lags(parts: Sequence[Part], generations: Generations) -> list[Lag]:
    """Begin to ask for each of *parts* what of its repository is not indexed yet."""
    infos = [(part.repo.id, part.generation.info) for part in parts]
    return [generations.lag(repo, branch=info.branch, commit=info.commit) for repo, info in infos]


def texts_of(parts: Sequence[Part], generations: Generations) -> Texts:
    """Return the lines of *parts*. What is cited of one that cannot be opened comes without text, unverified."""
    sources: dict[RepoId, Source] = {}
    for part in parts:
        try:
            sources[part.repo.id] = generations.source(part.repo)
        except (ApplianceError, OSError):
            continue  # whoever cites it says so
    return Texts(sources)


def copies(parts: Sequence[Part], blobs: Iterable[BlobId]) -> Counter[BlobId]:
    """Return how many files of *parts* have each of *blobs*, of which each is in one of them."""
    wanted = set(blobs)
    return Counter({blob: sum(len(part.generation.files_of(blob)) for part in parts) for blob in wanted})


def whereabouts(parts: Sequence[Part], blobs: Iterable[BlobId]) -> dict[BlobId, list[str]]:
    """Return the first places of each of *blobs* in *parts*, as people name them."""
    found: dict[BlobId, list[str]] = {}
    for blob in blobs:
        places = ((part, part.generation.files.paths[number]) for part in parts for number in part.generation.files_of(blob))
        found[blob] = [place_in(part, path) for part, path in islice(places, MOST_PLACES + 1)]  # one may be what is shown
    return found


def place_in(part: Part, path: str) -> str:
    """Return how people name the file at *path* of *part*."""
    return f"{part.label}: {display(path)}"


def unreadable(repo: Repo, error: ApplianceError) -> str:
    """Return the warning that *repo* is left out because of *error*."""
    return f"{repo.name} cannot be searched now: {error}"


def undated(repo: Repo, generation: Generation) -> Freshness:
    """Return which state of *repo* whoever reads *generation* sees; how far behind that is, is not known yet."""
    info = generation.info
    return Freshness(
        repo=repo.id,
        repo_name=repo.name,
        branch=info.branch,
        commit=info.commit,
        generation=info.id,
        behind=None,
        dirty=None,
        left_out=sum(info.left_out.values()),
        vectors=info.completeness,
    )


def dated(parts: Sequence[Part], asked: Sequence[Lag], *, within: float) -> list[Part]:
    """Return *parts* with how far behind each is, and whether it is dirty, where its repository answers in time.

    A large folder, or a disk that sleeps, must not hold up a search; the answer that comes late serves the next one.
    """
    wait([each for lag in asked for each in (lag.behind, lag.dirty)], timeout=within)
    return [
        replace(part, freshness=_dated(part.freshness, counted(lag.behind, within=0), counted(lag.dirty, within=0)))
        for part, lag in zip(parts, asked, strict=True)
    ]


def _dated(fresh: Freshness, behind: int | None, dirty: int | None) -> Freshness:
    return replace(fresh, behind=behind, dirty=None if dirty is None else bool(dirty))


def staleness(parts: Sequence[Part]) -> list[str]:
    """Return a warning for each of *parts* whose branch has moved on."""
    said = []
    for fresh in (part.freshness for part in parts):
        if fresh.behind:
            commits = "1 commit is" if fresh.behind == 1 else f"{fresh.behind} commits are"
            said.append(f"{fresh.repo_name}: {commits} on {fresh.branch or 'HEAD'} but not in the index.")
    return said
