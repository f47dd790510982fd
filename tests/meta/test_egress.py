"""Nothing that is shipped names a host that it could call, and asking the command line for help starts nothing."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from appliance.cli.main import skellig

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("appliance", "models", "images", "ansible", "Containerfile")
HOST = re.compile(rb"\b(?:https?|wss?|ftp)://([\w.-]+)")
KNOWN = {
    "localhost": "never resolved outside",
    "127.0.0.1": "loopback: what an address looks like, in a sentence",
    "host": "stands for a site's own server, where the help says what an address looks like",
    "engine": "the name that HTTP over a unix socket has to carry",
    "www.w3.org": "the name of the SVG namespace",
    "cyclonedx.org": "the name of the format of the list of components",
    "git-lfs.github.com": "the first line of a pointer file, which is recognized by it",
    "hawser.github.com": "the same, of an older form",
    "www.apache.org": "in the text of the licence",
    "github.com": "where a vendored script came from, in its licence",
    "en.wikipedia.org": "in a comment of a vendored script: where its method is described",
    "engelschall.com": "the same: who wrote a part of it",
    "opensource.org": "the same: the licence of that part",
}
FETCHERS = ("podman", "docker", "skopeo", "buildah", "curl", "wget", "pip", "ansible-galaxy", "git")


def shipped() -> Iterator[Path]:
    for name in SHIPPED:
        top = ROOT / name
        yield from [top] if top.is_file() else (path for path in top.rglob("*") if path.is_file())


def commands(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield names
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*names, name))


def test_every_host_that_is_named_is_known_with_the_reason() -> None:
    named: dict[str, set[str]] = {}
    for path in shipped():
        if path.suffix == ".pyc" or ".mypy_cache" in path.parts:
            continue
        for host in HOST.findall(path.read_bytes()):
            named.setdefault(host.decode().rstrip(".").lower(), set()).add(str(path.relative_to(ROOT)))
    assert {host: files for host, files in named.items() if host not in KNOWN} == {}
    assert not set(KNOWN) - set(named)


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put programs that only note their call before all others, and return the note."""
    note = tmp_path / "called"
    note.touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in FETCHERS:
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{note}"\nexit 1\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("SKELLIG_DATA", str(tmp_path / "data"))
    return note


def test_the_note_is_taken(called: Path) -> None:
    for name in FETCHERS:
        subprocess.run([name, "pull"], check=False)
    assert called.read_text().split("\n")[:-1] == [f"{name} pull" for name in FETCHERS]


@pytest.mark.parametrize("argv", list(commands(skellig)), ids=" ".join)
def test_help_starts_nothing_and_makes_nothing(called: Path, argv: tuple[str, ...]) -> None:
    result = CliRunner().invoke(skellig, [*argv, "--help"])
    assert (result.exit_code, result.output.startswith("Usage:")) == (0, True)
    assert called.read_text() == ""
    assert not (called.parent / "data").exists()


@pytest.mark.parametrize("argv", [("status",), ("config", "show"), ("model", "list"), ("doctor",)], ids=" ".join)
def test_a_command_that_only_looks_fetches_nothing(called: Path, argv: tuple[str, ...]) -> None:
    CliRunner().invoke(skellig, list(argv))
    assert [line for line in called.read_text().splitlines() if not line.startswith("git ")] == []
