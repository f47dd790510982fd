"""``skellig bundle``: keys and bundles are made here; `appliance.cli.carry` has what is done where a bundle arrives."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click

from appliance.bundle import build as building
from appliance.bundle import image as images
from appliance.bundle import keys as signing
from appliance.bundle import layout
from appliance.bundle.build import ModelSource, Recipe
from appliance.cli import carry, loading, output, planning
from appliance.cli.flags import Flags
from appliance.errors import InvalidInput
from appliance.inference.catalog import Catalog
from appliance.inference.store import ModelStore
from appliance.tables import MIGRATIONS

# What the formats inside a bundle can hold, with the time that it lasts.
_EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
_INSIDE: Final = {"docs": "/usr/share/doc/skellig/html", "sbom": "/usr/share/skellig/sbom.cdx.json"}
_NEEDED: Final = {"ansible": "playbooks", "licences": "a licence"}
_TREES: Final[Mapping[str, tuple[str, str]]] = {
    "ansible": ("ansible", "The playbooks and roles."),
    "collections": ("collections", "The vendored Ansible collections."),
    "docs": ("docs/_build", "The built documentation."),
    "licences": ("LICENSE", "A licence, or a folder of them."),
    "sbom": ("sbom", "The list of components, or a folder of them."),
    "notes": ("CHANGELOG.md", "The release notes."),
}


@click.group(commands=carry.COMMANDS)
def command() -> None:
    """Build, verify and apply signed bundles."""


@command.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--threshold", type=int, default=1, show_default=True, help="How many keys of a role must sign.")
@click.option("--keys", "count", type=int, default=1, show_default=True, help="How many keys each role has.")
@click.option("--rotate", is_flag=True, help="Make new keys in a DIR that has some; hosts follow with the next bundle.")
@output.json_option
def keys(*, folder: Path, threshold: int, count: int, rotate: bool, as_json: bool) -> None:
    """Make the keys that sign bundles in the folder DIR.

    Those of root, targets, snapshot and timestamp, and minisign's for the first trust. None is ever overwritten. Keep DIR
    off line; hosts need only the public key that is printed.
    """
    making = signing.rotate if rotate else signing.make
    made = making(folder, threshold=threshold, count=count, now=datetime.now(UTC))
    if as_json:
        output.print_json({"path": str(folder), "root": len(made.roots), "public_key": made.minisigner.key.line})
        return
    click.echo(f"Root {len(made.roots)} asks for {threshold} of {count} keys for each role; they are in {folder}.")
    click.echo(f"Public key, for hosts: {made.minisigner.key.line}")


def _tree_options(function: click.decorators.FC) -> click.decorators.FC:
    for name, (default, text) in list(_TREES.items())[::-1]:
        first = "what the image has, else " if name in _INSIDE else ""
        said = f"{text} Default: {first}{default}, where that exists."
        function = click.option(f"--{name}", type=click.Path(path_type=Path), help=said)(function)
    return function


@command.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--image", required=True, help="The image in podman's store, or an OCI archive of it.")
@click.option("--model", "models", multiple=True, help="A model of the catalogue that is in the store; may be repeated.")
@click.option("--version", "version", required=True, help="The version, higher than any that hosts have taken.")
@click.option("--keys", "keys_folder", type=click.Path(path_type=Path), required=True, help="The folder of keys.")
@click.option("--store", type=click.Path(path_type=Path), help="A model directory instead of the data directory's.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True, help="How long it is good for.")
@click.option(
    "--part-size", type=click.IntRange(1), default=layout.PART, show_default=True, help="Bytes of the largest part."
)
@_tree_options
@output.json_option
@click.pass_obj
def build(  # noqa: PLR0913 - one argument for each option
    flags: Flags,
    /,
    *,
    out: Path,
    image: str,
    models: tuple[str, ...],
    version: str,
    keys_folder: Path,
    store: Path | None,
    days: int,
    part_size: int,
    as_json: bool,
    **trees: Path | None,
) -> None:
    """Build a bundle in the new folder OUT.

    It holds image, models, playbooks and documents, all signed; its time is SOURCE_DATE_EPOCH where that is set.
    """
    building.check_new(out, version=version)
    outside = _outside(trees)
    built, signers, chosen = _built(), _signers(keys_folder), list(_models(flags, models, store))
    with carry.stoppable(), _archive(image, near=out, version=version, built=built) as (archive, inside):
        recipe = Recipe(
            version=version,
            built=built,
            schema=len(MIGRATIONS),
            image=archive,
            models=chosen,
            trees=dict(_trees(outside, {name: path for name, path in inside.items() if trees[name] is None})),
            lasts=timedelta(days=days),
            largest=part_size,
        )
        with carry.bar("Writing", quiet=as_json) as progress:
            building.build(out, recipe, keys=signers, progress=progress)
    if as_json:
        output.print_json({"version": version, "path": str(out)})
    else:
        click.echo(f"The bundle of version {version} is in {out}.")


def _signers(folder: Path) -> signing.Keys:
    signers = signing.load(folder)
    if seen := signing.exposed(folder):
        click.echo(f"warning: others can read or change {layout.named(list(map(str, seen)))}: chmod go= them.", err=True)
    return signers


def _built() -> datetime:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        built = datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise InvalidInput(f"SOURCE_DATE_EPOCH is {given!r}, which is no number of seconds.") from exc
    if not _EARLIEST <= built <= _LATEST:
        raise InvalidInput(f"SOURCE_DATE_EPOCH is {given!r}, which is in the year {built.year}: no bundle is of that time.")
    return built


def _models(flags: Flags, names: tuple[str, ...], store: Path | None) -> Iterator[ModelSource]:
    catalog = Catalog.load()
    models = ModelStore(store.absolute(), catalog=catalog) if store else loading.store(loading.load(flags), catalog=catalog)
    for lack in planning.lacking(names, catalog=catalog):
        click.echo(f"warning: {lack}", err=True)
    for name in dict.fromkeys(names):
        model = catalog.get(name)
        digests = [file.sha256 for file in model.file]
        yield ModelSource(name, model.licence, tuple(zip(models.paths(name), digests, strict=True)))


@contextmanager
def _archive(image: str, *, near: Path, version: str, built: datetime) -> Iterator[tuple[Path, dict[str, Path]]]:
    """Give *image* as a file: itself where it is one, else written beside the bundle and removed afterwards.

    With it come the documents and the list of components that the image holds, where it comes from podman.
    """
    if Path(image).is_file():
        yield Path(image), {}
        return
    near.absolute().parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".skellig-image-", dir=near.absolute().parent))
    try:
        archive = images.export(image, folder, called=f"localhost/skellig:{version}", time=int(built.timestamp()))
        yield archive, images.take(image, _INSIDE, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _outside(given: Mapping[str, Path | None]) -> dict[str, Path]:
    """Return what lies outside the image of what the payload holds: what was asked for, else the default where it is there.

    Raise `InvalidInput` where what was asked for is not there, or what no bundle goes without.
    """
    asked = {name: path or Path(_TREES[name][0]) for name, path in given.items()}
    if gone := [str(path) for name, path in asked.items() if given[name] and not path.exists()]:
        raise InvalidInput(f"{layout.named(gone)} does not exist.", path=gone[0])
    found = {name: path for name, path in asked.items() if path.exists()}
    if missing := [name for name in _NEEDED if name not in found]:
        raise InvalidInput(
            f"A bundle needs {' and '.join(_NEEDED[name] for name in missing)},"
            f" and {Path.cwd()} has no {' and no '.join(_TREES[name][0] for name in missing)}.",
            remedy=f"Run this in Skellig's checkout, or name them: {', '.join(f'--{name}' for name in missing)}.",
        )
    return found


def _trees(outside: Mapping[str, Path], inside: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """Give what the payload holds beside image and models, by its place: what is *inside* the image goes before."""
    for name, found in {**outside, **inside}.items():
        called = Path(_INSIDE[name]).name if name in inside else found.name
        if name == "notes":
            yield layout.NOTES, found
        else:
            yield (f"{name}/{called}" if found.is_file() else name), found
