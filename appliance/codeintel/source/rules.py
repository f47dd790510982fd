"""What is left out of a snapshot by its path because somebody said so: the repository's settings, or files of its own."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.repo_settings import RepoSettings
from appliance.codeintel.source.base import LeftOut, Reason, Snapshot, Source
from appliance.codeintel.source.globs import Glob, Globs
from appliance.errors import ApplianceError

IGNORE_FILE: Final = ".skelligignore"
ATTRIBUTES_FILE: Final = ".gitattributes"
MODULES_FILE: Final = ".gitmodules"
_MOST_LINES: Final = 100  # of the repository's own files, of which each costs a little for each file
_LONGEST_LINE: Final = 200
_MOST_PARTS: Final = 8
_LOGIN: Final = re.compile(r"(?<=//)[^/@]*@")
_LINGUIST: Final[dict[str, Reason]] = {"linguist-vendored": "vendored", "linguist-generated": "generated"}


class Rules:
    """Judges paths of one snapshot.

    *ignore*, *attributes* and *modules* are the lines of the files of that name at the root of the tree.
    """

    def __init__(
        self, settings: RepoSettings, *, ignore: Sequence[str], attributes: Sequence[str], modules: Sequence[str]
    ) -> None:
        self._include = Globs(settings.include)
        self._exclude = Globs(settings.exclude)
        self._ignore = Globs(ignore)
        self._marks = _marks(attributes)
        self._modules = _modules(modules)

    def judge(self, path: str) -> LeftOut | None:
        """Return why the file at *path* is left out, or None."""
        if self._include and not self._include.fit(path):
            return LeftOut(path, "excluded", "not among what the repository's settings include")
        if self._exclude and self._exclude.fit(path):
            return LeftOut(path, "excluded", "by the repository's settings")
        if self._ignore and self._ignore.fit(path):
            return LeftOut(path, "excluded", f"by {IGNORE_FILE}")
        for reason in dict.fromkeys(reason for _, reason, _ in self._marks):
            if self._marked(path, reason):
                return LeftOut(path, reason, f"by {ATTRIBUTES_FILE}")
        return None

    def module(self, path: str) -> str:
        """Return the address of the submodule at *path*, without a login; "" if the repository does not tell."""
        return self._modules.get(path, "")

    def _marked(self, path: str, reason: Reason) -> bool:
        marks = (meant for glob, mark, meant in reversed(self._marks) if mark == reason and glob.fits(path, folder=False))
        return next(marks, False)


def rules_of(source: Source, snapshot: Snapshot, settings: RepoSettings) -> Rules:
    """Return the rules for *snapshot*. Of its own files the first 100 rules count; one that cannot be read has none."""
    return Rules(
        settings,
        ignore=_lines(source, snapshot, IGNORE_FILE),
        attributes=_lines(source, snapshot, ATTRIBUTES_FILE),
        modules=_lines(source, snapshot, MODULES_FILE),
    )


def selected(settings: RepoSettings) -> str:
    """Return what tells apart two indexes of one tree under different settings."""
    chosen = settings.selection
    return f"/{hashlib.sha256(chosen).hexdigest()[:16]}" if chosen else ""


def _lines(source: Source, snapshot: Snapshot, path: str) -> list[str]:
    try:
        blob = source.locate(commit=snapshot.commit, path=path)
        content = source.blob(blob) if blob is not None else b""
    except ApplianceError:  # then it is left out itself, with the reason
        return []
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    rules = (line for line in lines if line and not line.startswith("#") and len(line) <= _LONGEST_LINE)
    return [line for line in rules if line.count("/") < _MOST_PARTS][:_MOST_LINES]


def _modules(lines: Sequence[str]) -> dict[str, str]:
    """Return the addresses of submodules by path."""
    found: dict[str, str] = {}
    told: dict[str, str] = {}
    for line in lines:
        name, equals, value = (part.strip() for part in line.partition("="))
        told = told | {name: value} if equals else {}
        if {"path", "url"} <= told.keys():
            found[told["path"]] = display(_LOGIN.sub("", told["url"]))
    return found


def _marks(lines: Sequence[str]) -> list[tuple[Glob, Reason, bool]]:
    found: list[tuple[Glob, Reason, bool]] = []
    for line in lines:
        pattern, *attributes = line.split()
        if pattern.startswith(("!", '"', "[attr]")):
            continue
        for attribute in attributes:
            name, _, value = attribute.partition("=")
            reason = _LINGUIST.get(name.lstrip("-!"))
            if reason is not None:
                found.append((Glob(pattern), reason, not attribute.startswith(("-", "!")) and value != "false"))
    return found
