import subprocess
import sys
from pathlib import Path

from tests.support.bundles import DAY, NOON, Workshop

ROOT = Path(__file__).resolve().parents[3]


def test_killed_at_any_step_of_apply_the_old_version_is_current_or_the_new_one_and_whole(tmp_path: Path) -> None:
    """The victim itself looks at what is left, and tries again; here only the ends are counted."""
    shop = Workshop(tmp_path / "shop")
    bundles = [shop.bundle(f"{n}.0.0", built=NOON + n * DAY, name=f"{n}.0.0") for n in (1, 2, 3)]
    argv = [sys.executable, "-m", "tests.adversarial.bundle.victim", str(tmp_path), shop.keys.minisigner.key.line]
    ended = subprocess.run([*argv, *map(str, bundles)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") == 2
    ends = {version: int(count) for version, count in (line.split() for line in ended.stdout.splitlines())}
    assert ends["2.0.0"] > 20
    assert ends["3.0.0"] >= 1
