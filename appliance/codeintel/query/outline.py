"""What one file defines, in the order of its lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from appliance.base.paths import display
from appliance.codeintel.query.asking import Asked, Page
from appliance.codeintel.query.draft import Code
from appliance.codeintel.query.nearest import nearest
from appliance.codeintel.results import OutlineEntry, OutlineResponse, Span
from appliance.codeintel.store.symbols import SymbolRow
from appliance.errors import NotFound

MOST_ENTRIES: Final = 1000  # on one page
_ALIKE: Final = 0.7
_MOST_LIKE: Final = 20  # names of files


def outline(asked: Asked, path: str, page: Page) -> OutlineResponse:
    """Return what the file at *path* of the one repo that is asked about defines; raise `NotFound` for none."""
    code = asked.code[0]
    file = file_of(code, path)
    entries = list(entries_of(code.generation.symbols.in_file(path)))
    number = code.generation.files.number(path) or 0
    language = code.generation.files.languages[number]
    return OutlineResponse(
        file=file, language=language, entries=tuple(entries[page.part]),
        **asked.rest(total=len(entries), end=page.end, warnings=_unread(code, path, number)),
    )  # fmt: skip


def _unread(code: Code, path: str, number: int) -> Iterator[str]:
    """Yield what of the file was not read as its language."""
    if problem := code.generation.problem(number):
        yield f"{display(path)}: its syntax could not be used ({problem}): its definitions are not known."
    if torn := code.generation.torn(number):
        yield f"{display(path)}: {torn}% of it is no syntax that could be read: what that defines may be missing."


def file_of(code: Code, path: str) -> Span:
    """Return all of the file at *path*; raise `NotFound`, with paths that are near, if the index holds no such file."""
    files = code.generation.files
    number = files.number(path)
    if number is None:
        raise no_file(path, list(files.by_path))
    info = code.generation.info
    return Span(info.repo, code.repo_name, path, 1, max(1, int(files.lines[number])), files.blobs[number], info.commit)


def no_file(path: str, paths: Sequence[str]) -> NotFound:
    """Return the error that the index holds no file *path*."""
    near = nearest(path, _so_called(path.rpartition("/")[2], paths), least=0.0)
    remedy = f"Near are: {', '.join(map(display, near))}." if near else "Search for it: `skellig search`."
    return NotFound(f"The index holds no file {display(path)!r}.", remedy=remedy)


def _so_called(name: str, paths: Sequence[str]) -> list[str]:
    """Return those of *paths* that end in *name*, or if none does, in a name that is like it."""
    names = [each.rpartition("/")[2] for each in paths]
    if name in names:
        return [each for each, last in zip(paths, names, strict=True) if last == name]
    like = set(nearest(name, list(dict.fromkeys(names)), least=_ALIKE, most=_MOST_LIKE))
    return [each for each, last in zip(paths, names, strict=True) if last in like]


def entries_of(rows: Iterable[SymbolRow]) -> Iterator[OutlineEntry]:
    """Yield the definitions *rows* of one file, which come in the order of lines, each with its depth."""
    depths: dict[str, int] = {}
    for row in rows:
        depth = depths[row.qualname] = depths.get(row.parent, -1) + 1 if row.parent else 0
        yield OutlineEntry(row.name, row.qualname, row.kind, row.signature, row.doc, row.start_line, row.end_line, depth)
