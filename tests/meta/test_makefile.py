"""Claims about the Makefile's verbs, with programs that say what a test tells them to."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_the_tests_run_without_a_model_that_cannot_be_pulled(tmp_path: Path) -> None:
    """Behind an index that lacks them the rest of the proof still stands, and it says what is missing and why."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    program(tmp_path / ".ci" / "setup", "exit 0")
    program(tmp_path / ".ci" / "offline", 'exec "$@"')
    program(tmp_path / ".venv" / "bin" / "skellig", 'echo "error: No source has it: $3 $5." >&2; exit 3')
    program(tmp_path / ".venv" / "bin" / "pytest", "echo tested")
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "SKELLIG_TEST_MODELS": "/elsewhere"}
    ran = subprocess.run(["make", "test"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "tested\n")
    assert "No source has it: smollm2-135m-instruct-q4_1 /elsewhere." in ran.stderr
    assert "note: the tests that need all-minilm-l6-v2-int8 are skipped" in ran.stderr
