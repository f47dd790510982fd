"""The order of the calls that a power cut would tell apart, read from what the kernel was asked."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bundles import Workshop

ROOT = Path(__file__).resolve().parents[3]
_CALLS = "rename,renameat,renameat2,fsync,syncfs"


def traced(argv: list[str], *, to: Path) -> list[str]:
    """Run *argv* and return its calls, each with the paths that it is about."""
    command = ["strace", "-f", "-y", "-s", "400", "-o", str(to), "-e", f"trace={_CALLS}", *argv]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    if not to.exists() or "ptrace" in ended.stderr:
        pytest.skip(f"strace traces nothing here: {ended.stderr.strip()[-200:]}")
    assert ended.returncode == 0, ended.stderr
    return [line for line in to.read_text().splitlines() if " = 0" in line]


def first(calls: list[str], pattern: str, *, after: int = -1) -> int:
    """Return the place of the first call after *after* that *pattern* finds."""
    return next(n for n, call in enumerate(calls) if n > after and re.search(pattern, call))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_what_current_will_lead_to_is_on_the_disk_before_it_leads_there(tmp_path: Path) -> None:
    """Bytes, then their folder's name, then what the host remembers, then the switch, then the folder of the switch."""
    shop = Workshop(tmp_path / "shop")
    bundle = shop.bundle("1.0.0")
    host = tmp_path / "host"
    argv = [sys.executable, "-m", "appliance", "bundle", "apply", str(bundle), "--to", str(host / "bundles")]
    argv += ["--trust", str(host / "trust"), "--key", shop.keys.minisigner.key.line]
    calls = traced(argv, to=tmp_path / "trace")
    synced = first(calls, r"syncfs\(.*/bundles/\.staging>")
    named = first(calls, r"rename.*/bundles/\.staging\".*/bundles/1\.0\.0\"")
    kept = first(calls, rf"fsync\(\d+<{host}/bundles>\)", after=named)
    known = first(calls, r"rename.*/trust/trust\.json\"")
    remembered = first(calls, rf"fsync\(\d+<{host}/trust>\)", after=known)
    switched = first(calls, r"rename.*/bundles/\.current\".*/bundles/current\"")
    done = first(calls, rf"fsync\(\d+<{host}/bundles>\)", after=switched)
    assert synced < named < kept < switched < done
    assert kept < known < remembered < switched
