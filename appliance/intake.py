"""Repositories by being there: each folder and each bundle file of one directory is kept as a repository."""

import os
import threading
from pathlib import Path
from typing import Final

from appliance.base import log
from appliance.base.paths import display
from appliance.looking import ask_for, moved
from appliance.reconciling import Entry, reconcile
from appliance.services import DEFAULT_PROJECT, Services

_log = log.get("intake")

_LOOK_S: Final = 30.0


class Intake:
    """Keeps each folder, and each ``*.bundle``, in the directory *root* as a repository of the project `default`.

    It is named as the folder or the file is; a newer file of the same name brings it up to date. One that cannot be read is
    kept too, so that its fault is seen where repositories are listed. Links, and names that begin with a dot, are passed
    over: copy under such a name, then rename. A folder that is gone stays as it was indexed.
    """

    def __init__(self, services: Services, root: Path) -> None:
        self._services = services
        self._root = root
        self._said = ""

    def look(self) -> None:
        """Take in what is new, and ask for an index of what has moved on."""
        registry, paths = self._services.registry, self._paths()
        if paths is None:
            return
        before = {str(repo.source): repo for repo in registry.repos()}
        default = registry.project(DEFAULT_PROJECT).id
        entries, kept = [], []
        for path in paths:
            known = before.get(str(path))
            if known is not None and known.project != default:
                kept.append(known)
            else:
                entries.append(_entry(path))
        kept += reconcile(self._services, "dropped", entries)
        for repo in kept:
            if str(repo.source) in before and not repo.error and moved(self._services, repo):
                ask_for(self._services, repo.id)

    def keep(self, stop: threading.Event) -> None:
        """Look until *stop* is set."""
        while not stop.is_set():
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the outermost loop of a thread: the next look may go better
                _log.exception("intake.look_failed")
            stop.wait(_LOOK_S)

    def _paths(self) -> list[Path] | None:
        """Return what is there, None while the directory cannot be read."""
        try:
            with os.scandir(self._root) as entries:
                names = [entry.name for entry in entries if _is_taken(entry)]
        except OSError as exc:
            if self._said != (said := exc.strerror or "unreadable"):
                self._said = said
                _log.warning("intake.unreadable", root=display(str(self._root)), reason=said)
            return None
        return [Path(os.path.abspath(self._root / name)) for name in sorted(names)]  # noqa: PTH100 - as the registry has it


def _entry(path: Path) -> Entry:
    whole = display(path.name)  # `a` stands beside `a.git`
    short = whole.removesuffix(".git").removesuffix(".bundle")
    return Entry(str(path), names=tuple(dict.fromkeys((short, whole))))


def _is_taken(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith("."):
        return False
    is_bundle = entry.name.endswith(".bundle") and entry.is_file(follow_symlinks=False)
    return is_bundle or entry.is_dir(follow_symlinks=False)
