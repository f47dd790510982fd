"""Claims about what is typed where a bundle is built and where it arrives, made in this process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from appliance.bundle import trust
from appliance.cli import bundle, carry
from appliance.cli.exits import guarded
from appliance.errors import HostUnfit
from tests.support.bundles import Workshop

ROOT = Path(__file__).resolve().parents[3]
GROUP = click.Group("bundle", commands=carry.COMMANDS)
STOPPED = """
import os, sys
import click
from appliance.bundle import archive
from appliance.cli import carry
from appliance.cli.exits import guarded
archive.image_id = lambda path: os.kill(os.getpid(), int(sys.argv[1])) or "never"
sys.exit(guarded(click.Group("bundle", commands=carry.COMMANDS), sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("work") / "shop")


@pytest.fixture(scope="module")
def out(shop: Workshop) -> Path:
    return shop.bundle()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def trees(shop: Workshop) -> tuple[str, ...]:
    """Return the options that name what no bundle goes without."""
    return ("--ansible", str(shop.notes), "--licences", str(shop.notes))


@pytest.mark.parametrize(
    "argv", [("apply", ""), ("apply", "x", "--to", ""), ("apply", "x", "--trust="), ("rollback", "--to=")]
)
def test_an_empty_name_is_no_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path, argv: tuple[str, ...]) -> None:
    """As of a variable that a script did not set: the folder that the script happens to be in is not meant."""
    assert guarded(GROUP, argv) == 2
    assert "an empty name is no folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", ["", "x", "nosuch.pub"])
@pytest.mark.parametrize("command", ["verify", "apply"])
def test_what_is_no_key_is_never_no_key_at_all(
    capsys: pytest.CaptureFixture[str], out: Path, tmp_path: Path, command: str, key: str
) -> None:
    """Else the key that the bundle's own installer carries would stand in for the one that was meant."""
    to = ("--to", "to") if command == "apply" else ()
    assert guarded(GROUP, (command, str(out), *to, "--trust", "trust", "--key", key)) == 2
    file = "nor the file of one" if Path(key).exists() else "and there is no file of that name"
    assert re.search(rf"{key!r} is (neither a|no) minisign public key,? {file}\.", capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


def test_what_a_bundle_claims_is_a_line_for_each_fact(capsys: pytest.CaptureFixture[str], shop: Workshop) -> None:
    bare = shop.bundle("1.2.0", name="bare", models=())
    assert guarded(GROUP, ("inspect", str(bare))) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["version", "built", "expires", "schema", "image", "models", "files", "bytes"]
    assert ["models", "none"] in lines


@pytest.mark.parametrize("group", [GROUP, bundle.command], ids=["installer", "skellig"])
def test_a_list_of_commands_says_all_of_each_one_s_first_sentence(
    capsys: pytest.CaptureFixture[str], group: click.Group
) -> None:
    assert guarded(group, ("--help",)) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert len(listed) == len(group.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to be somebody else")
@pytest.mark.parametrize("there", [True, False])
def test_who_may_not_write_where_bundles_go_is_told_who_may(tmp_path: Path, *, there: bool) -> None:
    """Of what is root's alone, as on a host: /var/lib/skellig, or where it is to be made."""
    tmp_path.chmod(0o755)
    place = tmp_path / "skellig"
    if there:
        place.mkdir()
    os.setresuid(65534, 65534, 0)  # who is here already: the way to here is root's alone too
    try:
        with pytest.raises(HostUnfit, match=r"Run this as root \(sudo\), or choose another with --to"):
            trust.own_folder(Path("skellig"), choose="with --to")
    finally:
        os.setresuid(0, 0, 0)


def test_what_root_may_not_write_either_is_not_told_to_be_root_s(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostUnfit) as told:
        trust.own_folder(tmp_path / "file" / "bundles", choose="with --to")
    assert ("root" in told.value.remedy) == (os.geteuid() != 0)


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("nowhere", 3, "There is no bundle at nowhere."),
        ("link", 3, "There is no bundle at link, but a link."),
        ("empty", 7, "empty has no installer/root.json"),
    ],
)
def test_a_place_without_a_bundle_is_told_as_that(
    capsys: pytest.CaptureFixture[str], shop: Workshop, tmp_path: Path, name: str, status: int, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    key = shop.keys.minisigner.key.line
    assert guarded(GROUP, ("apply", name, "--to", "to", "--trust", "trust", "--key", key)) == status
    assert said in capsys.readouterr().err
    assert not (tmp_path / "to").exists()


def test_a_check_says_whether_what_runs_is_whole(
    capsys: pytest.CaptureFixture[str], shop: Workshop, out: Path, tmp_path: Path
) -> None:
    assert guarded(GROUP, ("check", "--to", "to")) == 3
    key = shop.keys.minisigner.key.line
    assert guarded(GROUP, ("apply", str(out), "--to", "to", "--trust", "trust", "--key", key)) == 0
    capsys.readouterr()
    assert guarded(GROUP, ("check", "--to", "to")) == 0
    assert capsys.readouterr().out == f"Version 1.0.0 is whole, in {tmp_path / 'to' / '1.0.0'}.\n"
    (tmp_path / "to" / "1.0.0" / "extra").write_text("x")
    assert guarded(GROUP, ("check", "--to", "to", "--json")) == 7
    assert "1.0.0 is not as it was staged. The bundle has extra, which nobody signed." in capsys.readouterr().err


def test_what_was_done_and_cannot_be_said_is_no_error_of_ours(shop: Workshop, out: Path, tmp_path: Path) -> None:
    argv = ("apply", str(out), "--to", "to", "--trust", "trust", "--key", shop.keys.minisigner.key.line)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", STOPPED.replace("archive.image_id =", "unused ="), "0", *argv]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, cwd=tmp_path, env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 10
    assert ended.stderr.startswith("error: No space is left for what was to be written.")
    assert (tmp_path / "to" / "current").readlink() == Path("1.0.0")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_apply_leaves_no_staging(shop: Workshop, out: Path, tmp_path: Path, number: signal.Signals) -> None:
    argv = ("apply", str(out), "--to", "to", "--trust", "trust", "--key", shop.keys.minisigner.key.line)
    command = [sys.executable, "-c", STOPPED, str(int(number)), *argv]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr.strip()) == (130, "interrupted")
    assert [path.name for path in (tmp_path / "to").iterdir()] == [".lock"]


@pytest.mark.parametrize("epoch", ["0", "-1", "x", "9" * 11, "9" * 40])
def test_a_time_of_no_bundle_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str], shop: Workshop, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    argv = ("build", "--image", str(shop.image), "--version", "1.0.0", "--keys", str(shop.keys_at), *trees(shop), "late")
    assert guarded(bundle.command, argv) == 2
    assert capsys.readouterr().err.startswith("error: SOURCE_DATE_EPOCH is")


def test_keys_that_others_can_read_are_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = Workshop(tmp_path / "careless")
    made.keys_at.chmod(0o777)
    argv = ("build", "--image", str(made.image), "--version", "1.0.0", "--keys", str(made.keys_at), "--store", ".", "made")
    assert guarded(bundle.command, (*argv, *trees(made))) == 0
    assert f"warning: others can read or change {made.keys_at}: chmod go= them." in capsys.readouterr().err
