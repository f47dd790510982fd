import os
import signal
import sys
import time
from pathlib import Path

import pytest

from appliance.base import proc
from appliance.errors import DeadlineExceeded, HostUnfit, LimitExceeded

_BOTH = "import sys; sys.stderr.write('e' * 500_000); sys.stdout.buffer.write(sys.stdin.buffer.read())"


def test_what_a_child_says_and_its_code_come_back() -> None:
    done = proc.run([sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit(3)"], timeout=20, stdin=b"hello")
    assert (done.code, done.stdout) == (3, b"hello\n")


def test_a_slow_child_is_ended_with_its_children(tmp_path: Path) -> None:
    """A grandchild that lived on would hold the pipe and the work."""
    with pytest.raises(DeadlineExceeded):
        proc.run(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait"], timeout=0.5)
    grandchild = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 20  # the kernel takes a moment to bury it on a busy machine
    while _alive(grandchild):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_too_much_output_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        proc.run([sys.executable, "-c", "print('x' * 5000)"], timeout=20, max_output=1000)


def test_a_child_that_says_too_much_is_ended_long_before_it_is_done() -> None:
    """What it says for ever would fill the disk, or the memory."""
    with pytest.raises(LimitExceeded):
        proc.run(["sh", "-c", "yes"], timeout=60, max_output=1 << 20)


def test_much_goes_in_and_comes_out_at_the_same_time() -> None:
    given = b"0123456789" * 300_000
    done = proc.run([sys.executable, "-c", _BOTH], timeout=60, stdin=given)
    assert (done.code, done.stdout, len(done.stderr)) == (0, given, 500_000)


def test_a_child_that_reads_nothing_is_no_fault() -> None:
    assert proc.run(["true"], timeout=20, stdin=b"x" * 1_000_000).code == 0


def test_what_a_child_leaves_behind_is_not_waited_for() -> None:
    done = proc.run(["sh", "-c", "sleep 5 & echo $!"], timeout=4)
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.code == 0


def test_a_missing_program_is_named_with_its_remedy() -> None:
    with pytest.raises(HostUnfit, match=r"no-such-program.*Install"):
        proc.run(["no-such-program"], timeout=1)


def test_a_child_gets_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKELLIG_SECRET", "hush")
    done = proc.run(["env"], timeout=20, env={"OURS": "1"})
    assert b"hush" not in done.stdout
    assert b"OURS=1" in done.stdout


def test_no_child_reports_home() -> None:
    """Telemetry in onnxruntime begins with its import, unless this stands in the environment."""
    assert b"ORT_DISABLE_TELEMETRY=1" in proc.run(["env"], timeout=20).stdout


def test_limits_hold_in_the_child() -> None:
    limits = proc.ChildLimits(memory=200_000_000)
    child = proc.spawn([sys.executable, "-c", "x = bytearray(400_000_000)"], stderr=-3, before_exec=limits.apply)
    assert child.wait(20) != 0


@pytest.mark.parametrize("apart", [True, False])
def test_a_child_has_its_own_group_and_only_apart_its_own_session(*, apart: bool) -> None:
    child = proc.spawn(["sleep", "60"], apart=apart)
    try:
        assert os.getpgid(child.pid) == child.pid
        assert os.getsid(child.pid) == (child.pid if apart else os.getsid(0))
    finally:
        proc.end_group(child, grace=0)
    assert not _alive(child.pid)


def test_end_group_waits_for_a_polite_child(tmp_path: Path) -> None:
    script = f"trap 'touch {tmp_path}/bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    child = proc.spawn(["sh", "-c", script], stdout=-1)
    assert child.stdout is not None
    child.stdout.readline()
    proc.end_group(child, grace=10)
    assert (tmp_path / "bye").exists()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
