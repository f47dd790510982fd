"""``verify``, ``inspect``, ``apply``, ``rollback`` and ``check``: what is done with a bundle where it arrives.

`skellig bundle` has them, and so has the installer that a bundle carries, on a host with nothing but Python: this module
imports only what the installer brings.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from appliance import __version__
from appliance.bundle import minisign, trust, verify
from appliance.bundle.apply import Applied, Shelf
from appliance.bundle.contents import Progress
from appliance.bundle.trust import Known, Trust
from appliance.bundle.verify import Bundle
from appliance.cli.exits import guarded
from appliance.errors import InvalidInput


class _Folder(click.Path):
    """A folder by its name; the empty one, of a variable that was not set, is none."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        if not os.fspath(value):
            self.fail("an empty name is no folder.", param, ctx)
        return super().convert(value, param, ctx)


_HOME: Final = Path("/var/lib/skellig")
_folder = click.argument("folder", metavar="BUNDLE", type=_Folder(path_type=Path))
_trust = click.option(
    "--trust",
    "trust_folder",
    type=_Folder(path_type=Path),
    default=_HOME / "trust",
    show_default=True,
    help="The folder in which this host remembers whom it trusts and what it took.",
)
_to = click.option(
    "--to", type=_Folder(path_type=Path), default=_HOME / "bundles", show_default=True, help="The folder of versions."
)
_key = click.option("--key", help="The minisign public key, or its file; asked only where the host trusts none yet.")
_strict = click.option("--strict-expiry", "strict", is_flag=True, help="Refuse what this machine's clock says has expired.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass(frozen=True, slots=True)
class Carried:
    """The root that the installer carries."""

    root: bytes


@click.command("verify")
@_folder
@click.option(
    "--to", type=_Folder(path_type=Path), help="The folder of versions. Default: bundles, beside the folder of trust."
)
@_trust
@_key
@_strict
@_json
def verify_command(
    *, folder: Path, to: Path | None, trust_folder: Path, key: str | None, strict: bool, as_json: bool
) -> None:
    """Check that every byte of BUNDLE is what was signed.

    By the keys that this host trusts, or by --key. Nothing is written and no network is used.
    """
    remembered = Trust(trust_folder)
    known = remembered.known() or _first(folder, key, carried=None)
    current = Shelf(to or trust_folder.absolute().parent / "bundles", trust=remembered).current
    now = datetime.now(UTC)
    with bar("Reading", quiet=as_json) as progress:
        bundle = verify.verify(folder, known, now=now, strict=strict, current=current, progress=progress)
    if as_json:
        click.echo(json.dumps(_facts(bundle), indent=2))
        return
    _warn(bundle.warnings)
    click.echo(f"Version {bundle.manifest.version} holds: {len(bundle.entries):,} files, {bundle.size:,} bytes, all signed.")


@click.command()
@_folder
@_json
def inspect(*, folder: Path, as_json: bool) -> None:
    """Say what BUNDLE claims to be.

    Its own keys vouch for that, and nobody for them: `verify` asks those you trust.
    """
    found = verify.examine(folder, trust.claimed(folder), now=datetime.now(UTC))
    facts = _facts(found)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    _warn(found.warnings)
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) or "none" if isinstance(value, list) else value
        if name != "warnings":
            click.echo(f"{name:8} {shown}")


@click.command()
@_folder
@_to
@_trust
@_key
@_strict
@_json
@click.pass_context
def apply(
    ctx: click.Context, *, folder: Path, to: Path, trust_folder: Path, key: str | None, strict: bool, as_json: bool
) -> None:
    """Make BUNDLE the current version of this host.

    It must be what was signed, to the last byte; the bundle of the version that runs mends that one. What is refused or
    broken off leaves the old version current, and nothing behind.
    """
    shelf = Shelf(to.absolute(), trust=Trust(trust_folder))
    now = datetime.now(UTC)
    carried = ctx.find_object(Carried)
    root = carried.root if carried else None
    first = lambda running: _first(folder, key, carried=root, running=running)  # noqa: E731
    with stoppable(), bar("Staging", quiet=as_json) as progress:
        done = shelf.apply(folder, first=first, now=now, strict=strict, progress=progress)
    _say(done, as_json=as_json)


@click.command()
@_to
@_trust
@click.option("--version", help="The version to go back to; nothing changes where it is current already.")
@_json
def rollback(*, to: Path, trust_folder: Path, version: str | None, as_json: bool) -> None:
    """Go back to the version that ran before the current one.

    Only that one is kept.
    """
    with bar("Reading", quiet=as_json) as progress:
        done = Shelf(to.absolute(), trust=Trust(trust_folder)).rollback(version=version, progress=progress)
    _say(done, as_json=as_json)


@click.command()
@_to
@_json
def check(*, to: Path, as_json: bool) -> None:
    """Read every file of the current version.

    Each must be as it was staged, and nothing else may lie there.
    """
    with bar("Reading", quiet=as_json) as progress:
        done = Shelf(to.absolute(), trust=Trust(to)).check(progress=progress)
    if as_json:
        _say(done, as_json=True)
    else:
        click.echo(f"Version {done.version} is whole, in {done.path}.")


COMMANDS: Final = (verify_command, inspect, apply, rollback, check)


def main(*, carried: bytes | None) -> None:
    """Run the installer, which carries the root *carried*, and exit."""

    @click.group(commands=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(__version__, prog_name="skellig-bundle.pyz")
    @click.pass_context
    def installer(ctx: click.Context) -> None:
        """Check a bundle of Skellig, and bring it to this host."""
        ctx.obj = Carried(carried) if carried else None

    sys.exit(guarded(installer, sys.argv[1:], name="skellig-bundle.pyz"))


@contextmanager
def stoppable() -> Iterator[None]:
    """Have a signal that ends processes end the block as an interrupt does, so that nothing half done stays behind."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def bar(title: str, *, quiet: bool) -> Iterator[Progress]:
    """Give a function that draws bytes done of bytes in all, on standard error; nothing where that is no terminal."""
    hidden = quiet or not sys.stderr.isatty()
    with click.progressbar(length=1, label=title, file=sys.stderr, hidden=hidden, update_min_steps=1 << 24) as drawn:
        seen = 0

        def progress(done: int, total: int) -> None:
            nonlocal seen
            drawn.length = total
            drawn.update(done - seen)
            seen = done

        yield progress


def _first(folder: Path, key: str | None, *, carried: bytes | None, running: str | None = None) -> Known:
    return trust.first(folder, key=None if key is None else _public(key), carried=carried, running=running)


def _public(text: str) -> minisign.PublicKey:
    path = Path(text)
    try:
        return minisign.PublicKey.parse(path.read_text() if path.is_file() else text)
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"The key {text!r} cannot be read.") from exc
    except InvalidInput as exc:
        known = "neither a minisign public key nor the file of one"
        said = known if path.exists() else "no minisign public key, and there is no file of that name"
        raise InvalidInput(f"{text!r} is {said}.", remedy=exc.remedy) from exc


def _facts(bundle: Bundle) -> dict[str, object]:
    manifest = bundle.manifest
    return {
        "version": manifest.version,
        "built": manifest.built.isoformat(),
        "expires": bundle.expires.isoformat(),
        "schema": manifest.schema,
        "image": manifest.image.id,
        "models": [model.name for model in manifest.models],
        "files": len(bundle.entries),
        "bytes": bundle.size,
        "warnings": list(bundle.warnings),
    }


def _warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def _say(done: Applied, *, as_json: bool) -> None:
    if as_json:
        facts = {"version": done.version, "changed": done.changed, "path": str(done.path), "warnings": list(done.warnings)}
        click.echo(json.dumps(facts, indent=2))
        return
    _warn(tuple(done.warnings))
    click.echo(
        f"Version {done.version} is current, in {done.path}." if done.changed else f"Version {done.version} was current."
    )
