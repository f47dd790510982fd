"""Claims about what a run of the tests is worth: one that has proved nothing does not say that all is well."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAID = "Nothing was proved: every test was skipped."
PASSES, SKIPS, FAILS = "def test_a(): pass\n", 'def test_b(): pytest.skip("no podman")\n', "def test_c(): assert 0\n"


@pytest.mark.parametrize(
    ("workers", "tests", "status", "said"),
    [
        ((), SKIPS, 5, SAID),
        (("-n", "1"), SKIPS, 5, SAID),
        (("-n", "1"), PASSES, 0, ""),
        ((), PASSES + SKIPS, 0, ""),
        ((), SKIPS + FAILS, 1, ""),
    ],
    ids=["skipped", "skipped-with-workers", "passed-with-workers", "passed-and-skipped", "skipped-and-failed"],
)
def test_a_run_that_skipped_every_test_is_no_success(
    tmp_path: Path, workers: tuple[str, ...], tests: str, status: int, said: str
) -> None:
    (tmp_path / "test_here.py").write_text(f"import pytest\n{tests}")
    plugins = ["-p", "tests.conftest", *(["-p", "xdist.plugin"] if workers else [])]  # all others take seconds to load
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "-c", os.devnull, "--rootdir", str(tmp_path)]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    ran = subprocess.run(
        [*command, *workers, str(tmp_path)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == status, ran.stdout + ran.stderr
    assert ("Nothing was proved" in ran.stdout) == bool(said)
    assert said in ran.stdout
