"""Our own view of somebody's repository: a git directory of ours whose objects and refs are links into theirs.

Git then reads neither the configuration, hooks, attributes, replacement refs nor alternates of the repository, and does not
ask who owns it. Nothing is ever written through the links: every command that runs on a view only reads.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from appliance.base import durable, proc
from appliance.codeintel.source.gitchild import CONFIG, environment
from appliance.errors import InvalidInput, MalformedContent, UnsafePath

_SMALL = 1 << 20  # HEAD, gitdir and config files are a few hundred bytes
_FANOUT = tuple(f"{number:02x}" for number in range(256))
_FOLDERS = frozenset({"pack", *_FANOUT})  # of objects
_GIT_FILE = re.compile(rb"gitdir: ([^\n\0]+)\n?")


@dataclass(frozen=True, slots=True)
class GitDirectory:
    """Where a repository keeps its HEAD (*own*) and, the same but for linked work trees, its objects and refs (*common*)."""

    own: Path
    common: Path
    object_format: str
    borrows: bool  # it has alternates, which are not followed
    stamp: tuple[int, ...]  # of its configuration
    work_tree: Path | None = None  # where its files are checked out; None for a bare one

    def head(self) -> str:
        """Return HEAD as written: ``ref: refs/heads/main`` or a commit id."""
        return _small(self.own / "HEAD").decode("utf-8", "surrogateescape").strip()


def find(location: Path, *, known: GitDirectory | None = None) -> GitDirectory | None:
    """Return the git directory of the work tree or bare repository at *location*, None for a plain folder.

    Raise `MalformedContent` for a broken one, `UnsafePath` for one that leads to another repository's files. What is *known*
    of its configuration is believed while that file is the same.
    """
    own = _own_directory(location)
    if own is None:
        return None
    common = _common_directory(own)
    for name in ("objects", "refs", "packed-refs", "shallow"):
        _inside(common / name, common)
    _own_objects(common)
    stamp = _stamp(common / "config")
    same = known is not None and (known.common, known.stamp) == (common, stamp)
    object_format = known.object_format if known is not None and same else _object_format(common)
    alternates = common / "objects" / "info" / "alternates"
    borrows = alternates.is_file() and alternates.stat().st_size > 0
    return GitDirectory(own, common, object_format, borrows, stamp, None if own == location else location)


def build(directory: GitDirectory, *, under: Path) -> Path:
    """Make the view of *directory* in the folder *under*, or find the one that is there, and return its path."""
    config = CONFIG.format(format=directory.object_format)
    digest = hashlib.sha256(os.fsencode(directory.common) + b"\0" + config.encode()).hexdigest()[:16]
    target = under / f"view-{digest}"
    if _complete(target, config):
        return target
    durable.make_directory(under)
    shutil.rmtree(target, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=".view-", dir=under))
    try:
        _lay_out(aside, directory.common, config)
        with contextlib.suppress(OSError):  # another process was first: its view is the same
            aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target


def _lay_out(view: Path, common: Path, config: str) -> None:
    (view / "objects").mkdir()
    (view / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
    for name in ("pack", *_FANOUT):
        (view / "objects" / name).symlink_to(common / "objects" / name)
    for name in ("refs", "packed-refs", "shallow"):
        (view / name).symlink_to(common / name)
    (view / "config").write_text(config, encoding="ascii")


def _complete(view: Path, config: str) -> bool:
    try:
        return (view / "config").read_text(encoding="ascii") == config and (view / "HEAD").stat().st_size > 0
    except (OSError, UnicodeDecodeError):
        return False


def _own_directory(location: Path) -> Path | None:
    dot_git = location / ".git"
    try:
        mode = dot_git.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return location if _looks_like_git(location) else None
    except OSError as exc:
        raise unreadable(location, exc) from exc
    if stat.S_ISLNK(mode):
        raise UnsafePath(f"{dot_git} is a link.", remedy="Give the repository that it points to.", path=str(dot_git))
    if stat.S_ISREG(mode):
        return _pointed_at(dot_git)
    if not _looks_like_git(dot_git):
        raise MalformedContent(
            f"{dot_git} is not a git directory.", remedy="Repair the repository, or remove .git to index a plain folder."
        )
    return dot_git


def _looks_like_git(path: Path) -> bool:
    try:
        return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
    except OSError as exc:
        raise unreadable(path, exc) from exc


def _pointed_at(git_file: Path) -> Path:
    """Follow a ``.git`` file of a linked work tree or submodule, if what it names says that it belongs to it."""
    match = _GIT_FILE.fullmatch(_small(git_file))
    if match is None:
        raise MalformedContent(
            f"{git_file} is a file that names no git directory.", remedy="Remove it or repair the work tree."
        )
    own = Path(os.path.realpath(git_file.parent / os.fsdecode(match[1])))
    if not (own / "HEAD").is_file():
        raise MalformedContent(f"{git_file} names {own}, where no repository is.", remedy="Run `git worktree repair`.")
    if not _belongs(own, git_file):
        raise UnsafePath(
            f"{git_file} names {own}, which does not know it.", remedy=f"Give {own} itself.", path=str(git_file)
        )
    return own


def _belongs(own: Path, git_file: Path) -> bool:
    back = own / "gitdir"
    if back.is_file():
        return os.path.realpath(os.fsdecode(_small(back).rstrip(b"\n"))) == os.path.realpath(git_file)
    tree = _setting(own, "core.worktree").rstrip("\n")
    return bool(tree) and os.path.realpath(own / tree) == os.path.realpath(git_file.parent)


def _common_directory(own: Path) -> Path:
    pointer = own / "commondir"
    if not pointer.exists():
        return own
    common = Path(os.path.realpath(own / os.fsdecode(_small(pointer).rstrip(b"\n"))))
    if Path(os.path.realpath(own)).parent != common / "worktrees":
        raise UnsafePath(
            f"{own} borrows from {common}, which does not know it.", remedy=f"Give {common} itself.", path=str(own)
        )
    return common


def _inside(path: Path, root: Path) -> None:
    real, inside = os.path.realpath(path), os.path.realpath(root) + os.sep
    if not real.startswith(inside):
        raise UnsafePath(
            f"{path} leads out of the repository.", remedy=f"Give the repository that holds {real}.", path=str(path)
        )


def _own_objects(common: Path) -> None:
    """Raise `UnsafePath` for an object or a folder of objects that is a link out of the repository."""
    for folder in _entries(common / "objects"):
        if folder.name not in _FOLDERS:
            continue
        if folder.is_symlink():
            _inside(Path(folder.path), common)
        for entry in _entries(Path(folder.path)):
            if entry.is_symlink():
                _inside(Path(entry.path), common)


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as exc:
        raise unreadable(folder, exc) from exc


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _object_format(common: Path) -> str:
    if _setting(common, "extensions.refstorage").strip() not in {"", "files"}:
        raise MalformedContent(
            f"{common} keeps its refs in a form that is not read.",
            remedy="Run `git refs migrate --ref-format=files` in it, or give a clone.",
        )
    return _setting(common, "extensions.objectformat").strip().lower() or "sha1"


def _setting(git_dir: Path, name: str) -> str:
    """Return one value of the repository's own configuration file, "" if it is not set; what it includes is not read."""
    config = git_dir / "config"
    if not config.is_file():
        return ""
    content = _small(config)
    argv = ("git", "config", "--file", "-", "--no-includes", "--get", name)
    done = proc.run(argv, timeout=10, env=environment(Path("/nonexistent")), stdin=content)
    if done.code not in {0, 1}:
        raise MalformedContent(
            f"{config} is not a git configuration.", remedy="Repair it: `git config --list` names the line."
        )
    return done.stdout.decode("utf-8", "surrogateescape")


def _small(path: Path) -> bytes:
    """Read a regular file of modest size; never wait on a pipe."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        raise unreadable(path, exc) from exc
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SMALL:
            raise MalformedContent(f"{path} is not what git keeps there.", remedy="Repair the repository.")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(_SMALL)
    finally:
        os.close(fd)


def unreadable(path: Path, exc: OSError) -> InvalidInput:
    """Return the error for a path that the operating system does not let us read."""
    return InvalidInput(
        f"{path} cannot be read: {exc.strerror}.", remedy="Let the account that runs Skellig read it.", path=str(path)
    )
