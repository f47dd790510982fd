"""Claims about ``skellig bundle``, as it is typed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bundles import oci_archive

BUILT = 1_780_000_000


def skellig(*argv: str | Path, cwd: Path, status: int = 0, built: int = BUILT) -> str:
    command = [sys.executable, "-m", "appliance", "bundle", *map(str, argv)]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "SKELLIG_DATA": str(cwd / "data"),
        "SOURCE_DATE_EPOCH": str(built),
    }
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=90)
    assert ended.returncode == status, ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    oci_archive(tmp_path / "image.oci.tar")
    (tmp_path / "LICENSE").write_text("Apache-2.0\n")
    return tmp_path


def test_from_keys_to_a_version_that_runs_and_back(site: Path) -> None:
    """The commands of the how-to, in its order."""
    said = skellig("keys", "keys", "--threshold", "2", "--keys", "3", cwd=site)
    assert "Public key, for hosts: RW" in said
    for version, built in (("1.0.0", BUILT), ("1.1.0", BUILT + 100)):
        argv = ("--image", "image.oci.tar", "--version", version, "--keys", "keys", f"out-{version}")
        skellig("build", *argv, cwd=site, built=built)
    facts = json.loads(skellig("inspect", "out-1.0.0", "--json", cwd=site))
    assert facts["version"] == "1.0.0"
    trust = ("--trust", "trust", "--key", "keys/minisign.pub")
    assert "Version 1.0.0 holds" in skellig("verify", "out-1.0.0", *trust, cwd=site)
    assert not (site / "trust").exists()
    for version in ("1.0.0", "1.1.0"):
        assert f"Version {version} is current" in skellig("apply", f"out-{version}", "--to", "bundles", *trust, cwd=site)
    assert (site / "bundles" / "current" / "licences" / "LICENSE").read_text() == "Apache-2.0\n"
    back = skellig("rollback", "--to", "bundles", "--trust", "trust", "--json", cwd=site)
    assert json.loads(back)["version"] == "1.0.0"
    assert "older than one taken before" in skellig("apply", "out-1.0.0", "--to", "bundles", *trust, cwd=site, status=7)


def test_keys_that_are_there_stay(site: Path) -> None:
    skellig("keys", "keys", cwd=site)
    assert "never overwritten" in skellig("keys", "keys", cwd=site, status=4)
    assert "Root 2 asks for 1 of 2 keys" in skellig("keys", "keys", "--rotate", "--keys", "2", cwd=site)


@pytest.mark.parametrize(
    ("argv", "status", "said"),
    [
        (("--image", "image.oci.tar", "--version", "latest", "--keys", "keys", "out"), 2, "is not a version such as"),
        (("--image", "image.oci.tar", "--version", "1.0.0", "--keys", "nowhere", "out"), 3, "has no keys"),
        (
            ("--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "--model", "nothing", "out"),
            3,
            "No model is called",
        ),
        (
            ("--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "--docs", "nowhere", "out"),
            2,
            "does not exist",
        ),
        (("--image", "LICENSE", "--version", "1.0.0", "--keys", "keys", "out"), 6, "is not an OCI archive"),
    ],
)
def test_what_cannot_be_built_is_told_in_one_sentence(site: Path, argv: tuple[str, ...], status: int, said: str) -> None:
    skellig("keys", "keys", cwd=site)
    assert said in skellig("build", *argv, cwd=site, status=status)
    assert not [path for path in site.iterdir() if "out" in path.name]


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is not installed")
def test_an_image_that_podman_does_not_have_is_told_in_one_sentence(site: Path) -> None:
    skellig("keys", "keys", cwd=site)
    argv = ("--image", "localhost/nothing:1", "--version", "1.0.0", "--keys", "keys", "out")
    said = skellig("build", *argv, cwd=site, status=9)
    assert said.startswith("error: The image localhost/nothing:1 cannot be read from podman's store:")
    assert not [path for path in site.iterdir() if path.name.startswith((".skellig", ".out", "out"))]


def test_a_first_bundle_needs_a_key(site: Path) -> None:
    skellig("keys", "keys", cwd=site)
    skellig("build", "--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "out", cwd=site)
    assert "Give the public key" in skellig("verify", "out", "--trust", "trust", cwd=site, status=7)
    assert "is not a minisign public key" in skellig("verify", "out", "--trust", "trust", "--key", "x", cwd=site, status=2)
