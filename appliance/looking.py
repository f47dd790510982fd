"""Whether a repository has moved on since it was indexed, and asking for an index where nobody has to ask."""

from contextlib import closing
from typing import Final

from appliance.codeintel.build.pipeline import MOST_BRANCHES
from appliance.codeintel.registry import Repo
from appliance.errors import ApplianceError
from appliance.ids import RepoId
from appliance.jobs.schedule import hours_of
from appliance.services import Services

_WORK: Final = ("index", "graph", "embed", "renew")
_WHOLE: Final = 100  # percent


def moved(services: Services, repo: Repo) -> bool:
    """Return whether a branch of *repo* has commits, or a folder changes, that are not indexed; False if it cannot tell."""
    generations = services.generations
    try:
        if services.registry.replaced(repo):
            return True
        with closing(services.registry.open(repo)) as source:
            indexed = generations.branches(repo.id)
            own = generations.info(repo.id).branch
            if {*source.fitting(repo.settings.branches)[:MOST_BRANCHES]} - {own} != {*indexed} - {""}:
                return True
            for branch in indexed:
                info = generations.info(repo.id, branch)
                if source.tip(branch or repo.branch)[1] != info.commit or source.behind(
                    branch=info.branch, commit=info.commit
                ):
                    return True
    except ApplianceError:
        return False  # not indexed yet, or not to be read now: its index says so
    finally:
        generations.forget(repo.id)  # a worker has no use for what searches keep open
    return False


def ask_for(services: Services, repo: RepoId) -> bool:
    """Ask for an index of *repo* because of the clock or a change, unless it rests now; return whether it was asked for.

    It rests within its quiet hours, in quarantine, and until what was done for it last is at most its share of the time.
    """
    known, now = services.registry.repo(repo), services.clock.now()
    quiet = hours_of(known.settings.quiet)
    if known.state == "quarantined" or (quiet is not None and quiet.cover(now)) or _rests(services, known, now=now):
        return False
    services.index(repo)
    return True


def _rests(services: Services, repo: Repo, *, now: float) -> bool:
    """Return whether the last work of each kind on *repo* took more than its share of the time since the first began."""
    if repo.settings.share >= _WHOLE:
        return False
    last = [job for kind in _WORK for job in services.jobs.list(kind=kind, key=repo.id, limit=1)]
    spans = [(job.started_at, now if job.ended_at is None else job.ended_at) for job in last if job.started_at is not None]
    worked = sum(end - start for start, end in spans)
    began = min((start for start, _ in spans), default=now)
    return began <= now < began + worked * _WHOLE / repo.settings.share
