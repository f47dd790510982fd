"""What it costs to verify a bundle beside what ``sha256sum`` needs for the same bytes, both read from the page cache."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from appliance.bundle import trust, verify
from tests.benchmarks.report import Figure
from tests.support.bundles import Host, Workshop, oci_archive

_SHARE = 0.8
_ROUNDS = 3
_BYTES = 512 << 20


def run() -> Sequence[Figure]:
    """Verify a bundle with one image of 512 MiB, and sum the same files; the best of three rounds each, wall clock."""
    with tempfile.TemporaryDirectory(prefix="skellig-bench-") as folder:
        return _measured(Path(folder))


def _measured(root: Path) -> list[Figure]:
    shop = Workshop(root / "shop")
    shop.image = oci_archive(root / "image.tar", layer=bytes(range(256)) * (_BYTES >> 8))
    bundle = shop.bundle(built=datetime.now(UTC), largest=_BYTES)
    known = trust.first(bundle, key=shop.keys.minisigner.key, carried=None)
    files = [path for path in bundle.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    theirs = _best(lambda: subprocess.run(["sha256sum", *files], check=True, capture_output=True))
    ours = _best(lambda: verify.verify(bundle, known, now=datetime.now(UTC)))
    host = Host(root / "host", shop)
    start = time.perf_counter()
    host.apply(bundle)
    applied = time.perf_counter() - start
    shutil.rmtree(root / "host")
    load = f"{len(files)} files, {size:.0f} MB"
    return [
        Figure("sha256sum", size / theirs, "MB/s", load=load),
        Figure("bundle verify", size / ours, "MB/s", load=load),
        Figure("bundle verify beside sha256sum", theirs / ours, "", limit=_SHARE, better="higher", load=load),
        Figure("bundle apply, synced", size / applied, "MB/s", load=load),
    ]


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
