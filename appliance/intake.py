"""Repositories by being there: each folder and each bundle file of one directory is kept as a repository."""

import os
import threading
from pathlib import Path
from typing import Final

from appliance.base import log
from appliance.base.paths import display
from appliance.codeintel.registry import Repo
from appliance.errors import Conflict, InvalidInput
from appliance.looking import ask_for, moved
from appliance.services import DEFAULT_PROJECT, Services

_log = log.get("intake")

_LOOK_S: Final = 30.0


class Intake:
    """Keeps each folder, and each ``*.bundle``, in the directory *root* as a repository of the project `default`.

    It is named as the folder or the file is; a newer file of the same name brings it up to date.

    One that cannot be read is kept too, so that its fault is seen where repositories are listed. Links, and names that
    begin with a dot, are passed over: copy under such a name, then rename. A folder that is gone stays as it was indexed.
    """

    def __init__(self, services: Services, root: Path) -> None:
        self._services = services
        self._root = root
        self._said: set[str] = set()

    def look(self) -> None:
        """Take in what is new, and ask for an index of what has moved on."""
        known = {repo.source: repo for repo in self._services.registry.repos()}
        for folder in self._folders():
            try:
                self._take(folder, known.get(folder))
            except OSError as exc:  # this folder's alone: the others are looked at
                self._say("intake.unreadable", folder=display(folder.name), reason=exc.strerror or "")

    def keep(self, stop: threading.Event) -> None:
        """Look until *stop* is set."""
        while not stop.is_set():
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next look may go better
                _log.exception("intake.look_failed")
            stop.wait(_LOOK_S)

    def _folders(self) -> list[Path]:
        try:
            with os.scandir(self._root) as entries:
                names = [entry.name for entry in entries if _is_taken(entry)]
        except OSError as exc:
            self._say("intake.unreadable", reason=exc.strerror or "")
            return []
        return [Path(os.path.abspath(self._root / name)) for name in sorted(names)]  # noqa: PTH100 - as the registry has it

    def _take(self, folder: Path, repo: Repo | None) -> None:
        if repo is None:
            self._add(folder)
        elif not repo.error and moved(self._services, repo):
            ask_for(self._services, repo.id)

    def _add(self, folder: Path) -> None:
        try:
            repo = self._added(folder)
        except (Conflict, InvalidInput) as exc:
            self._say("intake.refused", folder=display(folder.name), reason=exc.message)
            return
        self._services.index(repo.id)
        _log.info("intake.added", repo=repo.id, name=repo.name)

    def _added(self, folder: Path) -> Repo:
        registry = self._services.registry
        project = registry.project(DEFAULT_PROJECT).id
        try:
            return registry.add_repo(project, folder, probe=False)
        except Conflict:
            if not folder.name.endswith((".git", ".bundle")):
                raise
            return registry.add_repo(project, folder, name=display(folder.name), probe=False)  # `a` stands beside `a.git`

    def _say(self, event: str, **fields: str) -> None:
        """Log what is so at every look once."""
        if (said := f"{event} {fields}") not in self._said:
            self._said.add(said)
            _log.warning(event, root=display(str(self._root)), **fields)


def _is_taken(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith("."):
        return False
    is_bundle = entry.name.endswith(".bundle") and entry.is_file(follow_symlinks=False)
    return is_bundle or entry.is_dir(follow_symlinks=False)
