"""Claims about what is in the image, and what is not."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import __version__
from tests.support import podman

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]
SITES = ("opt/venv/lib/python3.13/site-packages", "opt/skellig/lib/python3.13/site-packages")
LARGEST = 1_200_000_000
UNIT_TESTS = """set -eu
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install --quiet --no-deps --require-hashes --only-binary=:all: -r /src/images/locks/dev.txt
mkdir /tmp/src && cd /src
cp -r .ci Containerfile Makefile *.md LICENSE pyproject.toml ansible appliance docs images models tests /tmp/src
cd /tmp/src && /tmp/venv/bin/pytest -q -n 2 --dist loadfile tests/unit
"""


@pytest.fixture(scope="module")
def tree(image: str) -> Iterator[Path]:
    """Mount the image's files, to be read."""
    yield Path(podman.run("image", "mount", image))
    podman.run("image", "unmount", image)


def files(tree: Path) -> Iterator[Path]:
    """Yield every file of the image, links not followed."""
    for folder, _, names in os.walk(tree):
        yield from (Path(folder, name) for name in names)


def bill(tree: Path) -> dict[str, set[tuple[str, str]]]:
    """Return the names and versions in the bill of materials, by the kind of package."""
    told = json.loads((tree / "usr/share/skellig/sbom.cdx.json").read_text())
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    found: dict[str, set[tuple[str, str]]] = {}
    for component in told["components"]:
        kind = component["purl"].partition("/")[0]
        found.setdefault(kind, set()).add((component["name"], component["version"]))
    assert sum(map(len, found.values())) == len(told["components"])
    return found


def test_it_says_what_it_is_and_how_it_runs(image: str) -> None:
    told = json.loads(podman.run("image", "inspect", image))[0]["Config"]
    assert told["User"] == "10001:10001"
    assert told["StopSignal"] == "SIGTERM"
    assert [*told["Entrypoint"], *told["Cmd"]] == ["/opt/skellig/bin/skellig", "up", "--foreground"]
    assert told["Labels"]["org.opencontainers.image.version"] == __version__
    settings = {line for line in told["Env"] if line.startswith(("SKELLIG_", "HOME="))}
    assert settings == {
        "HOME=/var/lib/skellig",
        "SKELLIG_DATA=/var/lib/skellig",
        "SKELLIG_MODELS_AT=/srv/models",
        "SKELLIG_REPOS_FROM=/srv/repos",
        "SKELLIG_WEB__SOCKET=/run/skellig/web.sock",
        "SKELLIG_WEB__TOKEN_FILE=/var/lib/skellig/first-token",
    }
    assert set(told["Volumes"]) == {"/var/lib/skellig", "/run/skellig"}


def test_nothing_raises_privileges(tree: Path) -> None:
    for path in files(tree):
        if not path.is_symlink():
            assert not path.stat().st_mode & 0o6000, path
            assert "security.capability" not in os.listxattr(path), path


def test_nothing_compiles_and_nothing_was_left_by_the_build(tree: Path) -> None:
    """A compiler is a tool for whoever breaks in; caches and histories are weight, and tell of the machine that built."""
    names = {"gcc", "cc", "g++", "c++", "clang", "ld", "as", "make", "cmake", "ninja", "rustc", "cargo", "pip", "pip3"}
    programs = [path for place in ("bin", "sbin", "usr/bin", "usr/sbin", "opt") for path in files(tree / place)]
    assert not [path for path in programs if path.name in names and os.access(path, os.X_OK)]
    left = {".bash_history", ".python_history", ".wget-hsts", "pip.conf", "sbom.py"}
    assert not [path for path in files(tree) if path.name in left or path.suffix == ".deb"]
    assert not [path for path in files(tree) if path.suffix == ".whl" and path.parent != tree / "usr/share/python-wheels"]
    for place in ("root", "home", "tmp", "in", "src", "var/tmp", "var/cache/apt", "var/lib/apt/lists"):
        assert not [path for path in files(tree / place) if path.name not in {".bashrc", ".profile", "lock"}], place


def test_it_does_not_tell_which_machine_built_it(tree: Path) -> None:
    for name in ("etc/hostname", "etc/resolv.conf", "etc/machine-id"):
        path = tree / name
        assert not path.exists() or path.stat().st_size == 0, name


def test_it_carries_no_model_and_is_small(image: str, tree: Path) -> None:
    weights = [path for path in files(tree) if path.suffix in {".gguf", ".onnx", ".safetensors"}]
    assert not [path for path in weights if path.stat().st_size > 100_000]  # onnxruntime brings three tiny examples
    assert int(podman.run("image", "inspect", "--format={{.Size}}", image)) <= LARGEST


def test_the_bill_of_materials_has_every_distribution(tree: Path) -> None:
    folders = [path.name for site in SITES for path in (tree / site).glob("*.dist-info")]
    assert len(folders) > 70
    assert len(bill(tree)["pkg:pypi"]) == len(folders)
    assert {name for name, _ in bill(tree)["pkg:pypi"]} >= {"skellig", "llama-cpp-python", "xllamacpp", "lancedb"}


def test_the_bill_of_materials_has_every_debian_package(tree: Path) -> None:
    query = ["dpkg-query", f"--admindir={tree / 'var/lib/dpkg'}", "--show", "--showformat=${Package} ${Version}\n"]
    listed = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(listed) > 90
    assert bill(tree)["pkg:deb"] == {(line.partition(" ")[0], line.partition(" ")[2]) for line in listed}


def test_modules_are_compiled_whatever_their_files_dates_are(tree: Path) -> None:
    """On a read-only root nothing can be compiled at the start, and layers change the dates that bytecode is checked by."""
    modules = [path for site in SITES for path in (tree / site / "appliance").rglob("*.py")]
    modules += (tree / SITES[0] / "litestar").rglob("*.py")
    assert len(modules) > 300
    for module in modules:
        compiled = module.parent / "__pycache__" / f"{module.stem}.cpython-313.pyc"
        assert compiled.read_bytes()[4:8] == b"\x01\0\0\0", module


def test_the_documentation_is_inside(tree: Path) -> None:
    pages = tree / "usr/share/doc/skellig/html"
    assert "Skellig" in (pages / "index.html").read_text()
    assert (pages / "howto" / "run-the-appliance.html").is_file()


def test_only_its_own_folders_are_its_users(tree: Path) -> None:
    own = {path for path in (Path(folder) for folder, _, _ in os.walk(tree)) if path.stat().st_uid == 10001}
    own |= {path for path in files(tree) if path.lstat().st_uid == 10001}
    assert own == {tree / "run/skellig", tree / "var/lib/skellig"}


@pytest.mark.skipif(os.environ.get("SKELLIG_TEST_IMAGE") != "all", reason="SKELLIG_TEST_IMAGE=all takes these minutes")
def test_the_same_inputs_give_the_same_image(image: str) -> None:
    again = subprocess.run([podman.ROOT / ".ci/image", "--no-cache"], capture_output=True, text=True, check=True)
    assert again.stdout.strip() == image


@pytest.mark.skipif(os.environ.get("SKELLIG_TEST_IMAGE") != "all", reason="SKELLIG_TEST_IMAGE=all takes these minutes")
def test_the_unit_tests_pass_on_the_python_of_the_image() -> None:
    """They run elsewhere on the Python of the machine that builds; this one is a container of the base."""
    if reason := podman.missing():
        pytest.skip(reason)
    certificates = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
    options = ("--rm", "--network=host", f"--volume={podman.ROOT}:/src:ro")
    trusted = f"--volume={certificates}:/etc/ssl/certs/ca-certificates.crt:ro"
    ended = podman.call("run", *options, trusted, podman.base(), "sh", "-c", UNIT_TESTS, seconds=1500)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]
