"""What a command that nobody trusts can reach, use and leave behind: with every layer, and without namespaces."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.base import sandbox
from appliance.base.confine import landlock, seccomp, watch
from appliance.base.confine.order import Layer, Limits
from appliance.base.sandbox import LAYERS, Outcome, Policy
from appliance.errors import HostUnfit, InvalidInput, NotFound

Run = Callable[..., Outcome]

_PYTHON = (Path(sys.prefix), Path(sys.base_prefix))
_WAYS = {"with every layer": LAYERS, "without namespaces": LAYERS - {"namespaces"}}
_SOCKETS = """
import socket
for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(getattr(socket, family), kind)
        except PermissionError:
            continue
        print(family, kind)
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    print("a pair that can send anywhere")
except PermissionError:
    pass
socket.socketpair()
"""
_FORKS = """
import os, time
made = 0
try:
    for _ in range(10_000):
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except BlockingIOError:
    pass
print(made)
"""


@pytest.fixture(scope="module", params=_WAYS)
def use(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> frozenset[Layer]:
    """Return the layers of one way to confine, where this machine has it; else the reason is said."""
    layers = _WAYS[request.param]
    place = tmp_path_factory.mktemp("probe") / "work"
    place.mkdir()
    try:
        done = sandbox.run(["true"], folder=place, aside=place.parent, policy=Policy(use=layers))
    except HostUnfit as exc:
        pytest.skip(f"a sandbox {request.param}: {exc.message}")
    if "namespaces" in layers and "namespaces" not in done.confinement.layers:
        pytest.skip(f"a sandbox {request.param}: {'; '.join(done.confinement.lacking)}")
    return layers


@pytest.fixture
def run(use: frozenset[Layer], folder: Path, tmp_path: Path) -> Run:
    def run(*command: str, stop: Callable[[], bool] = lambda: False, **limits: float) -> Outcome:
        held = Limits(**{"seconds": 30.0, **limits})  # type: ignore[arg-type]
        policy = Policy(use=use, limits=held, readable=_PYTHON)
        return sandbox.run(command, folder=folder, aside=tmp_path / "aside", policy=policy, stop=stop)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def test_it_runs_in_its_folder_and_what_it_says_comes_back(run: Run, folder: Path) -> None:
    (folder / "given").write_text("hello")
    done = run("sh", "-c", "cat given; echo made > made; echo bad >&2; exit 3")
    assert (done.ending, done.code, done.stdout, done.stderr) == ("itself", 3, b"hello", b"bad\n")
    assert (folder / "made").read_text() == "made\n"
    assert {"landlock", "seccomp"} <= set(done.confinement.layers)
    assert done.confinement.landlock >= landlock.WHOLE


def test_it_runs_whatever_its_caller_lets_others_read(run: Run, folder: Path) -> None:
    """All programs of the appliance have this umask: what they make is their owner's alone."""
    umask = os.umask(0o077)
    try:
        done = run("sh", "-c", "umask; echo made > made")
    finally:
        os.umask(umask)
    assert (done.ending, done.code, done.stdout, done.stderr) == ("itself", 0, b"0022\n", b"")
    assert (folder / "made").read_text() == "made\n"


def test_no_socket_can_be_made_of_any_family(run: Run) -> None:
    """Neither to another machine, nor to this one, nor to the engines' sockets of the appliance."""
    assert run(sys.executable, "-c", _SOCKETS).stdout == b""


def test_a_socket_that_listens_outside_is_out_of_reach(run: Run, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "outside.sock"))
        listening.listen()
        said = run(sys.executable, "-c", f"import socket; socket.socket(socket.AF_UNIX).connect({str(tmp_path)!r})")
        assert b"PermissionError" in said.stderr


def test_no_descriptor_comes_in(run: Run) -> None:
    look = "import os\nfor fd in range(3, 200):\n try: os.fstat(fd); print(fd)\n except OSError: pass"
    with Path("/etc/passwd").open("rb") as file:
        os.set_inheritable(file.fileno(), True)
        assert run(sys.executable, "-S", "-c", look).stdout == b""


def test_nobodys_environment_comes_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKELLIG_TOKEN", "canary")
    done = run("sh", "-c", "env; cat /proc/1/environ /proc/self/../1/environ")
    assert b"canary" not in done.stdout
    assert done.stderr.count(b"enied") == 2
    names = {line.partition(b"=")[0] for line in done.stdout.splitlines()}
    assert names <= {b"PATH", b"LANG", b"HOME", b"TMPDIR", b"PWD", b"GIT_CONFIG_NOSYSTEM", b"OLDPWD", b"SHLVL", b"_"}


def test_nothing_outside_is_read(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    done = run(
        "sh", "-c", f"cat {secret}; ls {tmp_path}; ls /root /home; ln -s {secret} link; cat link; cat /etc/shadow; ls /"
    )
    assert b"canary" not in done.stdout
    assert b"secret" not in done.stdout


def test_nothing_outside_is_written(run: Run, tmp_path: Path) -> None:
    """Nor through a link, nor emptied, nor given another mode or time."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    before = kept.stat()
    tries = (
        *(f"echo x > {kept}", f"ln -s {tmp_path} out", "echo x > out/new", f"truncate -s 0 {kept}", f"chmod 777 {kept}"),
        *("chmod 777 out/kept", f"touch -d yesterday {kept}", f"mv {kept} moved", f"rm -f {kept}", f"ln {kept} hard"),
        *(f"mkdir {tmp_path}/made", "echo x > /usr/x"),
    )
    run("sh", "-c", "; ".join(tries))
    after = kept.stat()
    assert (kept.read_text(), after.st_mode, after.st_mtime_ns) == ("kept", before.st_mode, before.st_mtime_ns)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["aside", "kept", "work"]
    assert not Path("/usr/x").exists()


def test_no_privilege_is_left_or_can_be_had(run: Run) -> None:
    done = run(
        "sh",
        "-c",
        "unshare -U true; unshare -n true; mount -t tmpfs x /mnt; chroot / true; setpriv --reuid 1 true; echo end",
    )
    assert done.stdout == b"end\n"
    assert done.stderr.count(b"\n") >= 5


def test_no_way_around_the_layers_is_left(run: Run) -> None:
    """Each call of the filter's list is made, with arguments that would do nothing if it came through."""
    column = seccomp._ARCHITECTURES[os.uname().machine][1]
    numbers = {name: each[column] for name, each in {**seccomp._CALLS, **seccomp._ABSENT}.items() if each[column]}
    code = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
        f"for name, number in {numbers}.items():\n"
        "    done = libc.syscall(ctypes.c_long(number), -1, 0, 0, 0, 0, 0)\n"
        "    if done != -1 or ctypes.get_errno() not in (1, 38): print(name)\n"
        "print(libc.syscall(ctypes.c_long(467), -1, 0, 0, 0, 0, 0), ctypes.get_errno())"
    )
    assert run(sys.executable, "-c", code).stdout == b"-1 38\n"


def test_processes_outside_get_no_signal(run: Run) -> None:
    with subprocess.Popen(["sleep", "60"]) as outside:
        done = run("sh", "-c", f"kill -0 {outside.pid} || kill -CONT {outside.pid} || echo none; renice 19 {outside.pid}")
        assert done.stdout == b"none\n"
        assert os.getpriority(os.PRIO_PROCESS, outside.pid) == os.getpriority(os.PRIO_PROCESS, 0)
        outside.kill()


def test_ten_thousand_forks_are_a_few_and_all_are_ended(run: Run) -> None:
    done = run(sys.executable, "-c", _FORKS, processes=40)
    assert done.ending == "processes" or int(done.stdout) <= 40
    assert 0 < done.left < 2_000


def test_ten_gigabytes_are_not_had(run: Run) -> None:
    done = run(sys.executable, "-c", "bytearray(10 << 30)")
    assert b"MemoryError" in done.stderr


def test_many_processes_together_hold_no_more_than_one_may(run: Run) -> None:
    """A limit on each would let a hundred of them take the machine."""
    one = "x = bytearray(90 << 20); import time; time.sleep(60)"
    done = run("sh", "-c", f'for i in 1 2 3 4 5 6; do {sys.executable} -c "{one}" & done; wait', memory=300 << 20)
    assert done.ending == "memory"


def test_who_prints_for_ever_is_ended_and_the_beginning_is_kept(run: Run) -> None:
    done = run("yes", output=1000)
    assert (done.ending, done.cut, len(done.stdout), done.code) == ("output", True, 1000, None)


def test_who_sleeps_for_ever_is_ended(run: Run) -> None:
    done = run("sleep", "60", seconds=0.3)
    assert (done.ending, done.code) == ("time", None)
    assert done.seconds < 20


def test_who_fills_the_disk_is_ended(run: Run) -> None:
    fill = "i=0; while :; do head -c 2000000 /dev/zero > $i; i=$((i+1)); done"
    assert run("sh", "-c", fill, disk=20 << 20).ending == "disk"


HIDDEN = """
import mmap, os
for number in range(200):
    file = open(f"{number}", "wb+")
    os.unlink(f"{number}")
    os.write(file.fileno(), bytes(2_000_000))
    kept = [*globals().get("kept", []), HOW]
os.write(1, b"all")
"""


@pytest.mark.parametrize("how", ["file", "mmap.mmap(file.fileno(), 0)", "(mmap.mmap(file.fileno(), 0), file.close())"])
def test_who_fills_the_disk_with_files_that_have_no_name_is_ended(run: Run, how: str) -> None:
    done = run("python3", "-c", HIDDEN.replace("HOW", how), disk=20 << 20)
    assert (done.ending, done.stdout) == ("disk", b"")


def test_no_open_file_is_carried_where_nobody_counts_it(run: Run) -> None:
    carry = "import socket as s; a, b = s.socketpair(); a.send(b'x'); print(b.recv(1), flush=True); a.sendmsg([b'x'])"
    done = run("python3", "-c", carry)
    assert done.stdout == b"b'x'\n"
    assert b"PermissionError" in done.stderr


def test_shared_memory_holds_few_files(run: Run) -> None:
    """An empty one is memory of the kernel, which no other limit counts."""
    fill = "import os; [os.close(os.open(f'/dev/shm/{n}', os.O_CREAT)) for n in range(5_000)]; print('all')"
    assert run("python3", "-c", fill).stdout == b""


def test_one_file_does_not_grow_past_its_limit(run: Run, folder: Path) -> None:
    done = run("sh", "-c", "head -c 9000000 /dev/zero > big", file_size=1 << 20)
    assert done.code != 0
    assert (folder / "big").stat().st_size <= 1 << 20


def test_a_daemon_is_ended_and_told_of(run: Run, folder: Path) -> None:
    done = run("sh", "-c", "(setsid sh -c 'sleep 1; echo late > late' >/dev/null 2>&1 &) ; setsid sleep 60 & echo up")
    assert (done.ending, done.code, done.stdout) == ("itself", 0, b"up\n")
    assert done.left >= 2
    assert not (folder / "late").exists()


def test_a_signal_that_ends_it_is_told(run: Run) -> None:
    assert run("sh", "-c", "kill -9 $$").signal in {0, signal.SIGKILL}  # 0: where no signal may be sent at all


def test_it_ends_when_its_caller_says_so(run: Run, folder: Path) -> None:
    assert run("sh", "-c", "touch up; sleep 60", stop=(folder / "up").exists).ending == "stopped"


def test_one_that_is_stopped_before_it_starts_is_no_fault_of_the_machine(run: Run) -> None:
    assert run("sleep", "60", stop=lambda: True).ending == "stopped"


def test_nothing_of_it_stays_in_the_temporary_folder(run: Run, tmp_path: Path) -> None:
    done = run("sh", "-c", 'echo x > "$TMPDIR/x"; mkdir "$HOME/d"; chmod 0 "$HOME/d"; cat "$TMPDIR/x"')
    assert done.stdout == b"x\n"
    assert list((tmp_path / "aside").iterdir()) == []


def test_a_program_that_is_not_there_is_said(run: Run) -> None:
    with pytest.raises(NotFound, match="cannot be started"):
        run("no-such-program")


@pytest.mark.parametrize("command", [[], ["a\0b"]])
def test_what_is_no_command_is_refused(command: list[str], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        sandbox.run(command, folder=tmp_path, aside=tmp_path / "aside")


@pytest.mark.parametrize("lacking", ["landlock", "seccomp"])
def test_without_a_layer_that_is_needed_nothing_starts(lacking: Layer, folder: Path, tmp_path: Path) -> None:
    """A kernel that lacks it looks the same as a policy that does not use it."""
    with pytest.raises(HostUnfit, match=f"(?i){lacking}"):
        sandbox.run(["touch", "ran"], folder=folder, aside=tmp_path / "aside", policy=Policy(use=LAYERS - {lacking}))
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("left", [frozenset({"landlock"}), frozenset({"seccomp"}), frozenset[Layer]()])
def test_whatever_a_policy_takes_files_and_network_are_kept_away(
    left: frozenset[Layer], folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(HostUnfit, match="nothing keeps it from"):
        sandbox.run(["touch", "ran"], folder=folder, aside=tmp_path / "aside", policy=Policy(use=left, needs=frozenset()))
    assert not (folder / "ran").exists()


def test_a_policy_that_takes_less_says_what_is_lacking(folder: Path, tmp_path: Path) -> None:
    policy = Policy(use=LAYERS - {"landlock"}, needs=frozenset({"namespaces", "seccomp"}))
    try:
        done = sandbox.run(["true"], folder=folder, aside=tmp_path / "aside", policy=policy)
    except HostUnfit as exc:
        pytest.skip(f"a sandbox without Landlock: {exc.message}")
    assert done.confinement.landlock == 0
    assert any("Landlock" in each for each in done.confinement.lacking)


@pytest.mark.usefixtures("use")
def test_all_ends_with_the_process_that_asked(folder: Path, tmp_path: Path) -> None:
    """A server that is killed leaves nothing behind that works on."""
    code = (
        "import sys; from pathlib import Path; from appliance.base import sandbox;"
        "sandbox.run(['sh', '-c', 'echo up > up; sleep 1; echo late > late; sleep 60'],"
        " folder=Path(sys.argv[1]), aside=Path(sys.argv[2]))"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder), str(tmp_path / "aside")]) as asking:
        assert _until((folder / "up").exists)
        asking.kill()
    assert _until(lambda: not list(_mentioning(str(folder))))
    assert not (folder / "late").exists()
    assert len(list((tmp_path / "aside").iterdir())) == sandbox.sweep(tmp_path / "aside") == 1
    assert list((tmp_path / "aside").iterdir()) == []


def test_what_a_command_uses_is_not_swept_from_under_it(run: Run, folder: Path, tmp_path: Path) -> None:
    swept: list[int] = []

    def sweep() -> None:
        if _until((folder / "up").exists):
            swept.append(sandbox.sweep(tmp_path / "aside"))
            (folder / "go").touch()

    sweeping = threading.Thread(target=sweep)
    sweeping.start()
    done = run("sh", "-c", 'echo kept > "$TMPDIR/x"; touch up; until [ -e go ]; do sleep 0.05; done; cat "$TMPDIR/x"')
    sweeping.join()
    assert (swept, done.stdout) == ([0], b"kept\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_all_ends_with_the_watcher(number: signal.Signals, run: Run, folder: Path) -> None:
    def kill() -> None:
        if _until((folder / "up").exists):
            os.kill(_watcher(), number)

    killing = threading.Thread(target=kill)
    killing.start()
    done = run("sh", "-c", "setsid sleep 60 & touch up; sleep 60", seconds=1.5 if number == signal.SIGTERM else 30.0)
    killing.join()
    assert done.ending == ("time" if number == signal.SIGTERM else "broken")
    assert _until(lambda: not list(_mentioning(str(folder))))


def _watcher() -> int:
    mine = watch.children(os.getpid())
    return next(pid for pid in mine if b"confine.child" in Path(f"/proc/{pid}/cmdline").read_bytes())


def _until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _mentioning(folder: str) -> Iterator[int]:
    """Yield the processes that stand in *folder*."""
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and str((each / "cwd").readlink()) == folder:
                yield int(each.name)
        except OSError:
            continue
