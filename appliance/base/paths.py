"""Where data lives, and how a foreign path is kept inside the folder that it belongs to."""

import os
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import UnsafePath
from appliance.ids import ProjectId


@dataclass(frozen=True, slots=True)
class DataPaths:
    """The layout of one data directory. Pure names: nothing is created here."""

    root: Path

    @property
    def global_db(self) -> Path:
        """Users, sessions, repos, jobs, settings: the source of truth."""
        return self.root / "global.db"

    @property
    def models(self) -> Path:
        """Content-addressed model files: ``models/<sha256>/<name>``."""
        return self.root / "models"

    @property
    def run(self) -> Path:
        """Sockets, pid files, generated supervisor configuration. Mode 0700, empty after a reboot is fine."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """One rotated file per program."""
        return self.root / "logs"

    @property
    def scratch(self) -> Path:
        """Scratch worktrees, and temporary files of commands in the sandbox: nothing here is missed after a restart."""
        return self.root / "scratch"

    @property
    def lock(self) -> Path:
        """Held by the appliance that uses this directory."""
        return self.root / "lock"

    def project(self, project: ProjectId) -> "ProjectPaths":
        """Return the layout of one project."""
        return ProjectPaths(contained(self.root / "projects", project))

    def engine_socket(self, role: str) -> Path:
        """Return the unix socket of the engine for *role*."""
        return self.run / f"engine-{role}.sock"


@dataclass(frozen=True, slots=True)
class ProjectPaths:
    """One project's derived, rebuildable state."""

    root: Path

    @property
    def db(self) -> Path:
        """Facts of blobs, the generations, and which of them is published for each repo."""
        return self.root / "project.db"

    @property
    def generations(self) -> Path:
        """One folder a generation: `generation.db` (files, symbols, left-out ones), lexical index, latent space, vectors."""
        return self.root / "generations"

    @property
    def renewed(self) -> Path:
        """Generations that are built anew aside, until they take the place of those that patches wore."""
        return self.root / "renewed"

    @property
    def vectors(self) -> Path:
        """LanceDB: the durable store of vectors, keyed by blob and chunk."""
        return self.root / "vectors"

    @property
    def undo_db(self) -> Path:
        """What agents edited, so that it can be taken back: a file of its own, which no index writes to."""
        return self.root / "undo.db"

    @property
    def mirrors(self) -> Path:
        """Bare repositories of our own: the commits of plain folders."""
        return self.root / "mirrors"


def contained(root: Path, relative: str) -> Path:
    """Return *root* / *relative*, or raise `UnsafePath` if that would leave *root*.

    Absolute paths, ``..``, NUL and empty names are refused; symbolic links on the way are resolved and must stay inside.
    """
    parts = relative.split("/")
    if not relative or "\0" in relative or relative.startswith("/") or any(p in {"", ".", ".."} for p in parts):
        raise UnsafePath(f"The path {display(relative)!r} is not a plain relative path.", path=display(relative))
    target = root / relative
    real_root = os.path.realpath(root)
    real = os.path.realpath(target)
    if real != real_root and not real.startswith(real_root + os.sep):
        raise UnsafePath(f"The path {display(relative)!r} leaves its folder.", path=display(relative))
    return target


def display(path: str) -> str:
    """Return *path* safe to show: bytes that are not UTF-8 and control characters are written as escapes.

    Paths inside the program are ``str`` decoded with *surrogateescape*, so that their bytes survive a round trip.
    """
    return "".join(
        f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else c if c.isprintable() else ascii(c)[1:-1] for c in path
    )


def shown(text: str) -> str:
    """Return *text* without lone surrogates, which UTF-8 cannot carry; line ends stay."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
