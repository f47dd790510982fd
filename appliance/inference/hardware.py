"""What this machine can carry, as far as this process may use it: cores, memory, processor flags; control groups count."""

import math
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

_V3 = ("avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm")  # each was seen to end one of them by an illegal instruction
_UNLIMITED = 1 << 60  # version 1 writes "no limit" as a number near 2**63


@dataclass(frozen=True, slots=True)
class Hardware:
    """Cores and bytes that this process may use, what the processor knows, and the devices of GPUs that are in sight."""

    cores: int
    memory_total: int
    memory_free: int
    machine: str
    flags: frozenset[str]
    gpus: tuple[str, ...] = ()

    @property
    def lacks(self) -> tuple[str, ...]:
        """What the x86 code of the vector store and the engines uses and this processor has not: parts of x86-64-v3."""
        return tuple(flag for flag in _V3 if flag not in self.flags) if self.machine in {"x86_64", "AMD64"} else ()

    @property
    def threads(self) -> int:
        """Threads for one engine: a core is left to the indexer and the other engine, for neither may spin beside them."""
        return max(1, self.cores - 1)


def probe(*, root: Path = Path("/"), cores: int | None = None, machine: str | None = None) -> Hardware:
    """Return what the kernel says below *root*; *cores* defaults to those that this process may run on."""
    allowed = cores or len(os.sched_getaffinity(0))
    groups = _groups(root)
    total, free = _memory(root)
    for limit, used in filter(None, map(_group_memory, groups)):
        total = min(total, limit)
        free = min(free, max(0, limit - used))
    quotas = [quota for quota in map(_group_cores, groups) if quota]
    return Hardware(
        cores=max(1, min([allowed, *quotas])),
        memory_total=total,
        memory_free=free,
        machine=machine or platform.machine(),
        flags=_flags(root),
        gpus=_gpus(root),
    )


def _memory(root: Path) -> tuple[int, int]:
    values = {}
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            values[name] = int(words[0]) * 1024
    total = values.get("MemTotal", 0)
    return total, values.get("MemAvailable", values.get("MemFree", total))


def _flags(root: Path) -> frozenset[str]:
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, rest = line.partition(":")
        if name.strip() in {"flags", "Features"}:
            return frozenset(rest.split())
    return frozenset()


def _gpus(root: Path) -> tuple[str, ...]:
    """Return the device files of NVIDIA's cards, and the one of all that AMD's compute driver has."""
    try:
        devices = sorted(entry.name for entry in (root / "dev").iterdir())
    except OSError:
        return ()
    return tuple(f"/dev/{name}" for name in devices if name == "kfd" or re.fullmatch(r"nvidia\d+", name))


def _groups(root: Path) -> list[Path]:
    """Return the control groups that hold this process, inner ones first, of both versions."""
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, inner = rest.partition(":")
        if controllers in {"", "memory"} or "cpu" in controllers.split(","):
            base = root / "sys/fs/cgroup" / controllers
            parts = [part for part in inner.split("/") if part not in {"", ".", ".."}]
            found += [base.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)]
    return found


def _group_memory(group: Path) -> tuple[int, int] | None:
    for limit_file, used_file, cache_key in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit = _text(group / limit_file).strip()
        if limit.isdigit() and int(limit) < _UNLIMITED:
            used = _text(group / used_file).strip()
            stat = (line.split() for line in _text(group / "memory.stat").splitlines())
            cache = {words[0]: int(words[1]) for words in stat if len(words) == 2 and words[1].isdigit()}
            return int(limit), max(0, int(used if used.isdigit() else 0) - cache.get(cache_key, 0))
    return None


def _group_cores(group: Path) -> int | None:
    words = _text(group / "cpu.max").split()
    quota, period = words if len(words) == 2 else ("", "")
    if not quota:
        quota, period = _text(group / "cpu.cfs_quota_us").strip(), _text(group / "cpu.cfs_period_us").strip()
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return None
    return math.ceil(int(quota) / int(period))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except (OSError, ValueError):  # not there; or a name with NUL in it
        return ""
