"""An image goes from podman's store into a bundle and from a host's folder into podman again, and stays the same image."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import podman

NAME = "localhost/skellig-bundled:0.0.1"
pytestmark = pytest.mark.image


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the ID of a small image in podman's store, with documents and a list of components inside."""
    if why := podman.missing():
        pytest.skip(why)
    path = tmp_path_factory.mktemp("image") / "root.tar"
    held = {
        "usr/share/skellig/sbom.cdx.json": b"{}",
        "usr/share/doc/skellig/html/index.html": b"<p>",
        "bin/x": b"x" * 99_999,
    }
    with tarfile.open(path, "w") as archive:
        for name, data in held.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    podman.run("import", path, NAME)
    yield podman.run("image", "inspect", "--format", "{{.Id}}", NAME)
    podman.call("rmi", "--force", NAME)


def skellig(*argv: str, cwd: Path) -> None:
    command = [str(podman.ROOT / ".ci" / "containers"), sys.executable, "-m", "appliance", "bundle", *argv]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(cwd), "PYTHONPATH": str(podman.ROOT)}
    env |= {name: value for name, value in os.environ.items() if name == "SKELLIG_TEST_CONTAINERS"}
    env |= {"SOURCE_DATE_EPOCH": "1780000000", "SKELLIG_DATA": str(cwd / "data")}
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=110)
    assert ended.returncode == 0, ended.stderr


def test_an_image_keeps_its_id_from_podman_through_a_bundle_to_podman(image: str, tmp_path: Path) -> None:
    skellig("keys", "keys", cwd=tmp_path)
    trees = ("--ansible", str(podman.ROOT / "ansible"), "--licences", str(podman.ROOT / "LICENSE"))
    for out in ("one", "two"):
        skellig("build", "--image", NAME, "--version", "0.0.1", "--keys", "keys", *trees, out, cwd=tmp_path)
    trust = ("--trust", "trust", "--key", "keys/minisign.pub")
    skellig("apply", "one", "--to", "bundles", *trust, cwd=tmp_path)
    current = tmp_path / "bundles" / "current"
    assert (current / "sbom" / "sbom.cdx.json").read_bytes() == b"{}"
    assert (current / "docs" / "index.html").read_bytes() == b"<p>"
    assert f'"id": "sha256:{image}"' in (current / "bundle.json").read_text()
    assert podman.call("ps", "--all", "--quiet", "--filter", f"ancestor={NAME}").stdout == ""
    podman.run("rmi", "--force", NAME)
    podman.run("load", "--quiet", "--input", current / "image" / "image.oci.tar")
    assert podman.run("image", "exists", image) == ""
    podman.run("tag", image, NAME)
    assert same(tmp_path / "one", tmp_path / "two")


def same(one: Path, two: Path) -> bool:
    return shutil.which("diff") is not None and subprocess.run(["diff", "-r", one, two], check=False).returncode == 0
