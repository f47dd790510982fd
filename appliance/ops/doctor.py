"""A closer look at the machine and the data directory: each finding says what is wrong and how to mend it."""

import os
import platform
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance import __version__
from appliance.base import durable, proc, sandbox, sqlite
from appliance.base.paths import DataPaths, display
from appliance.base.sandbox import Policy
from appliance.errors import ApplianceError, HostUnfit, of_system
from appliance.ops.health import Checked, Verdict

LEAST_FREE = 5_000_000_000  # bytes: a chat model, its download, and the index of a large repository
_LEAST_FILES = 1024
_GIT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Examination:
    """One thing to look at."""

    name: str
    look: Callable[[], Verdict]


def examine(examinations: Iterable[Examination]) -> Iterator[Checked]:
    """Give each finding as it is made; an examination that raises has failed, with the remedy where one is known."""
    for examination in examinations:
        try:
            found = examination.look()
        except ApplianceError as exc:
            found = Verdict("failed", exc.message, exc.remedy)
        except OSError as exc:
            where = display(os.fsdecode(exc.filename or ""))
            known = of_system(exc, where)
            found = (
                Verdict("failed", known.message, known.remedy) if known else Verdict("failed", f"{where}: {exc.strerror}.")
            )
        yield Checked(examination.name, found)


def machine(paths: DataPaths, *, policy: Policy) -> tuple[Examination, ...]:
    """Return what there is to look at on any machine, running or not; *policy* is how commands are confined."""
    return (
        Examination("system", system),
        Examination("git", git),
        Examination("open files", open_files),
        Examination("data directory", lambda: data_directory(paths)),
        Examination("sandbox", lambda: confined(paths, policy=policy)),
        Examination("free space", lambda: free_space(paths)),
        Examination("database", lambda: database(paths)),
    )


def system() -> Verdict:
    """Tell what runs on what: nothing here can fail, and every question about the rest begins with it."""
    here = platform.uname()
    user = f"user {os.geteuid()}"
    return Verdict("ok", f"Skellig {__version__}, Python {platform.python_version()}, {here.system} {here.release}, {user}.")


def git() -> Verdict:
    """Look whether git runs."""
    ended = proc.run(["git", "--version"], timeout=_GIT_SECONDS)
    said = ended.stdout.decode("utf-8", "replace").strip()
    return (
        Verdict("ok", said) if ended.code == 0 else Verdict("failed", "git does not run.", "Install it: apt-get install git")
    )


def open_files() -> Verdict:
    """Look whether enough files may be open for indexes and connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _LEAST_FILES:
        return Verdict("failed", f"At most {hard} files may be open.", f"Allow {_LEAST_FILES}: ulimit -n {_LEAST_FILES}")
    return Verdict("ok", f"{soft} may be open.")


def data_directory(paths: DataPaths) -> Verdict:
    """Look whether the data directory can be written, and what is secret in it is its owner's alone."""
    durable.make_directory(paths.root)
    for private in (paths.run, paths.global_db):
        if private.exists() and private.stat().st_mode & 0o077:
            return Verdict("degraded", f"Others than its owner may read {private}.", f"chmod go= {private}")
    owner = paths.root.stat().st_uid
    if owner != os.geteuid():
        return Verdict("degraded", f"{paths.root} belongs to user {owner}.", "Run this as the user who runs the appliance.")
    return Verdict("ok", str(paths.root))


def confined(paths: DataPaths, *, policy: Policy) -> Verdict:
    """Look whether a command can be confined as *policy* wants; without that agents run none."""
    with tempfile.TemporaryDirectory(dir=durable.make_directory(paths.scratch)) as folder:
        try:
            held = sandbox.run(["true"], folder=Path(folder), aside=paths.scratch / "commands", policy=policy).confinement
        except HostUnfit as exc:
            return Verdict(
                "degraded", f"{exc.message} Agents run no commands.", "The page about the sandbox says what it takes."
            )
    lacking = f" {'; '.join(held.lacking)}." if held.lacking else ""
    return Verdict("ok", f"{', '.join(held.layers)}.{lacking}")


def free_space(paths: DataPaths) -> Verdict:
    """Look whether there is room for models and indexes."""
    place = _existing(paths.root)
    free = shutil.disk_usage(place).free
    said = f"{free / 1e9:.1f} GB free at {display(str(place))}"
    if free < LEAST_FREE:
        least = f"{LEAST_FREE / 1e9:.0f} GB"
        return Verdict("degraded", f"{said}, less than {least}.", "Free space, or choose another directory with --data.")
    return Verdict("ok", said)


def database(paths: DataPaths) -> Verdict:
    """Look whether the control database is sound."""
    if not paths.global_db.exists():
        return Verdict("off", "There is none yet; `skellig up` makes it.")
    with sqlite.store_errors(paths.global_db):
        conn = sqlite3.connect(f"{paths.global_db.absolute().as_uri()}?mode=ro", uri=True)
        try:
            found = conn.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            conn.close()
    if found != "ok":
        return Verdict("failed", f"{paths.global_db} is damaged: {found}.", "Restore it from a backup, or start afresh.")
    return Verdict("ok", "Every page can be read.")


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)
