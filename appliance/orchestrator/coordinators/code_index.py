"""The real index as an exploration asks it: search by words and by meaning, definitions and callers by the graph."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.offers import Graphing, Searching
from appliance.codeintel.results import Scope, Span
from appliance.errors import InvalidInput, NotFound
from appliance.ids import RepoId
from appliance.orchestrator.coordinators.exploration import Findings, FoundFile

_LOOKED_UP: Final = 3  # names
_USES: Final = 10  # calls of each
_LONGEST_QUERY: Final = 900
_AND: Final = "; "  # between reasons
_WORD: Final = re.compile(r"[\w$]+(?:(?:\.|::|->|#)[\w$]+)*")


class IndexedCode:
    """The code of *scope*, and no other. *places* says where repositories stand, for roots that are absolute paths."""

    def __init__(
        self, searcher: Searching, graphs: Graphing, *, scope: Scope, places: Mapping[str, RepoId] | None = None
    ) -> None:
        self._searcher = searcher
        self._graphs = graphs
        self._scope = scope
        self._places = places or {}

    async def find(self, question: str, *, names: tuple[str, ...], root: str, limit: int) -> Findings:
        """Return at most *limit* files: those that define what *names* name, then what search found, then callers.

        Raise `NotFound` where nothing of the scope is indexed or an absolute *root* is none of its repositories, and
        `InvalidInput` for a question without words.
        """
        scope, folder = self._within(root)
        found = _Found()
        query = " ".join(_WORD.findall(question))[:_LONGEST_QUERY]
        filtered = f'{query} path:"/{folder}/"' if folder else query
        hits = await self._searcher.search(filtered, scope=scope, limit=min(3 * limit, 100))
        found.calls, found.warnings = 1, dict.fromkeys(hits.warnings)
        callers: list[FoundFile] = []
        for name in [name for name in names if _WORD.fullmatch(name)][:_LOOKED_UP]:
            callers += await self._look_up(name, found, scope=scope)
        for hit in hits.hits:
            found.add(_file(hit.span, hit.symbol, _AND.join(hit.why)))
        for file in callers:
            found.add(file)
        files = [file for file in found.files.values() if not folder or file.path.startswith(f"{folder}/")]
        return Findings(tuple(files[:limit]), found.calls, tuple(found.warnings))

    async def _look_up(self, name: str, found: "_Found", *, scope: Scope) -> list[FoundFile]:
        """Add the files that define *name*, and return those that call it; a name that nothing has is no news."""
        found.calls += 1
        try:
            defined = await self._graphs.definition(name, scope=scope, limit=_LOOKED_UP)
        except NotFound:
            return []
        for each in defined.definitions:
            found.add(_file(each.span, each.symbol, f"defines {display(each.name)}"))
        found.calls += 1
        try:
            called = await self._graphs.calls(name, "callers", scope=scope, limit=_USES)
        except (NotFound, InvalidInput):  # it is a file or a module, or has no graph yet
            return []
        found.warnings |= dict.fromkeys((*defined.warnings, *called.warnings))
        return [_file(call.span, call.caller, f"calls {display(name)}") for call in called.calls]

    def _within(self, root: str) -> tuple[Scope, str]:
        """Return the scope that *root* leaves of ours, and the folder in its repositories."""
        path = PurePath(root)
        if not path.is_absolute():
            return self._scope, _folder(path)
        for place, repo in sorted(self._places.items(), key=lambda each: -len(each[0])):
            if path.is_relative_to(place) and (not self._scope.repos or repo in self._scope.repos):
                return replace(self._scope, repos=(repo,)), _folder(path.relative_to(place))
        raise NotFound("No repository that may be looked at stands there.", remedy="`skellig repo list` names them.")


def _folder(path: PurePath) -> str:
    if ".." in path.parts or '"' in str(path):
        raise InvalidInput("A root is a folder within the repository.", remedy="Leave out `..`.", root=display(str(path)))
    return "" if str(path) == "." else path.as_posix()


class _Found:
    """Files as they are found, each once, the first reason first."""

    def __init__(self) -> None:
        self.files: dict[tuple[str, str], FoundFile] = {}
        self.calls = 0
        self.warnings: dict[str, None] = {}

    def add(self, file: FoundFile) -> None:
        """Add *file*, or where it is there already only what it is there for as well."""
        key = (file.repo, file.path)
        known = self.files.get(key)
        if known is None:
            self.files[key] = file
        else:
            reasons = dict.fromkeys((*known.why.split(_AND), *file.why.split(_AND)))
            self.files[key] = replace(known, why=_AND.join(reasons))


def _file(span: Span, symbol: str, why: str) -> FoundFile:
    return FoundFile(span.repo_name, display(span.path), span.start_line, span.end_line, display(symbol), display(why))
