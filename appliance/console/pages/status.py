"""Status: every part, every model, the disk and the newest jobs, as they are now."""

import asyncio
import os
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from litestar import Response, get

from appliance import __version__
from appliance.base.paths import display
from appliance.console.pages.questions import Waiting, waiting
from appliance.console.pages.rows import JobRow, Mood, job_row
from appliance.console.render import Page
from appliance.console.wiring import Pages
from appliance.inference.catalog import Catalog
from appliance.inference.engines.base import EngineHealth, Role
from appliance.inference.store import ModelStore
from appliance.ops.health import Checked, Overall, Report, State
from appliance.services import Services
from appliance.web.wiring import Wired

_JOBS: Final = 20
_MOST_FILES: Final = 50_000
_ROLES: Final[tuple[Role, ...]] = ("chat", "embed")
_OVERALL: Final[dict[Overall, tuple[Mood, str]]] = {
    "ready": ("good", "Ready"),
    "starting": ("live", "Starting"),
    "degraded": ("warn", "Degraded"),
    "failed": ("bad", "Failed"),
}
_PARTS: Final[dict[State, tuple[Mood, str]]] = {
    "ok": ("good", "Running"),
    "off": ("idle", "Off"),
    "starting": ("live", "Starting"),
    "degraded": ("warn", "Degraded"),
    "failed": ("bad", "Failed"),
}


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a part that is not well says."""

    mood: Mood
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class PartRow:
    """One program, engine or store."""

    name: str
    mood: Mood
    word: str
    model: str
    detail: str


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model of the catalogue."""

    name: str
    role: str
    have: bool
    size: int
    licence: str


@dataclass(frozen=True, slots=True)
class StatusView:
    """The page."""

    mood: Mood
    word: str
    version: str
    waiting: Waiting
    faults: tuple[Complaint, ...]
    parts: tuple[PartRow, ...]
    models: tuple[ModelRow, ...]
    disk: tuple[tuple[str, int], ...]
    jobs: tuple[JobRow, ...]


@get("/status")
async def show(services: Wired, pages: Pages) -> Response[str]:
    """Show how everything is."""
    report, engines, still = await asyncio.gather(
        services.health.report(), _engines(services), asyncio.to_thread(_still_life, services)
    )
    mood, word = _OVERALL[report.state]
    view = StatusView(
        mood=mood,
        word=word,
        version=__version__,
        waiting=still.waiting,
        faults=_complaints(report),
        parts=tuple(_part(part, engines) for part in report.parts),
        models=still.models,
        disk=still.disk,
        jobs=still.jobs,
    )
    return pages.response("status.html", page=Page("Status", "status", services.clock.now()), view=view)


@dataclass(frozen=True, slots=True)
class _StillLife:
    waiting: Waiting
    models: tuple[ModelRow, ...]
    disk: tuple[tuple[str, int], ...]
    jobs: tuple[JobRow, ...]


def _still_life(services: Services) -> _StillLife:
    """Return what only the disk knows."""
    names = {str(repo.id): repo.name for repo in services.registry.repos()}
    names |= {str(project.id): project.name for project in services.registry.projects()}
    jobs = tuple(job_row(job, names=names) for job in services.jobs.list(limit=_JOBS))
    catalog = Catalog.load()
    store = ModelStore(services.paths.models, catalog=catalog, beside=services.settings.models_at)
    models = tuple(
        ModelRow(model.name, model.role, store.have(model.name), model.size, model.licence) for model in catalog.models
    )
    usage = shutil.disk_usage(services.paths.root)
    disk = (
        ("Free", usage.free),
        _indexes(services.paths.root / "projects"),
        ("Models", sum(model.size for model in models if model.have)),
        ("Control data", sum(map(_file_size, _database(services.paths.global_db)))),
    )
    return _StillLife(waiting(services), models, disk, jobs)


async def _engines(services: Services) -> dict[Role, EngineHealth]:
    found = await asyncio.gather(*(services.engines.health(role) for role in _ROLES))
    return dict(zip(_ROLES, found, strict=True))


def _part(part: Checked, engines: dict[Role, EngineHealth]) -> PartRow:
    mood, word = _PARTS[part.verdict.state]
    model = next((health.model for role, health in engines.items() if part.name == f"engine-{role}"), "")
    return PartRow(part.name, mood, word, model, display(part.verdict.detail))


def _complaints(report: Report) -> tuple[Complaint, ...]:
    return tuple(
        Complaint(_PARTS[part.verdict.state][0], f"{part.name}: {display(part.verdict.detail)}", part.verdict.remedy)
        for part in report.parts
        if part.verdict.state in {"degraded", "failed"}
    )


def _database(path: Path) -> tuple[Path, ...]:
    """Return the files of an SQLite database: most of a young one is still in its log."""
    return (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _indexes(folder: Path, *, most: int = _MOST_FILES) -> tuple[str, int]:
    """Return the bytes of the files below *folder* and what to call them: with more than *most* files not all are seen.

    Files that vanish while it is read count nothing.
    """
    files = (Path(here, name) for here, _, names in os.walk(folder) for name in names)
    total = sum(_file_size(file) for file in islice(files, most))
    return ("Indexes" if next(files, None) is None else "Indexes, at least"), total
