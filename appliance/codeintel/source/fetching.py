"""Brings the wanted branches of a repository elsewhere, or of a bundle file, into a bare mirror of ours."""

import difflib
import os
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from appliance.base import durable, proc
from appliance.base.budget import Deadline
from appliance.base.paths import display
from appliance.codeintel.needs import Check, Progress
from appliance.codeintel.repo_settings import RepoSettings, fits
from appliance.codeintel.source.access import ASIDE, reached
from appliance.codeintel.source.address import Address, Remote
from appliance.codeintel.source.faults import fault_of
from appliance.codeintel.source.gitchild import CONFIG, environment
from appliance.codeintel.source.objects import is_id
from appliance.errors import DiskFull, LimitExceeded, MalformedContent, NotFound, StorageFault, Unreachable

NAME: Final = "fetched.git"
_LISTING_S: Final = 45.0
_WHOLE_S: Final = 4 * 3600.0
_SILENCE_S: Final = 60.0  # without a byte received
_LOOK_S: Final = 0.1
_MOST_REFS: Final = 50_000
_MOST_WANTED: Final = 500
_MOST_PACKS: Final = 40
_LISTING_BYTES: Final = 32 << 20
_SHA1: Final = 40  # characters of such an id
_BRANCH: Final = "refs/heads/"
_TAG: Final = "refs/tags/"
_PERCENT: Final = re.compile(rb"(?:Receiving|Unpacking|Resolving)[a-z ]*: +\d+% \((\d+)/(\d+)\)")


@dataclass(frozen=True, slots=True)
class Listing:
    """The refs that the other side has, and the branch that its HEAD names ("" where that cannot be told)."""

    refs: Mapping[str, str]
    head: str


class Fetcher:
    """Fetches *address* into a bare repository under *mirror*, a folder of ours for this one source."""

    def __init__(self, address: Address, settings: RepoSettings, *, mirror: Path, progress: Progress, check: Check) -> None:
        self._address = address
        self._settings = settings
        self._mirror = mirror
        self._store = mirror / NAME
        self._progress = progress
        self._check = check

    def fetch(self, branch: str | None) -> None:
        """Bring *branch* (None: what HEAD names there), and those that the settings' patterns fit, to where they are there.

        Branches that are no more go. On an error the mirror is as it was. Raise `NotFound` when there are no commits, or not
        that branch; `Unreachable`, `AuthFailed`, `HostKeyUnknown`, `CertificateUnknown` or `Unsupported` when the other side
        cannot be read; `MalformedContent` for what is no repository; `LimitExceeded` when it is larger than the settings let
        it be.
        """
        durable.make_directory(self._mirror)
        with durable.exclusive(self._mirror / "fetch.lock", what=f"the fetch of {display(str(self._address))}"):
            self._progress("fetch", 0, None)
            _make_store(self._store, "sha1")
            self._tidy()
            listing = self._listed()
            own = _own(listing, branch)
            wanted = self._wanted(listing, own)
            _make_store(self._store, "sha1" if len(wanted[own]) == _SHA1 else "sha256")
            held = _held(self._store)
            if missing := {ref: oid for ref, oid in wanted.items() if held.get(ref) != oid}:
                try:
                    self._receive(sorted(missing))
                finally:
                    self._tidy()
            self._point(own, gone=sorted(held.keys() - wanted.keys()))

    def _listed(self) -> Listing:
        argv = ("git", "ls-remote", "--quiet", "--symref", "--", str(self._address), "HEAD", "refs/heads/*", "refs/tags/*")
        said = self._run(argv, most_bytes=_LISTING_BYTES, seconds=_LISTING_S)
        refs: dict[str, str] = {}
        head = head_id = ""
        for line in said.decode("utf-8", "replace").splitlines()[:_MOST_REFS]:
            oid, _, ref = line.partition("\t")
            if ref == "HEAD" and oid.startswith("ref: "):
                head = oid.removeprefix("ref: ")
            elif ref == "HEAD":
                head_id = oid
            elif is_id(oid) and ref.startswith((_BRANCH, _TAG)) and not ref.endswith("^{}") and "\ufffd" not in ref:
                refs[ref] = oid
        same = [ref for ref, oid in refs.items() if oid == head_id and ref.startswith(_BRANCH)]
        return Listing(refs, head if head in refs else _likeliest(same or [r for r in refs if r.startswith(_BRANCH)]))

    def _wanted(self, listing: Listing, own: str) -> dict[str, str]:
        patterns = self._settings.branches
        fitting = [ref for ref in listing.refs if fits(ref.removeprefix(_BRANCH), patterns)]
        if len(fitting) > _MOST_WANTED:
            said = f"{len(fitting)} branches and tags fit the patterns; at most {_MOST_WANTED} are fetched."
            raise LimitExceeded(said, remedy="Narrow them: `skellig repo set --track`.")
        return {ref: listing.refs[ref] for ref in (own, *fitting)}

    def _receive(self, refs: Sequence[str]) -> None:
        argv = (
            "git", "fetch", "--atomic", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--no-recurse-submodules",
            "--force", "--progress", "--stdin", "--", str(self._address),
        )  # fmt: skip
        specs = "".join(f"+{ref}:{ref}\n" for ref in refs).encode()
        left = self._settings.max_mb * 1_000_000 - _size(self._store)
        if left <= 0:
            raise self._too_large()
        self._run(argv, most_bytes=left, seconds=_WHOLE_S, stdin=specs)
        if _size(self._store) > self._settings.max_mb * 1_000_000:
            raise self._too_large()

    def _point(self, own: str, *, gone: Sequence[str]) -> None:
        """Let HEAD name *own*, and take away the refs that are *gone*."""
        if gone:
            commands = "".join(f"delete {ref}\n" for ref in gone).encode()
            _git(self._store, "update-ref", "--stdin", stdin=commands)
        head = f"ref: {own}\n".encode()
        if (self._store / "HEAD").read_bytes() != head:
            durable.write_file(self._store / "HEAD", head)
        if not _git(self._store, "rev-parse", "--verify", "--quiet", f"{own}^{{commit}}"):
            raise MalformedContent("What was fetched has no commit at its head.", remedy="Run `git fsck` on the other side.")
        if len(list((self._store / "objects" / "pack").glob("*.pack"))) > _MOST_PACKS:
            _git(self._store, "repack", "-a", "-d", "-q", "--keep-unreachable", timeout=_WHOLE_S)

    def _run(self, argv: Sequence[str], *, most_bytes: int, seconds: float, stdin: bytes = b"") -> bytes:
        """Run git against the other side and return what it printed. No file that it writes is larger than *most_bytes*."""
        with (
            tempfile.TemporaryFile(dir=self._mirror) as given,
            tempfile.TemporaryFile(dir=self._mirror) as out,
            tempfile.TemporaryFile(dir=self._mirror) as err,
            reached(self._address, self._settings, git_dir=self._store, under=self._mirror) as variables,
        ):
            given.write(stdin)
            given.seek(0)
            child = proc.spawn(
                argv, env=variables, cwd=self._mirror, stdin=given.fileno(), stdout=out.fileno(), stderr=err.fileno()
            )
            try:
                resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
                deadline, silent = Deadline(seconds, what="The fetch"), Deadline(_SILENCE_S, what="")
                seen = -1
                while child.poll() is None:
                    self._check()
                    now = os.fstat(err.fileno()).st_size + os.fstat(out.fileno()).st_size + _size(self._store)
                    if now != seen:
                        seen, silent = now, Deadline(_SILENCE_S, what="")
                        self._tell(_tail(err.fileno()))
                    if not deadline.left or not silent.left:
                        raise self._silent()
                    if _size(self._store) > self._settings.max_mb * 1_000_000:
                        raise self._too_large()
                    time.sleep(_LOOK_S)
            finally:
                proc.end_group(child, grace=0)
            said = _tail(err.fileno())
            if child.returncode:
                if b"File size limit" in said or b"signal 25" in said or b"File too large" in said:
                    raise self._too_large()
                if durable.is_full(self._mirror):
                    raise DiskFull("No space is left for the mirror of the repository.", remedy="Free some, then refresh.")
                raise fault_of(self._address, said)
            out.seek(0)
            return out.read(most_bytes)

    def _tell(self, said: bytes) -> None:
        if found := _PERCENT.findall(said):
            done, total = found[-1]
            self._progress("fetch", int(done), int(total))

    def _tidy(self) -> None:
        """Remove what a fetch that was cut off left behind: halves of packs, and what it was let in with."""
        objects = self._store / "objects"
        for left in (*(objects / "pack").glob("tmp_*"), *objects.glob("tmp_objdir-*"), *self._mirror.glob(f"{ASIDE}*")):
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)
        for left in self._store.rglob("*.lock"):
            left.unlink(missing_ok=True)

    def _silent(self) -> Unreachable:
        where = self._address.host if isinstance(self._address, Remote) else str(self._address)
        return Unreachable(f"{where} did not answer in time.", remedy="Look whether it is up; it is tried again by itself.")

    def _too_large(self) -> LimitExceeded:
        said = f"The repository is larger than {self._settings.max_mb:,} MB."
        return LimitExceeded(said, remedy="Raise it with `skellig repo set --max-mb`.", limit=self._settings.max_mb)


def _own(listing: Listing, branch: str | None) -> str:
    """Return the ref of *branch*, None for what HEAD names there."""
    if not listing.refs:
        raise NotFound("The repository has no commits yet.", remedy="Commit something there, then refresh.")
    if branch is None:
        if listing.head:
            return listing.head
        raise NotFound("Its HEAD names no branch that exists.", remedy="Choose one: `skellig repo set --branch`.")
    for ref in (f"{_BRANCH}{branch}", f"{_TAG}{branch}", branch):
        if ref in listing.refs:
            return ref
    names = [ref.removeprefix(_BRANCH) for ref in listing.refs if ref.startswith(_BRANCH)]
    close = (difflib.get_close_matches(branch, names, n=5, cutoff=0.5) or names)[:5]
    shown = ", ".join(display(name) for name in close)
    raise NotFound(f"The repository has no branch {display(branch)!r}.", remedy=f"Choose one with --branch: {shown}.")


def _likeliest(refs: Sequence[str]) -> str:
    """Return the branch of *refs* that a HEAD without a name most likely means."""
    for ref in ("refs/heads/main", "refs/heads/master"):
        if ref in refs:
            return ref
    return refs[0] if len(refs) == 1 else ""


def _make_store(store: Path, object_format: str) -> None:
    """Make *store* an empty bare repository, unless it is one of this format already."""
    config = CONFIG.format(format=object_format)
    if (store / "HEAD").is_file() and (store / "config").read_text(encoding="ascii") == config:
        return
    shutil.rmtree(store, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=".fetched-", dir=store.parent))
    try:
        _git(aside, "init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(aside))
        (aside / "config").write_text(config, encoding="ascii")
        aside.rename(store)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _held(store: Path) -> dict[str, str]:
    said = _git(store, "for-each-ref", "--format=%(objectname) %(refname)")
    pairs = (line.split(" ", 1) for line in said.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, ref in pairs}


def _git(store: Path, *arguments: str, stdin: bytes = b"", timeout: float = 60.0) -> bytes:
    """Run git on our own mirror, with no way out, and return what it printed: nothing where it has nothing to say."""
    done = proc.run(("git", *arguments), timeout=timeout, env=environment(store), stdin=stdin)
    if done.code > 1:
        kind = DiskFull if durable.is_full(store.parent) else StorageFault
        raise kind(
            "The mirror of the repository cannot be written.", remedy="See that the disk takes writes.", path=str(store)
        )
    return done.stdout


def _size(store: Path) -> int:
    """Return the bytes of the packs of *store*, whole and growing ones."""
    total = 0
    for entry in (store / "objects" / "pack").glob("*"):
        try:
            total += entry.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _tail(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, 4000, max(0, size - 4000))
