"""How fresh an index must be for a request to be answered from it; one that is not is brought up to date, or refused."""

import asyncio
from dataclasses import dataclass
from typing import Final

from appliance.base.budget import Deadline
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.source.opening import is_fetched
from appliance.errors import NotFound, Stale
from appliance.ids import JobId
from appliance.services import Services

LONGEST_WAIT_S: Final = 120.0
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Demand:
    """At most *max_behind* commits behind, and at most *max_lag* seconds since it was last known to be current.

    *wait* is for how many seconds a request waits for an index that fits. None demands nothing.
    """

    max_behind: int | None = None
    max_lag: float | None = None
    wait: float = 0.0

    def __bool__(self) -> bool:
        return self.max_behind is not None or self.max_lag is not None


@dataclass(frozen=True, slots=True)
class _Late:
    """A repo that is not as fresh as is wanted, and why."""

    repo: Repo
    reason: str


async def satisfied(services: Services, scope: Scope, demand: Demand) -> None:
    """Return once what is indexed of *scope* is as fresh as *demand* says, having asked for indexes where it was not.

    Raise `Stale` when it is not and there is nothing to wait for, or not within the wait.
    """
    asked = services.clock.now()
    late = await asyncio.to_thread(_late, services, scope, demand, asked)
    deadline = Deadline(demand.wait, what="Waiting for an index")
    while late and deadline.left:
        jobs = [(await asyncio.to_thread(services.index, each.repo.id)).id for each in late]
        failed = await _ended(services, jobs, deadline)
        late = await asyncio.to_thread(_late, services, scope, demand, asked)
        if failed:
            break
    if late:
        reasons = "; ".join(f"{each.repo.name}: {each.reason}" for each in late)
        remedy = "Ask for less, or wait longer." if demand.wait else "Refresh it, or let the request wait for that."
        raise Stale(f"The index is not as fresh as is wanted. {reasons}.", remedy=remedy, repos=len(late))


async def _ended(services: Services, jobs: list[JobId], deadline: Deadline) -> bool:
    """Wait until *jobs* have ended; return whether one of them did so in vain, or the time was over."""
    while True:
        found = [await asyncio.to_thread(services.jobs.get, job) for job in jobs]
        if all(job.ended for job in found):
            return any(job.state != "done" for job in found)
        if not deadline.left:
            return True
        await asyncio.sleep(_LOOK_S)


def _late(services: Services, scope: Scope, demand: Demand, now: float) -> list[_Late]:
    repos = [repo for repo in services.registry.repos(scope.project) if not scope.repos or repo.id in scope.repos]
    reasons = [(repo, _why_late(services, repo, scope, demand, now)) for repo in repos]
    return [_Late(repo, reason) for repo, reason in reasons if reason]


def _why_late(services: Services, repo: Repo, scope: Scope, demand: Demand, now: float) -> str:
    """Return why *repo* is not as fresh as *demand* says; "" if it is."""
    try:
        branches = services.generations.fitting(repo.id, scope.branches)
        counts = [services.generations.freshness(repo.id, branch, believe=0.0).behind for branch in branches]
    except NotFound:
        return "not indexed yet"
    behind = None if None in counts else max((count or 0 for count in counts), default=0)
    if demand.max_behind is not None and behind is None:
        return "how far it is behind cannot be told"
    if demand.max_behind is not None and (behind or 0) > demand.max_behind:
        return f"{behind} behind{_fault(repo)}"
    lag = 0.0 if behind == 0 and not is_fetched(repo.source) else now - (repo.last_success or 0.0)
    if demand.max_lag is not None and lag > demand.max_lag:
        return f"last current {lag:,.0f} s ago{_fault(repo)}"
    return ""


def _fault(repo: Repo) -> str:
    return f", and its last index failed: {repo.message}" if repo.error else ""
