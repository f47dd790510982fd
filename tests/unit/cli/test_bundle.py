"""Claims about ``skellig bundle``, as it is typed."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from appliance.cli import main
from appliance.cli.exits import guarded
from tests.support.bundles import oci_archive

ROOT = Path(__file__).resolve().parents[3]
HOWTO = ROOT / "docs" / "howto" / "carry-a-bundle.md"


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "SKELLIG_DATA": str(home / "data"),
        "SOURCE_DATE_EPOCH": "1780000000",
    }


def skellig(*argv: str | Path, cwd: Path, status: int = 0) -> str:
    """Run the command in this process: one of its own takes half a second to start."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        for name, value in environment(cwd).items():
            patch.setenv(name, value)
        ended = guarded(main.skellig, ["bundle", *map(str, argv)])
    assert ended == status, err.getvalue()
    return out.getvalue() + err.getvalue()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    oci_archive(tmp_path / "image.oci.tar")
    (tmp_path / "LICENSE").write_text("Apache-2.0\n")
    (tmp_path / "ansible").mkdir()
    (tmp_path / "ansible" / "README.md").write_text("Playbooks.\n")
    return tmp_path


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make keys once."""
    home = tmp_path_factory.mktemp("signer")
    skellig("keys", "keys", cwd=home)
    return home / "keys"


@pytest.fixture
def signed(site: Path, keys: Path) -> Path:
    """Return a site that has keys."""
    shutil.copytree(keys, site / "keys")
    return site


def blocks() -> str:
    """Return the commands of the how-to, in its order."""
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", HOWTO.read_text(), flags=re.MULTILINE | re.DOTALL))


def test_keys_and_bundle_are_told_in_json(site: Path) -> None:
    made = json.loads(skellig("keys", "keys", "--json", cwd=site))
    assert made == {"path": "keys", "root": 1, "public_key": (site / "keys" / "minisign.pub").read_text().split("\n")[1]}
    built = ("build", "out", "--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "--json")
    said, warning, _ = skellig(*built, cwd=site).partition("warning: no model is in this bundle")
    assert json.loads(said) == {"version": "1.0.0", "path": "out"}
    assert warning


def test_the_commands_of_the_how_to_build_carry_in_upgrade_and_go_back(site: Path) -> None:
    """Run as they stand, but for the places, the models, and the image, which is a small one here."""
    host, stick = site / "host", site / "stick"
    text = blocks().replace("/var/lib/skellig", str(host)).replace("/media/stick", str(stick))
    text = re.sub(r" --model \S+", "", text).replace("localhost/skellig:1.0.0", "image.oci.tar")
    text = text if shutil.which("minisign") else re.sub(r"^minisign.*\n", "", text, flags=re.MULTILINE)
    outside, carried, rest = text.partition(f"cd {stick}")
    upgrade = "SOURCE_DATE_EPOCH=$((SOURCE_DATE_EPOCH + 9)) " + next(
        line.replace("1.0.0", "1.1.0") for line in outside.splitlines() if " build " in line
    )
    prepared = f"mkdir stick\n{upgrade}\nmv skellig-1.* stick\nKEY=$(tail -n 1 keys/minisign.pub)\n"
    script = f'set -eu\nskellig() {{ "{sys.executable}" -m appliance "$@"; }}\n{outside}\n{prepared}{carried}'
    script += rest.replace("skellig bundle keys keys", f"skellig bundle keys {site}/keys")
    ended = subprocess.run(
        ["sh", "-c", script], cwd=site, env=environment(site), capture_output=True, text=True, check=False, timeout=110
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert (host / "bundles" / "current").readlink() == Path("1.0.0")
    assert (host / "bundles" / "current" / "licences" / "LICENSE").read_text() == "Apache-2.0\n"
    assert len(list((site / "keys").glob("*.root.json"))) == 2


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
def test_what_cannot_be_built_is_told_in_one_sentence(signed: Path, argv: tuple[str, ...], status: int, said: str) -> None:
    assert said in skellig("build", *argv, cwd=signed, status=status)
    assert not [path for path in signed.iterdir() if "out" in path.name]


@pytest.mark.skipif(shutil.which("skopeo") is None, reason="skopeo is not installed")
def test_an_image_that_podman_does_not_have_is_told_in_one_sentence(signed: Path) -> None:
    """A program of its own, whose standard error skopeo could write to."""
    argv = ("--image", "localhost/nothing:1", "--version", "1.0.0", "--keys", "keys", "out")
    command = [sys.executable, "-m", "appliance", "bundle", "build", *argv]
    ended = subprocess.run(command, cwd=signed, env=environment(signed), capture_output=True, text=True, check=False)
    assert ended.returncode == 9
    said = ended.stderr.splitlines()[-1]
    assert said.startswith("error: The image localhost/nothing:1 cannot be read from podman's store: ")
    assert "level=" not in said
    assert "Build it with `make image`, and put `.ci/containers` before this command" in said
    assert not [path for path in signed.iterdir() if path.name.startswith((".skellig", ".out", "out"))]


@pytest.mark.parametrize(
    ("gone", "needs", "options"),
    [
        (("ansible",), "playbooks", "--ansible"),
        (("LICENSE",), "a licence", "--licences"),
        (("ansible", "LICENSE"), "playbooks and a licence", "--ansible, --licences"),
    ],
)
def test_a_bundle_without_what_every_one_has_is_refused_with_where_that_is(
    signed: Path, gone: tuple[str, ...], needs: str, options: str
) -> None:
    """As one that is built outside the checkout: a host could not be installed from it, or not be shown its licence."""
    aside = signed / "aside"
    aside.mkdir()
    for name in gone:
        (signed / name).rename(aside / name)
    argv = ("build", "--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "out")
    said = skellig(*argv, cwd=signed, status=2)
    assert f"A bundle needs {needs}, and {signed} has no {' and no '.join(gone)}." in said
    assert f"Run this in Skellig's checkout, or name them: {options}." in said
    assert not (signed / "out").exists()
    named = {"ansible": "--ansible", "LICENSE": "--licences"}
    skellig(*argv, *(part for name in gone for part in (named[name], aside / name)), cwd=signed)
    assert (signed / "out" / "targets" / "ansible" / "README.md").is_file()
    assert (signed / "out" / "targets" / "licences" / "LICENSE").is_file()


def test_a_folder_that_is_there_is_refused_before_an_image_is_read(site: Path) -> None:
    (site / "out").mkdir()
    argv = ("build", "--image", "localhost/nothing:1", "--version", "1.0.0", "--keys", "keys", "out")
    assert "out exists already" in skellig(*argv, cwd=site, status=4)


def test_a_first_bundle_needs_a_key(signed: Path) -> None:
    skellig("build", "--image", "image.oci.tar", "--version", "1.0.0", "--keys", "keys", "out", cwd=signed)
    assert '"version": "1.0.0"' in skellig("inspect", "out", "--json", cwd=signed)
    assert "Give the public key" in skellig("verify", "out", "--trust", "trust", cwd=signed, status=7)
    said = skellig("verify", "out", "--trust", "trust", "--key", "x", cwd=signed, status=2)
    assert "is no minisign public key, and there is no file of that name" in said
