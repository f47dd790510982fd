"""Claims about which engines the real appliance runs, and on which machines it does not begin at all."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.inference import hardware
from appliance.ops import launch
from tests.support.engines import needed_package
from tests.support.house import House
from tests.support.models import SMOL, needed, store_root

pytestmark = pytest.mark.timeout(400)  # real programs start here, on a machine that may be busy
_UNFIT = 9


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Give a house with the tests' models in it."""
    needed(SMOL)
    (tmp_path / "data").mkdir()
    built = House(tmp_path / "data")
    built.paths.models.symlink_to(store_root())
    yield built
    launch.stop(built.files, seconds=10.0)


def test_the_engine_that_is_set_runs_the_chat_model(house: House) -> None:
    needed_package("llama_cpp_python")
    up = house.skellig("up", "--json", SKELLIG_CHAT__MODEL=SMOL, SKELLIG_CHAT__ENGINE="llama_cpp_python")
    assert up.returncode == 0, up.stderr
    assert json.loads(up.stdout)["state"] == "ready"
    argv = Path(f"/proc/{house.pid('engine-chat')}/cmdline").read_bytes().split(b"\0")
    assert b"appliance.inference.engines.llama_cpp_python" in argv


def test_a_gpu_that_is_required_and_not_there_keeps_the_appliance_from_beginning(house: House) -> None:
    if hardware.probe().gpus:
        pytest.skip("this machine has a GPU")
    settings = {"SKELLIG_GPU": "required", "SKELLIG_CHAT__MODEL": SMOL, "SKELLIG_CHAT__ENGINE": "llama_cpp_python"}
    up = house.skellig("up", **settings)
    assert up.returncode == _UNFIT
    assert "no GPU is in sight" in up.stderr
    assert not house.answers()


@pytest.mark.parametrize("command", ["up", "doctor"])
def test_a_processor_that_cannot_run_the_vector_store_is_a_sentence(house: House, tmp_path: Path, command: str) -> None:
    """Also without any model: the store's code has instructions that such a processor ends a process for."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("another /proc/cpuinfo takes root and util-linux")
    shown = Path("/proc/cpuinfo").read_text()
    if "avx2" not in shown:
        pytest.skip("this processor has no avx2 to hide")
    (tmp_path / "cpuinfo").write_text(re.sub(r" (avx2|movbe)\b", "", shown))
    hidden = f'mount --bind {tmp_path / "cpuinfo"} /proc/cpuinfo && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", hidden, "hidden", *house.command(command)]
    ended = subprocess.run(argv, env=house.environment(), capture_output=True, text=True, timeout=180, check=False)
    assert ended.returncode == _UNFIT
    said = " ".join(f"{ended.stdout} {ended.stderr}".split())
    assert "This processor has no AVX2, MOVBE" in said
    assert "virtual machine" in said
    assert not house.answers()
