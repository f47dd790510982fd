"""Code that is on every machine that runs the benchmarks: this Python's own library, and what is installed beside it."""

import random
import shutil
import subprocess
import sysconfig
from pathlib import Path

_AUTHOR = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
_NOT_CODE = shutil.ignore_patterns("__pycache__", "*.so", "site-packages")


def library(target: Path, *, packages_megabytes: int = 0) -> Path:
    """Make *target* a repository of the standard library, and of Python files of installed packages up to that size."""
    shutil.copytree(sysconfig.get_path("stdlib"), target, ignore=_NOT_CODE)
    left = packages_megabytes * 1_000_000
    packages = Path(sysconfig.get_path("purelib"))
    for path in sorted(packages.rglob("*.py")):
        if (left := left - path.stat().st_size) < 0:
            break
        place = target / "packages" / path.relative_to(packages)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], [*_AUTHOR, "commit", "-qm", "library"]):
        subprocess.run(["git", "-C", str(target), *command], check=True)
    return target


def memory(pid: int, *, most: bool = False) -> int:
    """Return the resident bytes of process *pid*, with *most* the most that it ever had; 0 once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    name = "VmHWM:" if most else "VmRSS:"
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith(name)]
    return int(sizes[0]) * 1024 if sizes else 0


def memory_together(pid: int) -> int:
    """Return the bytes that process *pid* and all below it hold, what they share counted once."""
    held = 0
    for each in (pid, *children(pid)):
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        held += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return held


def children(pid: int) -> list[int]:
    """Return the process ids of all descendants of *pid*."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            mine = [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
            found += mine + [below for child in mine for below in children(child)]
    except (FileNotFoundError, ProcessLookupError):
        return found
    return found


def many_files(target: Path, count: int) -> None:
    """Fill *target* with *count* Python files of some functions each, in a hundred folders: the same ones every time."""
    chance = random.Random(1)  # noqa: S311 - no secret
    words = ["alpha", "beta", "gamma", "delta", "session", "token", "cache", "retry", "index", "parser", "render", "queue"]
    words += ["lease", "worker", "buffer", "stream"]

    def name() -> str:
        return "_".join(chance.sample(words, 3))

    for number in range(count):
        path = target / f"part{number % 100:02d}" / f"unit{number // 100:03d}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"from part{(number + 1) % 100:02d} import unit{number // 100:03d}", ""]
        for each in range(chance.randint(2, 6)):
            lines += [f"def {name()}_{number}_{each}(value):", f'    """Do {name()} for {name()}."""']
            lines += [f"    {name()} = {name()}(value, {chance.randint(0, 999)})" for _ in range(chance.randint(3, 14))]
            lines += [f"    return {name()}", "", ""]
        path.write_text("\n".join(lines), encoding="utf-8")
