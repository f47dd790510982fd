"""Projects and their repositories, kept in ``global.db``: what is to be indexed, and how the last attempt went."""

import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from appliance.base.clock import Clock
from appliance.base.durable import make_directory, storage_errors, write_file
from appliance.base.paths import DataPaths, display
from appliance.base.sqlite import Guarded
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.repo_settings import RepoSettings, checked, packed, unpacked
from appliance.codeintel.source.address import Address, Remote, address_of
from appliance.codeintel.source.base import Source
from appliance.codeintel.source.fetching import NAME as FETCHED
from appliance.codeintel.source.fetching import Fetcher
from appliance.codeintel.source.folder import FolderSource
from appliance.codeintel.source.opening import is_fetched, open_source, stamp_of
from appliance.config import Index
from appliance.errors import ApplianceError, Conflict, InvalidInput, NotFound
from appliance.ids import ProjectId, RepoId, new_id

_LONGEST_NAME = 100
_STAMP = "bundle.stamp"
_FIRST_PAUSE_S = 300.0
_LONGEST_PAUSE_S = 6 * 3600.0
_QUARANTINE_PAUSE_S = 24 * 3600.0
QUARANTINE_AFTER = 10  # failures in a row

RepoState = Literal["waiting", "ready", "error", "quarantined"]


@dataclass(frozen=True, slots=True)
class Project:
    """Repositories that are searched together."""

    id: ProjectId
    name: str


@dataclass(frozen=True, slots=True)
class Repo:
    """One repository, or plain folder, and how its last attempt went: ``error`` is a code of `appliance.errors`, or "".

    ``failures`` counts the attempts that failed since one went well.
    """

    id: RepoId
    project: ProjectId
    name: str
    source: Address
    branch: str | None  # None: whatever its HEAD names
    created_at: float
    last_attempt: float | None
    last_success: float | None
    error: str
    message: str
    remedy: str
    failures: int = 0
    settings: RepoSettings = field(default_factory=RepoSettings)
    watched: str = ""  # "events", why it is only looked at now and then, or "" where it is not watched

    @property
    def state(self) -> RepoState:
        """How it is: ``quarantined`` after ten failures in a row, from when on it is tried once a day."""
        if self.failures >= QUARANTINE_AFTER:
            return "quarantined"
        if self.error:
            return "error"
        return "waiting" if self.last_success is None else "ready"

    @property
    def next_attempt(self) -> float | None:
        """The moment from which on a repo that failed is tried again by itself: each time twice as far off; else None."""
        if self.last_attempt is None or not self.failures:
            return None
        if self.state == "quarantined":
            return self.last_attempt + _QUARANTINE_PAUSE_S
        return self.last_attempt + min(_FIRST_PAUSE_S * (1 << min(self.failures - 1, 16)), _LONGEST_PAUSE_S)


class Registry:
    """Safe to use from many threads. *conn* belongs to it alone; its tables are those of `codeintel.schema`."""

    def __init__(self, conn: sqlite3.Connection, *, paths: DataPaths, limits: Index, clock: Clock) -> None:
        self._db = Guarded(conn)
        self._paths = paths
        self._limits = limits
        self._clock = clock

    def projects(self) -> list[Project]:
        """Return every project, by name."""
        with self._db.read() as conn:
            return [_project(row) for row in conn.execute("SELECT * FROM projects ORDER BY name")]

    def project(self, which: str) -> Project:
        """Return the project whose id or name is *which*; raise `NotFound`."""
        with self._db.read() as conn:
            row = conn.execute("SELECT * FROM projects WHERE id = ? OR name = ? ORDER BY id <> ?", (which,) * 3).fetchone()
        if row is None:
            raise NotFound(
                f"There is no project {display(which)!r}.",
                remedy="Leave it out for the one called `default`.",
                project=which,
            )
        return _project(row)

    def add_project(self, name: str) -> Project:
        """Create a project; raise `Conflict` if the name is taken."""
        project = Project(ProjectId(new_id("prj")), _checked_name(name))
        with self._db.write() as conn:
            if conn.execute("SELECT 1 FROM projects WHERE name = ?", (name,)).fetchone():
                raise Conflict(f"A project {name!r} exists already.", project=name)
            conn.execute("INSERT INTO projects VALUES (?, ?, ?)", (project.id, project.name, self._clock.now()))
        return project

    def repos(self, project: ProjectId | None = None) -> list[Repo]:
        """Return the repos of *project*, or all of them, by name."""
        with self._db.read() as conn:
            if project is None:
                rows = conn.execute("SELECT * FROM repos ORDER BY name, id").fetchall()
            else:
                rows = conn.execute("SELECT * FROM repos WHERE project = ? ORDER BY name", (project,)).fetchall()
        return [_repo(row) for row in rows]

    def repo(self, which: str, *, project: ProjectId | None = None) -> Repo:
        """Return the repo whose id or name is *which*, looking in *project* only if one is given.

        Raise `NotFound`, or `Conflict` when repos of several projects have that name.
        """
        with self._db.read() as conn:
            rows = conn.execute("SELECT * FROM repos WHERE id = ?1 OR name = ?1 ORDER BY id <> ?1", (which,)).fetchall()
        found = [repo for repo in map(_repo, rows) if project is None or repo.project == project]
        if not found:
            raise NotFound(
                f"There is no repository {display(which)!r}.", remedy="`skellig repo list` names them.", repo=which
            )
        if len(found) > 1 and found[0].id != which:
            raise Conflict(f"Several projects have a repository {which!r}.", remedy="Name it by its id.", repo=which)
        return found[0]

    def add_repo(
        self,
        project: ProjectId,
        source: Address,
        *,
        name: str | None = None,
        branch: str | None = None,
        settings: RepoSettings | None = None,
        probe: bool = True,
    ) -> Repo:
        """Add the repository or folder at *source*, once it is known that it can be read, and return it.

        Without *probe*, and for one on another machine, that is left to its first index, whose fault is noted then. *name*
        defaults to the folder's. Raise
        `Conflict` if the project has a repo of that name, and what `open_source` raises when there is nothing to index. A
        plain folder is looked through only by its first index.
        """
        location = source
        if isinstance(location, Path):
            location = Path(os.path.abspath(location))  # noqa: PTH100 - resolve() would follow links that may change later
        named = _checked_name(name or _folder_name(location))
        repo = Repo(
            RepoId(new_id("repo")), project, named, location, branch, self._clock.now(), None, None, "", "", "",
            settings=_fitting(location, settings or RepoSettings()),
        )  # fmt: skip
        self._refuse_taken(repo)
        if probe:
            self._probe(repo)
        with self._db.write() as conn:
            if _taken(conn, repo):
                raise _name_taken(repo)
            conn.execute(
                "INSERT INTO repos (id, project, name, source, branch, created_at, settings) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (repo.id, project, named, os.fsencode(str(location)), branch, repo.created_at, packed(repo.settings)),
            )
        return repo

    def change_repo(self, repo: RepoId, *, branch: str | None, settings: RepoSettings) -> Repo:
        """Give *repo* its own *branch* and *settings*, which its next index goes by, and return what it is now.

        Raise `NotFound`, or `InvalidInput` for settings that cannot be.
        """
        kept = packed(_fitting(self.repo(repo).source, settings))
        with self._db.write() as conn:
            conn.execute("UPDATE repos SET branch = ?, settings = ? WHERE id = ?", (branch, kept, repo))
        return self.repo(repo)

    def remove_repo(self, repo: RepoId) -> Repo:
        """Forget *repo* and return what it was; raise `NotFound`. Its generations go with the next sweep."""
        gone = self.repo(repo)
        with self._db.write() as conn:
            conn.execute("DELETE FROM repos WHERE id = ?", (gone.id,))
        shutil.rmtree(self._mirror(gone), ignore_errors=True)
        return gone

    def attempted(self, repo: RepoId, error: ApplianceError | None) -> None:
        """Note that an attempt to index *repo* has just ended, with *error* or well. A repo that is gone is no matter."""
        now = self._clock.now()
        with self._db.write() as conn:
            if error is None:
                conn.execute(
                    "UPDATE repos SET last_attempt = ?1, last_success = ?1, error = '', message = '', remedy = '',"
                    " failures = 0 WHERE id = ?2",
                    (now, repo),
                )
            else:
                conn.execute(
                    "UPDATE repos SET last_attempt = ?, error = ?, message = ?, remedy = ?, failures = failures + 1"
                    " WHERE id = ?",
                    (now, error.code, error.message, error.remedy, repo),
                )

    def watched(self, repo: RepoId, how: str) -> None:
        """Note *how* changes of *repo* are seen: by ``events``, not at all (""), or else only now and then, and why."""
        with self._db.write() as conn:
            conn.execute("UPDATE repos SET watched = ?1 WHERE id = ?2 AND watched <> ?1", (how, repo))

    def open(self, repo: Repo) -> Source:
        """Open the source of *repo*, as it was fetched last if it is elsewhere; the caller closes it.

        Raise what `open_source` raises. No other machine is contacted.
        """
        mirror = self._mirror(repo)
        make_directory(mirror.parent)
        with storage_errors(mirror):
            return open_source(repo.source, mirror=mirror, limits=self._limits)

    def fetch(self, repo: Repo, *, progress: Progress, check: Check) -> None:
        """Bring what is kept of *repo* to where it is now, if it is on another machine or in a bundle file.

        Raise what `Fetcher.fetch` raises.
        """
        mirror = self._mirror(repo)
        if not is_fetched(repo.source):
            return
        with storage_errors(mirror):
            stamp = stamp_of(repo.source)
            Fetcher(repo.source, repo.settings, mirror=mirror, progress=progress, check=check).fetch(repo.branch)
            if stamp:
                write_file(mirror / _STAMP, stamp.encode())

    def read_at(self, repo: Repo) -> Path:
        """Return the folder that `open` reads: the repository itself, or our mirror of it."""
        if isinstance(repo.source, Remote) or is_fetched(repo.source):
            return self._mirror(repo) / FETCHED
        return repo.source

    def replaced(self, repo: Repo) -> bool:
        """Return whether the bundle file of *repo* is another one than was fetched last."""
        stamp = stamp_of(repo.source) if is_fetched(repo.source) else ""
        try:
            return bool(stamp) and (self._mirror(repo) / _STAMP).read_text(encoding="ascii") != stamp
        except FileNotFoundError:
            return True

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def _probe(self, repo: Repo) -> None:
        if is_fetched(repo.source):
            stamp_of(repo.source)
            return
        mirror = self._mirror(repo)
        make_directory(mirror.parent)
        with storage_errors(mirror.parent):
            self._try(repo, mirror)

    def _try(self, repo: Repo, mirror: Path) -> None:
        aside = Path(tempfile.mkdtemp(prefix=".probe-", dir=mirror.parent))  # whoever tidies takes a mirror without a repo
        try:
            source = open_source(repo.source, mirror=aside / mirror.name, limits=self._limits)
            try:
                if repo.branch or not isinstance(source, FolderSource):  # to look at a whole folder is work for a job
                    source.snapshot(repo.branch)
            finally:
                source.close()
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _refuse_taken(self, repo: Repo) -> None:
        with self._db.read() as conn:
            if not conn.execute("SELECT 1 FROM projects WHERE id = ?", (repo.project,)).fetchone():
                raise NotFound(f"There is no project {repo.project!r}.", project=repo.project)
            if _taken(conn, repo):
                raise _name_taken(repo)

    def _mirror(self, repo: Repo) -> Path:
        return self._paths.project(repo.project).mirrors / f"{repo.id}.git"


def _project(row: sqlite3.Row) -> Project:
    return Project(ProjectId(row["id"]), row["name"])


def _repo(row: sqlite3.Row) -> Repo:
    return Repo(
        id=RepoId(row["id"]),
        project=ProjectId(row["project"]),
        name=row["name"],
        source=address_of(os.fsdecode(row["source"])),
        branch=row["branch"],
        created_at=row["created_at"],
        last_attempt=row["last_attempt"],
        last_success=row["last_success"],
        error=row["error"],
        message=row["message"],
        remedy=row["remedy"],
        failures=row["failures"],
        settings=unpacked(row["settings"]),
        watched=row["watched"],
    )


def _taken(conn: sqlite3.Connection, repo: Repo) -> bool:
    found = conn.execute("SELECT 1 FROM repos WHERE project = ? AND name = ?", (repo.project, repo.name)).fetchone()
    return found is not None


def _name_taken(repo: Repo) -> Conflict:
    return Conflict(
        f"The project has a repository {repo.name!r} already.",
        remedy="Give another name with --name.",
        repo=repo.name,
    )


def _fitting(source: Address, settings: RepoSettings) -> RepoSettings:
    """Return *settings*; raise `InvalidInput` for those that cannot be for what is at *source*."""
    if settings.watch and isinstance(source, Remote):
        raise InvalidInput("A repository on another machine cannot be watched.", remedy="Give it a schedule instead.")
    return checked(settings)


def _folder_name(location: Address) -> str:
    name = location.parent.name if isinstance(location, Path) and location.name == ".git" else location.name
    return display(name.removesuffix(".git").removesuffix(".bundle"))[:_LONGEST_NAME]


def _checked_name(name: str) -> str:
    if not name.strip() or len(name) > _LONGEST_NAME or "/" in name or not name.isprintable():
        raise InvalidInput(
            f"{display(name)[:_LONGEST_NAME]!r} is no name: 1 to {_LONGEST_NAME} printable characters without a slash.",
            remedy="Give one with --name.",
        )
    return name
