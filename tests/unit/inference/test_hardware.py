from pathlib import Path

import pytest

from appliance.inference.hardware import Hardware, probe

GB = 1 << 30


def machine(root: Path, files: dict[str, str]) -> Path:
    plain = {
        "proc/meminfo": "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n",
        "proc/cpuinfo": "processor : 0\nflags\t\t: sse abm avx avx2 bmi1 bmi2 f16c fma movbe\n",
        "proc/self/cgroup": "0::/\n",
    }
    for name, content in (plain | files).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="ascii")
    return root


def test_machine_without_limits_is_taken_as_it_is(tmp_path: Path) -> None:
    found = probe(root=machine(tmp_path, {}), cores=4, machine="x86_64")
    assert (found.cores, found.memory_total, found.memory_free, found.lacks) == (4, 16 * GB, 8 * GB, ())


def test_control_group_of_version_2_bounds_memory_and_cores(tmp_path: Path) -> None:
    """Cache that the kernel can drop is free memory."""
    files = {
        "sys/fs/cgroup/memory.max": str(4 * GB),
        "sys/fs/cgroup/memory.current": str(3 * GB),
        "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {2 * GB}\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
    }
    found = probe(root=machine(tmp_path, files), cores=8, machine="x86_64")
    assert (found.memory_total, found.memory_free, found.cores) == (4 * GB, 3 * GB, 2)


def test_outer_group_bounds_too(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/outer/inner\n",
        "sys/fs/cgroup/outer/memory.max": str(2 * GB),
        "sys/fs/cgroup/outer/memory.current": "0",
        "sys/fs/cgroup/outer/inner/memory.max": "max",
        "sys/fs/cgroup/outer/inner/cpu.max": "max 100000",
    }
    found = probe(root=machine(tmp_path, files), cores=8, machine="x86_64")
    assert (found.memory_free, found.cores) == (2 * GB, 8)


def test_control_group_of_version_1_bounds_memory_and_cores(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/x\n",
        "sys/fs/cgroup/memory/box/memory.limit_in_bytes": str(GB),
        "sys/fs/cgroup/memory/box/memory.usage_in_bytes": str(GB // 2),
        "sys/fs/cgroup/memory/memory.limit_in_bytes": str((1 << 63) - 4096),
        "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "100000",
        "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
    }
    found = probe(root=machine(tmp_path, files), cores=8, machine="x86_64")
    assert (found.memory_total, found.memory_free, found.cores) == (GB, GB // 2, 1)


@pytest.mark.parametrize("content", ["", "garbage\n", "MemTotal: much\n\0\n", "flags\n"])
def test_unreadable_kernel_files_are_no_crash(tmp_path: Path, content: str) -> None:
    names = ("proc/meminfo", "proc/cpuinfo", "proc/self/cgroup", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/cpu.max")
    found = probe(root=machine(tmp_path, dict.fromkeys(names, content)), cores=1, machine="x86_64")
    assert (found.memory_free, bool(found.lacks)) == (0, True)


def test_root_without_any_kernel_file_is_no_crash(tmp_path: Path) -> None:
    assert probe(root=tmp_path, cores=1, machine="x86_64").memory_total == 0


def test_this_very_machine_can_be_probed() -> None:
    found = probe()
    assert found.cores >= 1
    assert 0 < found.memory_free <= found.memory_total


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (2, 1), (8, 7)])
def test_one_core_is_left_for_others(cores: int, threads: int) -> None:
    assert Hardware(cores, GB, GB, "x86_64", frozenset()).threads == threads


def test_what_x86_64_v3_has_is_asked_of_x86_alone() -> None:
    assert not Hardware(1, GB, GB, "aarch64", frozenset()).lacks
    found = Hardware(1, GB, GB, "x86_64", frozenset({"avx2", "fma", "f16c"}))
    assert found.lacks == ("bmi1", "bmi2", "movbe", "abm")


def test_gpus_are_seen_by_their_devices(tmp_path: Path) -> None:
    devices = {f"dev/{name}": "" for name in ("nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm", "kfd", "null")}
    assert probe(root=machine(tmp_path, devices)).gpus == ("/dev/kfd", "/dev/nvidia0", "/dev/nvidia1")
    assert probe(root=machine(tmp_path / "none", {})).gpus == ()
