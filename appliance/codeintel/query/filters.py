"""What the filters of a query let through: which repos, and which chunks of each."""

import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from appliance.base.paths import display
from appliance.codeintel.query.querylang import ParsedQuery, dotted, path_matches
from appliance.codeintel.query.signals import Ids
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generation import Generation
from appliance.errors import InvalidInput


def repos_for(query: ParsedQuery, repos: Sequence[Repo]) -> list[Repo]:
    """Return those of *repos* that the ``repo:`` filters let through; raise `InvalidInput` if a filter fits none."""
    filters = query.of("repo")
    for each in filters:
        if not any(_called(repo, each.value) for repo in repos):
            names = ", ".join(repo.name for repo in repos[:10])
            raise InvalidInput(
                f"The filter {display(str(each))} fits no repository.", remedy=f"There are: {names}.", filter=str(each)
            )
    wanted = [f.value for f in filters if not f.negative]
    unwanted = [f.value for f in filters if f.negative]
    return [
        repo
        for repo in repos
        if (not wanted or any(_called(repo, value) for value in wanted))
        and not any(_called(repo, value) for value in unwanted)
    ]


def branches_for(query: ParsedQuery, scope: Scope) -> tuple[str, ...]:
    """Return the patterns of branches to look at: those of the ``branch:`` filters, else those of *scope*."""
    return tuple(each.value for each in query.of("branch")) or scope.branches


def chunks_for(query: ParsedQuery, generation: Generation) -> Ids | None:
    """Return the chunks of *generation* that the other filters let through, sorted; None when there are no such filters."""
    allowed: Ids | None = None
    if query.of("path") or query.of("lang"):
        allowed = np.flatnonzero(_files(query, generation)[generation.chunk_file])
    for each in query.of("symbol"):
        inside = _symbol(each.value, generation)
        allowed = inside if allowed is None else np.intersect1d(allowed, inside)
    return allowed


def unspoken(query: ParsedQuery, generations: Sequence[Generation]) -> list[str]:
    """Return a warning for each ``lang:`` filter of whose language no file of *generations* is."""
    filters = query.of("lang")
    if not filters:
        return []
    spoken = sorted({language for each in generations for language in each.files.languages} - {""})
    there = f"the languages of the index are {', '.join(spoken)}" if spoken else "the index has no language"
    return [f"No file is of the language {display(f.value)}: {there}." for f in filters if f.value not in spoken]


def _called(repo: Repo, value: str) -> bool:
    return repo.id == value or fnmatch.fnmatchcase(repo.name.casefold(), value.casefold())


def _files(query: ParsedQuery, generation: Generation) -> npt.NDArray[np.bool_]:
    paths, files = query.of("path"), generation.files
    languages = query.of("lang")
    wanted = {f.value for f in languages if not f.negative}
    unwanted = {f.value for f in languages if f.negative}
    fitting = np.fromiter(
        (
            (not wanted or language in wanted) and language not in unwanted and path_matches(path, paths)
            for path, language in zip(files.paths, files.languages, strict=True)
        ),
        dtype=np.bool_,
        count=files.end,
    )
    return fitting & files.alive


def _symbol(name: str, generation: Generation) -> Ids:
    """Return the chunks that overlap a definition called *name*."""
    asked = dotted(name)
    rows = generation.symbols.qualified(asked) if "." in asked else generation.symbols.named(asked)
    found: set[int] = set()
    for row in rows:
        first, last = (int(bound) for bound in generation.files.first_chunk[row.file : row.file + 2])
        starts, ends = generation.chunk_start[first:last], generation.chunk_end[first:last]
        found.update((first + np.flatnonzero((starts <= row.end_line) & (ends >= row.start_line))).tolist())
    return np.array(sorted(found), dtype=np.int64)
