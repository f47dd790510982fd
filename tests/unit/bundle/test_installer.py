"""Claims about the installer that a bundle carries, run as a bare host runs it."""

import io
import json
import os
import pty
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.bundle import installer
from tests.support.bundles import Workshop, flip

# Far behind this machine's clock, which is then years ahead of the bundle's.
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def carried(workshop: Workshop) -> Path:
    return workshop.bundle("1.0.0", built=LONG_AGO, name="carried")


def run(
    bundle: Path, *argv: str, home: Path, prefix: tuple[str, ...] = (), python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    """Run the bundle's installer with no package but those that it brings, and no variable but PATH and HOME."""
    command = [*prefix, python, "-I", "-S", "-W", "error", str(bundle / "installer" / "skellig-bundle.pyz")]
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run([*command, *argv], env=env, capture_output=True, text=True, check=False, timeout=60)


def is_there(python: str) -> bool:
    """Return whether *python* runs: a name on PATH may only stand for one that could be installed."""
    return (
        shutil.which(python) is not None and not subprocess.run([python, "-V"], capture_output=True, check=False).returncode
    )


def places(host: Path) -> tuple[str, str]:
    return f"--to={host / 'bundles'}", f"--trust={host / 'trust'}"


def test_a_bare_python_takes_a_bundle_and_says_so_to_programs(carried: Path, tmp_path: Path) -> None:
    first = run(carried, "apply", str(carried), *places(tmp_path), "--json", home=tmp_path)
    assert first.returncode == 0, first.stderr
    said = json.loads(first.stdout)
    assert said["path"] == str(tmp_path / "bundles" / "1.0.0")
    assert (said["version"], said["changed"]) == ("1.0.0", True)
    again = run(carried, "apply", str(carried), *places(tmp_path), "--json", home=tmp_path)
    assert json.loads(again.stdout)["changed"] is False


@pytest.mark.parametrize("python", ["python3.11", "python3.12", "python3.13"])
def test_each_python_of_a_target_runs_the_installer(carried: Path, tmp_path: Path, python: str) -> None:
    if not is_there(python):
        pytest.skip(f"{python} is not installed")
    ended = run(carried, "apply", str(carried), *places(tmp_path), home=tmp_path, python=python)
    assert ended.returncode == 0, ended.stderr


def test_an_older_python_is_told_in_one_sentence(carried: Path, tmp_path: Path) -> None:
    python = next((name for name in ("python3.10", "python3.9", "python3.8") if is_there(name)), None)
    if python is None:
        pytest.skip("no older Python is installed")
    ended = run(carried, "verify", str(carried), home=tmp_path, python=python)
    assert ended.stderr.startswith("error: The installer needs Python 3.11 or later, and this is 3.")


@pytest.mark.parametrize("trusted", [True, False])
def test_a_bundle_is_said_to_be_signed_only_by_whom_this_host_trusts(
    carried: Path, workshop: Workshop, tmp_path: Path, *, trusted: bool
) -> None:
    """The installer that lies in a bundle vouches for it as little as the bundle does."""
    if trusted:
        run(carried, "apply", str(carried), *places(tmp_path), home=tmp_path)
    ended = run(carried, "verify", str(carried), places(tmp_path)[1], home=tmp_path)
    assert ended.returncode == (0 if trusted else 7)
    assert trusted or "This host trusts no key for bundles yet. Give the public key" in ended.stderr
    key = ("--key", workshop.keys.minisigner.key.line)
    assert run(carried, "verify", str(carried), places(tmp_path)[1], *key, home=tmp_path).returncode == 0


@pytest.mark.parametrize("argv", [("--help",), ("verify", "--help"), ("verify",)])
def test_the_installer_calls_itself_by_the_name_that_it_has(carried: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    ended = run(carried, *argv, home=tmp_path)
    assert "Usage: skellig-bundle.pyz " in ended.stdout + ended.stderr


def test_without_a_network_and_with_a_clock_years_ahead_a_bundle_holds(
    carried: Path, workshop: Workshop, tmp_path: Path
) -> None:
    prefix = ("unshare", "-n")
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    argv = ("verify", str(carried), places(tmp_path)[1], "--key", workshop.keys.minisigner.key.line)
    ended = run(carried, *argv, home=tmp_path / "nowhere", prefix=prefix)
    assert ended.returncode == 0, ended.stderr
    assert "Version 1.0.0 holds" in ended.stdout
    assert "warning: this bundle expired on 2020-12-31" in ended.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("targets/release-notes.md", "digest_mismatch"),
        ("targets/bundle.json", "digest_mismatch"),
        ("metadata/targets.json", "digest_mismatch"),
        ("metadata/timestamp.json", "malformed_metadata"),
        ("metadata/1.root.json", "malformed_metadata"),
    ],
)
def test_one_flipped_byte_ends_with_a_code_of_its_own(spoilt: Path, tmp_path: Path, path: str, code: str) -> None:
    flip(spoilt / path, 0)
    ended = run(spoilt, "apply", str(spoilt), *places(tmp_path / "host"), home=tmp_path)
    assert ended.returncode == 7
    assert f"[{code}]" in ended.stderr
    assert not (tmp_path / "host" / "bundles" / "current").exists()


def test_a_flipped_bit_of_the_key_is_told_apart(workshop: Workshop, spoilt: Path, tmp_path: Path) -> None:
    line = workshop.keys.minisigner.key.line
    other = line[:20] + ("A" if line[20] != "A" else "B") + line[21:]
    ended = run(spoilt, "verify", str(spoilt), places(tmp_path)[1], "--key", other, home=tmp_path)
    assert ended.returncode == 7
    assert "[bad_signature]" in ended.stderr


def test_the_installer_trusts_the_root_that_it_carries_and_no_other(carried: Path, tmp_path: Path) -> None:
    stranger = Workshop(tmp_path / "stranger").bundle("9.0.0")
    ended = run(carried, "apply", str(stranger), *places(tmp_path / "host"), home=tmp_path)
    assert ended.returncode == 7
    assert "is not the root that this host trusts" in ended.stderr


def test_what_cannot_be_done_is_told_in_one_line(carried: Path, tmp_path: Path) -> None:
    ended = run(carried, "rollback", *places(tmp_path), home=tmp_path)
    assert ended.returncode == 3
    assert ended.stderr.count("\n") == 1


def test_progress_is_drawn_on_a_terminal_and_nowhere_else(carried: Path, workshop: Workshop, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    try:
        argv = ("verify", str(carried), places(tmp_path)[1], "--key", workshop.keys.minisigner.key.line)
        command = [sys.executable, "-I", "-S", str(carried / "installer" / "skellig-bundle.pyz"), *argv]
        env = {"PATH": os.environ["PATH"], "TERM": "xterm"}
        ended = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=terminal, check=False, timeout=60)
        drawn = os.read(controller, 1 << 16)
    finally:
        os.close(terminal)
        os.close(controller)
    assert ended.returncode == 0
    assert b"Reading" in drawn
    assert b"Reading" not in ended.stdout
    assert "Reading" not in run(carried, *argv, home=tmp_path).stderr


def test_the_installer_holds_sources_and_licences_alone(workshop: Workshop) -> None:
    with zipfile.ZipFile(io.BytesIO(installer.make(workshop.keys.roots[0]))) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert not [name for name in names if name.endswith((".so", ".pyc"))]
    for library in ("click", "tuf", "securesystemslib", "urllib3"):
        assert [name for name in names if name.lower().startswith(library) and "/licenses/" in name], library
