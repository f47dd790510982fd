"""The lines that a citation names, at the commit that it names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from litestar import Response, get
from litestar.params import QueryParameter
from markupsafe import Markup

from appliance.base.paths import display
from appliance.codeintel.parse.languages import language_of
from appliance.codeintel.registry import Repo
from appliance.codeintel.results import Span
from appliance.codeintel.source.base import Source
from appliance.codeintel.store.generation import Generation
from appliance.console.code import LINE_CHARACTERS, Excerpt, Place, cited, file_url, whole, window
from appliance.console.pages.tree import Folder, folder_of
from appliance.console.render import Page
from appliance.console.text import count
from appliance.console.wiring import Pages
from appliance.errors import ApplianceError, NotFound, StoreCorrupt
from appliance.ids import BlobId, CommitId
from appliance.services import Services
from appliance.web.requests import COMMIT, exact_path
from appliance.web.wiring import Asked, Wired

_LAST_LINE: Final = 100_000_000
_AROUND: Final = 60  # lines shown before and after the cited ones
_MOST_LINES: Final = 240
_MOST_CHARACTERS: Final = 42_000  # of HTML for the lines: keeps the page under 60 KB
_OUTLINE: Final = 120


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """One definition of the file."""

    name: str
    line: int
    href: str
    nested: bool


@dataclass(frozen=True, slots=True)
class FileView:
    """The page. ``moved`` says how the branch differs from the commit that is shown; "" when it does not."""

    place: Place
    repo_id: str
    blob: str
    cited: bool
    total: int
    code: Excerpt
    before: str
    after: str
    outline: tuple[OutlineItem, ...]
    path: str
    tree: Folder | None = None
    permalink: str = ""
    ask: str = ""
    language: str = ""
    moved: str = ""


@dataclass(frozen=True, slots=True)
class _Shown:
    """The lines that fit the page: their numbers, from 1."""

    first: int
    last: int


@get("/file", sync_to_thread=True)
def show(  # noqa: PLR0913, PLR0917 - the address has these parts
    request: Asked,
    services: Wired,
    pages: Pages,
    repo: Annotated[str, QueryParameter(max_length=100)],
    commit: Annotated[str, QueryParameter(pattern=COMMIT)],
    start: Annotated[int, QueryParameter(ge=1, le=_LAST_LINE)] = 1,
    end: Annotated[int, QueryParameter(ge=0, le=_LAST_LINE)] = 0,
    at: Annotated[int, QueryParameter(ge=0, le=_LAST_LINE)] = 0,
) -> Response[str]:
    """Show the lines *start* to *end* among their neighbours; ``at`` moves the window, ``end`` 0 cites nothing."""
    known = services.registry.repo(repo)
    source = services.generations.source(known.id)
    generation = _published(known, services)
    path, blob = _located(_path(request), source, generation, commit=CommitId(commit))
    content = source.blob(blob)
    language = _language(path, content, generation)
    lines = whole(content, language)
    if start > max(1, len(lines)):
        raise NotFound(f"The file has {count(len(lines), 'line')}, not {start:,}.", remedy="Open it from its first line.")
    last = min(end or start, max(1, len(lines)))
    span = Span(known.id, known.name, path, start, max(start, last), blob, CommitId(commit))
    view = _view(span, lines, generation, is_cited=end > 0, at=at)
    tree = None if generation is None else folder_of(known, generation, path.rpartition("/")[0], here=path)
    view = replace(view, language=language, moved=_moved(span, known, source), tree=tree)
    page = Page(f"{view.place.name}:{start}" if end else view.place.name, "", services.clock.now())
    return pages.response("file.html", page=page, view=view)


@dataclass(frozen=True, slots=True)
class LinesView:
    """Nothing but lines."""

    code: Excerpt


@get("/lines", sync_to_thread=True)
def show_lines(
    request: Asked,
    services: Wired,
    pages: Pages,
    repo: Annotated[str, QueryParameter(max_length=100)],
    commit: Annotated[str, QueryParameter(pattern=COMMIT)],
    start: Annotated[int, QueryParameter(ge=1, le=_LAST_LINE)],
    end: Annotated[int, QueryParameter(ge=1, le=_LAST_LINE)],
) -> Response[str]:
    """Return the lines *start* to *end* alone, in colour, for a card that stands already."""
    known = services.registry.repo(repo)
    source = services.generations.source(known.id)
    generation = _published(known, services)
    path, blob = _located(_path(request), source, generation, commit=CommitId(commit))
    content = source.blob(blob)
    language = _language(path, content, generation)
    view = LinesView(cited(content, language=language, start=start, end=end, limit=_MOST_LINES))
    return pages.response("lines.html", page=Page("Lines", "", services.clock.now()), view=view)


def _path(request: Asked) -> str:
    path = exact_path(request.scope["query_string"])
    if not path:
        raise NotFound("The address names no file.", remedy="Open a file from a search or an answer.")
    return path


def _published(repo: Repo, services: Services) -> Generation | None:
    try:
        return services.generations.published(repo.id)
    except (NotFound, StoreCorrupt):
        return None


def _located(path: str, source: Source, generation: Generation | None, *, commit: CommitId) -> tuple[str, BlobId]:
    """Return the file that *path* names, as it is or as it is shown, and its blob in *commit*."""
    blob = source.locate(commit=commit, path=path)
    if blob is None and generation is not None:
        path = next((known for known in generation.files.by_path if display(known) == path), path)
        blob = source.locate(commit=commit, path=path)
    if blob is None:
        raise NotFound(
            f"There is no file {display(path)} at {commit[:10]}.",
            remedy="The repository may have been rewritten; search again.",
        )
    return path, blob


def _view(span: Span, lines: Sequence[Markup], generation: Generation | None, *, is_cited: bool, at: int) -> FileView:
    total = max(1, len(lines))
    shown = _fitting(lines or [Markup()], middle=at or span.start_line, span=span, total=total)
    hot = range(span.start_line, span.end_line + 1) if is_cited else range(0)
    code = window(lines[shown.first - 1 : shown.last] or [Markup()], first=shown.first, hot=hot)
    step = shown.last - shown.first + 1
    return FileView(
        place=Place.of(span),
        repo_id=span.repo,
        blob=span.blob,
        cited=is_cited,
        total=len(lines),
        code=code,
        before=_address(span, cited=is_cited, at=max(1, shown.first - step // 2)) if shown.first > 1 else "",
        after=_address(span, cited=is_cited, at=shown.last + step // 2) if shown.last < total else "",
        outline=_outline(span, generation, shown),
        path=display(span.path),
        permalink=file_url(span.repo, path=span.path, commit=span.commit, start=span.start_line, end=span.end_line),
        ask=_question(span, generation) if is_cited else "",
    )


def _question(span: Span, generation: Generation | None) -> str:
    """Return the question about the lines of *span*, with the definition that holds all of them if the index knows one."""
    lines = f"{display(span.path)}:{span.start_line}-{span.end_line}"
    number = generation.files.number(span.path) if generation is not None else None
    if generation is None or number is None or generation.files.blobs[number] != span.blob:
        return f"What does the code in {lines} do?"
    around = [
        row
        for row in generation.symbols.in_file(span.path)
        if row.start_line <= span.start_line <= span.end_line <= row.end_line
    ]
    inner = max(around, key=lambda row: row.start_line, default=None)
    return f"What does the code in {lines} do?" if inner is None else f"What does `{display(inner.qualname)}` do in {lines}?"


def _fitting(lines: Sequence[Markup], *, middle: int, span: Span, total: int) -> _Shown:
    """Return the lines around *middle* that a page can carry: grown to both sides until one bound is met."""
    wide = middle == span.start_line
    first = max(1, min(middle, total) - _AROUND)
    last = min(total, (span.end_line if wide else middle) + _AROUND)
    last = min(last, first + _MOST_LINES - 1)
    while last > first and sum(len(line) + LINE_CHARACTERS for line in lines[first - 1 : last]) > _MOST_CHARACTERS:
        first += (middle - first + 1) // 2
        last = max(middle, last - max(1, (last - middle) // 2))
        if first >= middle and last <= middle:
            break
    return _Shown(first, last)


def _language(path: str, content: bytes, generation: Generation | None) -> str:
    number = generation.files.number(path) if generation is not None else None
    if generation is None or number is None:
        return language_of(path, content[:4096])
    return generation.files.languages[number]


def _outline(span: Span, generation: Generation | None, shown: _Shown) -> tuple[OutlineItem, ...]:
    """Return the definitions of the file, if the index holds this very blob of it."""
    number = generation.files.number(span.path) if generation is not None else None
    if generation is None or number is None or generation.files.blobs[number] != span.blob:
        return ()
    return tuple(
        OutlineItem(
            name=display(row.name),
            line=row.start_line,
            href=f"#L{row.start_line}"
            if shown.first <= row.start_line <= shown.last
            else _address(span, cited=False, at=row.start_line),
            nested=bool(row.parent),
        )
        for row in generation.symbols.in_file(span.path)[:_OUTLINE]
    )


def _moved(span: Span, repo: Repo, source: Source) -> str:
    try:
        branch, tip = source.tip(repo.branch)
        now = source.locate(commit=tip, path=span.path)
        behind = source.behind(branch=branch, commit=span.commit) if branch else None  # a folder would be walked
    except ApplianceError:
        return "The repository cannot say whether its branch has moved on."
    if tip == span.commit:
        return ""
    fate = (
        "this file is gone there"
        if now is None
        else "this file is the same"
        if now == span.blob
        else "this file has changed"
    )
    ahead = f"{branch or 'HEAD'} has moved on" + (f" by {count(behind, 'commit')}" if behind else "")
    return f"{ahead}; {fate}."


def _address(span: Span, *, cited: bool, at: int) -> str:
    end = span.end_line if cited else 0
    start = span.start_line if cited else at
    url = file_url(span.repo, path=span.path, commit=span.commit, start=start, end=end).partition("#")[0]
    return f"{url}&at={at}#L{at}"
