"""Claims about `.ci/setup`, with a Python that says what a test tells it to: what is missing is one sentence."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "setup"
_PYTHON = """#!/bin/sh
case "$*" in
    "-c import pip") exit {no_pip} ;;
    *"pip install"*) cat '{said}'; exit {status} ;;
    "-m venv --clear .venv") rm -rf .venv; mkdir -p .venv/bin; cp '{good}' .venv/bin/python; echo made ;;
    "--version") echo "Python 3.11.2" ;;
esac
"""
GOOD = {"no_pip": 0, "status": 0}


class Checkout:
    """A folder with the script, a Python, and maybe an environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv" / "bin" / "python"
        (root / ".ci").mkdir()
        shutil.copy(SCRIPT, root / ".ci" / "setup")
        (root / "pyproject.toml").write_text("[project]\n")
        self.python(root / "python", said="", **GOOD)

    def python(self, path: Path, *, said: str, no_pip: int, status: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        (self.root / "said").write_text(f"{said}\n")
        path.write_text(_PYTHON.format(said=self.root / "said", no_pip=no_pip, status=status, good=self.root / "python"))
        path.chmod(0o755)

    def set_up(self) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHON": str(self.root / "python")}
        return subprocess.run([self.root / ".ci" / "setup", "dev"], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("error: command 'x86_64-linux-gnu-gcc' failed: No such file", "apt-get install build-essential python3-dev"),
        ("[Errno 2] No such file or directory: 'cc'", "apt-get install build-essential python3-dev"),
        ("ERROR: Failed building wheel for tree-sitter-swift", "apt-get install build-essential python3-dev"),
        ("src/mod.c:1:10: fatal error: Python.h: No such file or directory", "apt-get install python3-dev"),
        ("NewConnectionError: [Errno -3] Temporary failure in name resolution", "pip cannot reach its package index"),
        ("ReadTimeoutError: Read timed out.\nERROR: No matching distribution found for numpy", "pip cannot reach"),
        ("ERROR: No matching distribution found for numpy", "no version that fits Python 3.11.2"),
        ("OSError: [Errno 28] No space left on device", "The disk is full."),
        ("ERROR: something else", "pip could not install skellig"),
    ],
)
def test_what_keeps_pip_from_installing_is_said_with_what_mends_it(checkout: Checkout, said: str, sentence: str) -> None:
    checkout.python(checkout.venv, said=said, no_pip=0, status=1)
    ran = checkout.set_up()
    assert ran.returncode == 1
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert sentence in last
    assert not (checkout.root / ".venv" / ".dev").exists()


def test_an_environment_without_pip_is_made_anew(checkout: Checkout) -> None:
    checkout.python(checkout.venv, said="", no_pip=1, status=0)
    (checkout.root / ".venv" / "leftover").touch()
    assert "Making .venv" in checkout.set_up().stdout
    assert not (checkout.root / ".venv" / "leftover").exists()
    assert (checkout.root / ".venv" / ".dev").exists()


def test_one_that_is_whole_is_left_alone(checkout: Checkout) -> None:
    assert "Installing skellig (dev)" in checkout.set_up().stdout
    again = checkout.set_up()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
