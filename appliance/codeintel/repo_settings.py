"""How one repository is kept: which of its branches and files, and how often it is looked at."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from appliance.base.paths import display
from appliance.errors import InvalidInput
from appliance.jobs.schedule import hours_of, schedule_of

_MOST_PATTERNS: Final = 200
_LONGEST_PATTERN: Final = 300
_TAGS: Final = "refs/tags/"
_MOST_MB: Final = 1_000_000
_WHOLE: Final = 100  # percent
_FILE: Final = re.compile(r"/[^\x00-\x1f\x7f\"]{1,1000}")
_PATTERN: Final = re.compile(rf"[^\x00-\x1f\x7f]{{1,{_LONGEST_PATTERN}}}")


class RepoSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings of one repository. Nothing set: its own branch, every file, indexed when it is asked for.

    ``branches`` are patterns of branches (and, as ``refs/tags/v*``, tags) that are kept indexed beside its own; ``*`` fits
    any characters. ``include`` and ``exclude`` are patterns of paths as .gitignore has them. It is indexed by the
    ``schedule`` and, with ``watch``, when its files or refs change; neither within the ``quiet`` hours, nor while work on it
    (index, graph, vectors) would take more than ``share`` percent of the time since that work began last. One on another
    machine is reached with the ssh key in ``key_file``, or the ``user:token`` in ``credentials_file``, and only where its
    host key is in ``known_hosts`` or its certificate by an authority in ``ca_file``; at most ``max_mb`` of it are fetched.
    """

    branches: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    schedule: str = ""
    quiet: str = ""
    share: int = 100
    watch: bool = False
    key_file: str = ""
    known_hosts: str = ""
    ca_file: str = ""
    credentials_file: str = ""
    max_mb: int = 4000

    @property
    def selection(self) -> bytes:
        """What tells apart two selections of files of one tree; b"" while every file is selected."""
        return msgspec.json.encode((self.include, self.exclude)) if self.include or self.exclude else b""


_DECODER: Final = msgspec.json.Decoder(RepoSettings)


def checked(settings: RepoSettings) -> RepoSettings:
    """Return *settings*; raise `InvalidInput` for one that cannot be."""
    for name, patterns in (("branches", settings.branches), ("include", settings.include), ("exclude", settings.exclude)):
        if len(patterns) > _MOST_PATTERNS:
            raise InvalidInput(f"There are more than {_MOST_PATTERNS} patterns of {name}.", remedy="Use wider ones.")
        for pattern in patterns:
            if not _PATTERN.fullmatch(pattern) or not _is_text(pattern) or not pattern.strip():
                shown = display(pattern[:40])
                remedy = f"Patterns have 1 to {_LONGEST_PATTERN} characters, and no control characters."
                raise InvalidInput(f"{shown!r} is no pattern of {name}.", remedy=remedy)
    for name in ("key_file", "known_hosts", "ca_file", "credentials_file"):
        path = str(getattr(settings, name))
        if path and (not _FILE.fullmatch(path) or not _is_text(path)):
            raise InvalidInput(f"{display(path[:80])!r} is no path for {name}.", remedy="Give an absolute one.")
    if not 1 <= settings.max_mb <= _MOST_MB:
        raise InvalidInput("A repository may have 1 to 1,000,000 MB.", limit=_MOST_MB)
    if not 1 <= settings.share <= _WHOLE:
        raise InvalidInput("The share of the time is 1 to 100 percent.", limit=_WHOLE)
    schedule_of(settings.schedule)
    hours_of(settings.quiet)
    return settings


def fits(branch: str, patterns: Iterable[str]) -> bool:
    """Return whether one of *patterns* fits the name *branch*. Tags, ``refs/tags/…``, are meant only by patterns of tags."""
    return any(fnmatchcase(branch, pattern) for pattern in patterns if pattern.startswith(_TAGS) == branch.startswith(_TAGS))


def packed(settings: RepoSettings) -> str:
    """Return *settings* as the registry keeps them."""
    return msgspec.json.encode(settings).decode()


def unpacked(kept: str) -> RepoSettings:
    """Return what `packed` packed."""
    return _DECODER.decode(kept)


def _is_text(pattern: str) -> bool:
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return False
    return True
