"""Repositories that are indexed when they change: their folders are watched, for new files or new refs.

Each folder is watched by itself and none through a link: what a repository links to is not its own. Where the system gives
no more watches, or a folder cannot be watched, its repository is looked at now and then instead, and says so.

An index of a plain folder looks at what was seen to change alone. The system may lose what it should tell: once the edits
pause, all of the folder is looked through, and indexed so if that finds more.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from watchfiles import Change, watch

from appliance.base import log
from appliance.base.mounts import made_up_below
from appliance.codeintel.registry import Repo
from appliance.codeintel.source import view
from appliance.codeintel.source.address import Remote
from appliance.codeintel.source.filters import is_foreign
from appliance.codeintel.source.opening import is_fetched, refuse_made_up
from appliance.errors import ApplianceError
from appliance.ids import RepoId
from appliance.looking import ask_for, moved
from appliance.services import Services
from appliance.sightings import Sightings

_log = log.get("watching")

EVENTS: Final = "events"
MOST_FOLDERS: Final = 50_000  # of all repositories
_STEP_MS: Final = 100  # of silence, after which what changed is asked for
_DEBOUNCE_MS: Final = 2_000  # for which an unbroken row of changes is gathered at most
_TURN_MS: Final = 500
_IDLE_S: Final = 2.0  # between two looks at the settings while nothing is watched
_POLL_S: Final = 30.0
_PAUSE_S: Final = 5.0  # without an edit, after which what was indexed by sightings alone is looked through
_REPLAN_S: Final = 300.0  # what could not be watched may be there by then, a folder be a git repository
_RELEASE_S: Final = 1.0  # the watches of one try are given back behind it
_REFS: Final = frozenset({"HEAD", "packed-refs"})


@dataclass(frozen=True, slots=True)
class Plan:
    """Which folders are watched, each for its repositories, and why other repositories are only looked at now and then."""

    folders: dict[str, set[RepoId]] = field(default_factory=dict)
    refs: frozenset[str] = frozenset()  # those of them in which only refs count
    polled: dict[RepoId, str] = field(default_factory=dict)
    blind: dict[RepoId, frozenset[str]] = field(default_factory=dict)  # of a plain folder: what of it is not watched

    def without_the_largest(self, reason: str) -> "Plan":
        """Return the plan in which the repository with the most folders is only looked at now and then, for *reason*."""
        sizes: defaultdict[RepoId, int] = defaultdict(int)
        for repos in self.folders.values():
            for repo in repos:
                sizes[repo] += 1
        largest = max(sizes, key=lambda repo: sizes[repo])
        folders = {folder: repos - {largest} for folder, repos in self.folders.items() if repos != {largest}}
        return Plan(folders, self.refs, self.polled | {largest: reason}, self.blind)

    def covers(self, other: "Plan") -> bool:
        """Return whether every folder is watched that *other* has of repositories that are watched."""
        return all(folder in self.folders for folder, repos in other.folders.items() if not repos <= self.polled.keys())


class Watcher:
    """Watches the repositories whose settings ask for it, and asks for an index of each that changed."""

    def __init__(
        self,
        services: Services,
        sightings: Sightings,
        *,
        most_folders: int = MOST_FOLDERS,
        poll_seconds: float = _POLL_S,
        replan_seconds: float = _REPLAN_S,
        pause_seconds: float = _PAUSE_S,
    ) -> None:
        self._services = services
        self._sightings = sightings
        self._most_folders = most_folders
        self._poll_seconds = poll_seconds
        self._replan_seconds = replan_seconds
        self._pause_seconds = pause_seconds
        self._polled_at = float("-inf")
        self._changed: set[RepoId] = set()

    def keep(self, stop: threading.Event) -> None:
        """Watch until *stop* is set."""
        while not stop.is_set():
            try:
                self._watch(self.plan(), stop)
            except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next turn may go better
                _log.exception("watching.failed")
                stop.wait(self._poll_seconds)

    def plan(self) -> Plan:
        """Return what is to be watched now."""
        plan = Plan()
        refs: set[str] = set()
        for repo in self._wanted():
            if isinstance(repo.source, Remote) or is_fetched(repo.source):
                plan.polled[repo.id] = "now and then: it is one file"
                continue
            try:
                folders, blind = _folders(repo.source)
            except (ApplianceError, OSError, UnicodeError) as exc:
                plan.polled[repo.id] = f"now and then: {exc}"
                continue
            if len(plan.folders) + len(folders) > self._most_folders:
                plan.polled[repo.id] = f"now and then: more than {self._most_folders:,} folders would have to be watched"
                continue
            if blind is None:
                refs |= set(folders)
            else:
                plan.blind[repo.id] = blind
            for folder in folders:
                plan.folders.setdefault(folder, set()).add(repo.id)
        return Plan(plan.folders, frozenset(refs), plan.polled, plan.blind)

    def _wanted(self) -> list[Repo]:
        return [repo for repo in self._services.registry.repos() if repo.settings.watch]

    def _watch(self, plan: Plan, stop: threading.Event) -> None:
        """Watch as *plan* has it, or as much of it as the system lets us, until there is reason for a new one."""
        while not stop.is_set():
            try:
                self._follow(plan, stop)
            except FileNotFoundError:  # a folder went since it was planned
                return
            except (OSError, RuntimeError) as exc:  # the latter is how the watcher says that there are no more watches
                if not plan.folders:
                    raise
                _log.warning("watching.no_more_watches", folders=len(plan.folders), reason=str(exc)[:200])
                plan = plan.without_the_largest("now and then: the system gives no more watches (fs.inotify)")
                stop.wait(_RELEASE_S)
            else:
                return
            finally:
                self._sightings.end()

    def _follow(self, plan: Plan, stop: threading.Event) -> None:
        wanted = {repo.id: repo.settings for repo in self._wanted()}
        begun, began = False, time.monotonic()
        for changes in self._changes(plan, stop):
            if not begun:  # from now on nothing is missed; what happened before is seen by looking
                begun = True
                self._note(plan)
                self._look(set(wanted))
                if not plan.covers(self.plan()):
                    return  # a folder came before its parent was watched
            paths = [path for _, path in changes]
            self._saw(plan, paths)
            if any(path in plan.folders or _is_folder(path) for path in paths):
                return  # a folder came or went: its repositories are looked at once the new one is watched
            self._ask()
            if time.monotonic() - self._polled_at >= self._poll_seconds:
                self._polled_at = time.monotonic()
                self._look(set(plan.polled))
            if unconfirmed := self._sightings.unconfirmed(quiet=self._pause_seconds):
                self._look(unconfirmed)
            if time.monotonic() - began >= self._replan_seconds:
                return
            if wanted != {repo.id: repo.settings for repo in self._wanted()}:
                return

    def _changes(self, plan: Plan, stop: threading.Event) -> Iterator[set[tuple[Change, str]]]:
        if not plan.folders:
            while not stop.wait(_IDLE_S):
                yield set()
            return
        yield from watch(
            *sorted(plan.folders),
            watch_filter=None,
            recursive=False,
            force_polling=False,
            step=_STEP_MS,
            debounce=_DEBOUNCE_MS,
            rust_timeout=_TURN_MS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=False,
            ignore_permission_denied=False,  # True would also be silent where there are no more watches
        )

    def _note(self, plan: Plan) -> None:
        watched = {repo for repos in plan.folders.values() for repo in repos}
        for repo in self._services.registry.repos():
            how = plan.polled.get(repo.id, EVENTS if repo.id in watched else "")
            if how != repo.watched:
                self._services.registry.watched(repo.id, how)
                _log.info("watching.repo", repo=repo.id, how=how or "not any more")
            if repo.id in watched and repo.id in plan.blind:
                self._sightings.begin(repo.id, root=str(repo.source), blind=plan.blind[repo.id])

    def _saw(self, plan: Plan, paths: list[str]) -> None:
        for path in paths:
            repos = _repos_of(plan, path)
            self._changed |= repos
            for repo in repos:
                self._sightings.saw(repo, path)

    def _look(self, repos: set[RepoId]) -> None:
        for repo in self._services.registry.repos():
            if repo.id in repos and not repo.error and moved(self._services, repo):
                self._sightings.doubt(repo.id)
                self._changed.add(repo.id)
        self._ask()

    def _ask(self) -> None:
        """Ask for an index of what changed; what rests now is asked for later."""
        known = {repo.id for repo in self._services.registry.repos()}
        self._changed = {repo for repo in self._changed & known if not ask_for(self._services, repo)}


def _folders(source: Path) -> tuple[list[str], frozenset[str] | None]:
    """Return the folders to watch of the repository at *source*, and those in it that are not; None: only refs count."""
    directory = view.find(source)
    if directory is None:
        refuse_made_up(source)
        blind = [f"{source}/{os.fsdecode(place)}" for place in made_up_below(os.fsencode(os.path.realpath(source)))]
        return list(_walk(source, blind)), frozenset(blind)
    return [*dict.fromkeys(map(str, (directory.own, directory.common))), *_walk(directory.common / "refs", [])], None


def _walk(root: Path, blind: list[str]) -> Iterator[str]:
    """Yield *root* and every folder in it, but for other people's code and nested repositories: these go to *blind*.

    What is in *blind* already is not entered.
    """
    waiting, made_up = [str(root)], frozenset(blind)
    while waiting:
        folder = waiting.pop()
        folder.encode()  # a name that is no text could not be told to the watcher
        try:
            with os.scandir(folder) as entries:
                inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        except (FileNotFoundError, PermissionError):  # gone meanwhile, or left out of the index as well
            blind.append(folder)
            continue
        yield folder
        for entry in inner:
            is_own = not is_foreign(entry.name) and entry.path not in made_up and not os.path.lexists(f"{entry.path}/.git")
            (waiting if is_own else blind).append(entry.path)


def _repos_of(plan: Plan, path: str) -> set[RepoId]:
    """Return whose folder or refs *path* is in."""
    folder, name = os.path.split(path)
    if folder in plan.refs and (name.endswith(".lock") or (name not in _REFS and "/refs" not in folder)):
        return set()
    return plan.folders.get(folder, set()) | plan.folders.get(path, set())


def _is_folder(name: str) -> bool:
    path = Path(name)
    return not is_foreign(path.name) and not path.is_symlink() and path.is_dir()
