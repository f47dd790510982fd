"""The files of a repository as folders, at the commit that is indexed."""

from dataclasses import dataclass
from typing import Annotated, Final

from litestar import Response, get
from litestar.params import QueryParameter

from appliance.base.paths import display
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.generation import Generation
from appliance.console.code import file_url, folder_url
from appliance.console.render import Page
from appliance.console.text import count
from appliance.console.wiring import Pages
from appliance.errors import NotFound
from appliance.web.requests import exact_path
from appliance.web.wiring import Asked, Wired

_MOST_SHOWN: Final = 120  # entries of one folder: keeps the page under 60 KB
_BESIDE: Final = 12  # files around one that is shown: they share its page


@dataclass(frozen=True, slots=True)
class Entry:
    """A folder, with what is in it, or a file."""

    name: str
    href: str
    folder: bool
    detail: str
    here: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """What one folder holds, and the folders around it, outermost first. ``left`` counts the entries that are not shown."""

    repo: str
    repo_id: str
    commit: str
    path: str
    around: tuple[Entry, ...]
    entries: tuple[Entry, ...]
    left: int


@get("/browse", sync_to_thread=True)
def show(
    request: Asked, services: Wired, pages: Pages, repo: Annotated[str, QueryParameter(max_length=100)]
) -> Response[str]:
    """Show what the folder ``path`` of *repo* holds, or its root."""
    known = services.registry.repo(repo)
    generation = services.generations.published(known.id)
    view = folder_of(known, generation, _named(exact_path(request.scope["query_string"]), generation))
    if not view.entries:
        raise NotFound(
            f"The index holds no folder {display(view.path)}.", remedy=f"Open the root: {folder_url(known.id, path='')}"
        )
    return pages.response("tree.html", page=Page(view.path or known.name, "repos", services.clock.now()), view=view)


def folder_of(repo: Repo, generation: Generation, path: str, *, here: str = "") -> Folder:
    """Return what the folder *path*, "" for the root, of *repo* holds; with *here*, that file and its neighbours."""
    start = f"{path}/" if path else ""
    folders: dict[str, int] = {}
    files: list[Entry] = []
    for known, number in generation.files.by_path.items():
        if not known.startswith(start):
            continue
        name, inner, _ = known[len(start) :].partition("/")
        if inner:
            folders[name] = folders.get(name, 0) + 1
        else:
            files.append(_file(repo, generation, known, number, here=here))
    entries = [
        Entry(display(name), folder_url(repo.id, path=start + name), folder=True, detail=count(files_in, "file"))
        for name, files_in in folders.items()
    ]
    entries += files
    at = next((number for number, entry in enumerate(entries) if entry.here), 0)
    first = max(0, min(at - _BESIDE // 2, len(entries) - _BESIDE))
    shown = entries[first : first + _BESIDE] if here else entries[:_MOST_SHOWN]
    return Folder(
        repo=repo.name,
        repo_id=repo.id,
        commit=generation.info.commit,
        path=display(path),
        around=tuple(_around(repo, path)),
        entries=tuple(shown),
        left=len(entries) - len(shown),
    )


def _named(path: str, generation: Generation) -> str:
    """Return the folder that *path* names, as it is or as it is shown."""
    path = path.strip("/")
    if not path or any(known.startswith(f"{path}/") for known in generation.files.by_path):
        return path
    folders = (known.rpartition("/")[0] for known in generation.files.by_path)
    return next((folder for folder in folders if display(folder) == path), path)


def _file(repo: Repo, generation: Generation, path: str, number: int, *, here: str) -> Entry:
    lines, language = int(generation.files.lines[number]), generation.files.languages[number]
    href = file_url(repo.id, path=path, commit=generation.info.commit, start=1, end=0)
    return Entry(
        display(path.rpartition("/")[2]), href, folder=False, detail=f"{count(lines, 'line')}, {language}", here=path == here
    )


def _around(repo: Repo, path: str) -> list[Entry]:
    parts = path.split("/") if path else []
    return [
        Entry(display(part), folder_url(repo.id, path="/".join(parts[:number])), folder=True, detail="")
        for number, part in enumerate(parts, start=1)
    ]
