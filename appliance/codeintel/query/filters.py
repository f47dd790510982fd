"""What the filters of a query let through: which repos, and which chunks of each."""

import fnmatch
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from appliance.base.paths import display
from appliance.codeintel.query.parts import Part, open_parts, repos_of
from appliance.codeintel.query.patterns import Late, chunks_with
from appliance.codeintel.query.querylang import ParsedQuery, dotted, path_matches
from appliance.codeintel.query.signals import Ids
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Scope
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.generations import Generations
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import InvalidInput, NotFound


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


def parts_for(query: ParsedQuery, scope: Scope, generations: Generations) -> tuple[list[Part], list[str]]:
    """Open what the ``repo:`` and ``branch:`` filters let through of *scope*, and return with it what cannot be read.

    Raise `InvalidInput` for a ``repo:`` filter that fits none, `NotFound` when nothing is left or nothing of it is indexed.
    """
    wanted = repos_for(query, repos_of(generations, scope))
    if not wanted:
        raise NotFound("The filters leave no repository to search.", remedy="Take back a repo: filter.")
    branches = query.of("branch")
    unwanted = [each.value for each in branches if each.negative]
    patterns = tuple(each.value for each in branches if not each.negative) or scope.branches or ("*",) * bool(unwanted)
    parts, warnings = open_parts(generations, wanted, branches=patterns)
    left = [part for part in parts if not any(_on(part, value) for value in unwanted)]
    if not left:
        there = ", ".join(sorted({display(part.generation.info.branch or "HEAD") for part in parts}))
        raise NotFound("The filters leave no branch to search.", remedy=f"Take back one of them; there are: {there}.")
    return left, warnings


def files_for(query: ParsedQuery, generation: Generation) -> npt.NDArray[np.bool_]:
    """Return for each file of *generation* whether the ``path:`` and ``lang:`` filters let it through."""
    paths, files = query.of("path"), generation.files
    languages = query.of("lang")
    wanted = {f.value for f in languages if not f.negative}
    unwanted = {f.value for f in languages if f.negative}
    if not paths and not languages:
        return files.alive.copy()
    fitting = np.fromiter(
        (
            (not wanted or language in wanted) and language not in unwanted and path_matches(path, paths)
            for path, language in zip(files.paths, files.languages, strict=True)
        ),
        dtype=np.bool_,
        count=files.end,
    )
    return fitting & files.alive


def definitions_for(query: ParsedQuery, generation: Generation) -> list[SymbolRow] | None:
    """Return the definitions that a ``symbol:`` filter names; None when there is no such filter."""
    names = [dotted(each.value) for each in query.of("symbol")]
    if not names:
        return None
    symbols = generation.symbols
    return [row for name in names for row in (symbols.qualified(name) if "." in name else symbols.named(name))]


def chunks_for(query: ParsedQuery, generation: Generation, *, late: Late) -> tuple[Ids | None, bool]:
    """Return the chunks of *generation* that the other filters let through, sorted; None when there are no such filters.

    With them comes whether all was looked at before it was *late*.
    """
    allowed: Ids | None = None
    whole = True
    if query.of("path") or query.of("lang"):
        allowed = np.flatnonzero(files_for(query, generation)[generation.chunk_file])
    definitions = definitions_for(query, generation)
    if definitions is not None:
        inside = _overlapping(definitions, generation)
        allowed = inside if allowed is None else np.intersect1d(allowed, inside)
    if query.patterns:
        inside, whole = chunks_with(generation, query, files=files_for(query, generation), late=late)
        allowed = inside if allowed is None else np.intersect1d(allowed, inside)
    return allowed, whole


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


def _on(part: Part, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in (part.branch, part.generation.info.branch or "HEAD"))


def _overlapping(definitions: Sequence[SymbolRow], generation: Generation) -> Ids:
    """Return the chunks that overlap one of *definitions*."""
    found: set[int] = set()
    for row in definitions:
        first, last = (int(bound) for bound in generation.files.first_chunk[row.file : row.file + 2])
        starts, ends = generation.chunk_start[first:last], generation.chunk_end[first:last]
        found.update((first + np.flatnonzero((starts <= row.end_line) & (ends >= row.start_line))).tolist())
    return np.array(sorted(found), dtype=np.int64)
