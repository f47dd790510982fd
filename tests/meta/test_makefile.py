"""Claims about the Makefile's verbs, with programs that say what a test tells them to."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("podman", "buildah", "skopeo", "runc", "mmdebstrap")


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder with the Makefile, its scripts, and programs that note that they ran."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".ci").mkdir()
    for script in ("tools", "models"):
        shutil.copy(ROOT / ".ci" / script, tmp_path / ".ci" / script)
    program(tmp_path / ".ci" / "setup", "echo set up $1")
    program(tmp_path / ".ci" / "image", "echo built")
    for script in ("offline", "memory"):
        program(tmp_path / ".ci" / script, 'exec "$@"')
    program(tmp_path / ".venv" / "bin" / "skellig", 'echo "error: No source has it: $3 $5." >&2; exit 3')
    program(tmp_path / ".venv" / "bin" / "pytest", "echo tested")
    return tmp_path


def make(verb: str, checkout: Path, *, path: str = "/usr/local/bin:/usr/bin:/bin") -> "subprocess.CompletedProcess[str]":
    env = {"PATH": path, "SKELLIG_TEST_MODELS": "/elsewhere"}
    return subprocess.run(
        [shutil.which("make") or "make", verb], cwd=checkout, env=env, capture_output=True, text=True, check=False
    )


def machine(folder: Path, *, user: int = 0, lacking: tuple[str, ...] = ()) -> str:
    """Return a PATH with the tools of an image but those that are *lacking*, for somebody with the number *user*."""
    program(folder / "id", f"echo {user}")
    for name in set(TOOLS) - set(lacking):
        program(folder / name, "exit 0")
    for name in ("sh", "dirname"):
        (folder / name).symlink_to(f"/bin/{name}")
    return str(folder)


def test_the_tests_run_without_a_model_that_cannot_be_pulled(checkout: Path) -> None:
    """Behind an index that lacks them the rest of the proof still stands, and it says what is missing and why."""
    ran = make("test", checkout)
    assert (ran.returncode, ran.stdout) == (0, "set up dev\ntested\n")
    assert "No source has it: smollm2-135m-instruct-q4_1 /elsewhere." in ran.stderr
    assert "note: the tests that need all-minilm-l6-v2-int8 are skipped" in ran.stderr


def test_the_image_is_proved_with_the_models_that_its_tests_need(checkout: Path, tmp_path: Path) -> None:
    ran = make("image", checkout, path=machine(tmp_path / "bin"))
    assert (ran.returncode, ran.stdout) == (0, "set up dev\nbuilt\ntested\n")
    assert "note: the tests that need smollm2-135m-instruct-q4_1 are skipped" in ran.stderr


@pytest.mark.parametrize("lacking", [("podman",), ("mmdebstrap",), TOOLS])
def test_what_an_image_takes_and_is_not_here_is_named_before_anything_is_done(
    checkout: Path, tmp_path: Path, lacking: tuple[str, ...]
) -> None:
    ran = make("image", checkout, path=machine(tmp_path / "bin", lacking=lacking))
    assert (ran.returncode, ran.stdout) == (2, "")
    named = " ".join(name for name in TOOLS if name in lacking)
    assert f"is not installed here: {named}. Install it first: apt-get install {named}\n" in ran.stderr


def test_who_is_not_root_is_told_before_anything_is_done(checkout: Path, tmp_path: Path) -> None:
    ran = make("image", checkout, path=machine(tmp_path / "bin", user=1000))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "error: The image is built as root. Say that again with sudo." in ran.stderr


@pytest.mark.parametrize("script", ["image", "install"])
def test_a_script_that_makes_containers_looks_for_their_tools_first(checkout: Path, tmp_path: Path, script: str) -> None:
    """Also where it is called without make: what it would meet otherwise is one shell's error or another's."""
    shutil.copy(ROOT / ".ci" / script, checkout / ".ci" / script)
    path = machine(tmp_path / "bin", lacking=("skopeo",))
    ran = subprocess.run([checkout / ".ci" / script], env={"PATH": path}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1


def test_keys_and_bundles_that_are_made_here_are_not_taken_into_git() -> None:
    """The README's commands make them in the checkout, and one of the two is private keys."""
    named = [f"{name}/x" for name in ("keys", "skellig-0.1.0")]
    ran = subprocess.run(
        ["git", "check-ignore", *named, "tests/unit/keys/x"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if ran.returncode == 128:
        pytest.skip("this is no checkout of git")
    assert ran.stdout.split() == named


def test_what_the_tests_write_into_memory_is_gone_after_them(tmp_path: Path) -> None:
    """It would be missing there until the machine starts again."""
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(tmp_path)}
    command = [str(ROOT / ".ci" / "memory"), "sh", "-c", 'touch "$TMPDIR/written"; echo "$TMPDIR"; exit 7']
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    folder = Path(ran.stdout.strip())
    assert (ran.returncode, ran.stderr) == (7, "")
    assert folder == tmp_path if (tmp_path / "written").exists() else not folder.exists()
