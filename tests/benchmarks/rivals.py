"""What peers that pip installs reach on Python's own library, in the same run: semble's index and search, and ripgrep."""

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks import peers, targets
from tests.benchmarks.corpus import library
from tests.benchmarks.index_speed import bare_parse
from tests.benchmarks.live import QUESTIONS
from tests.benchmarks.report import Figure
from tests.benchmarks.search_speed import patterns

_BY_SEMBLE = f"{peers.SEMBLE} without its model"
_RIPGREP_ASKED = 60
_FORM = re.compile(r'/(?P<regex>.*)/|content:"(?P<text>.*)"|content:(?P<name>\w+)(?P<any_case> case:no)?')


def run() -> Sequence[Figure]:
    """Measure; ripgrep's time is that of its process, for it keeps no index."""
    with tempfile.TemporaryDirectory() as folder:
        source = library(Path(folder) / "library")
        paths = sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.suffix in (".py", ".c", ".h"))
        bare, size = bare_parse(source, paths)
        asked = patterns(source, paths)
        load = f"Python's library, {size / 1e6:.1f} MB"
        return [*_semble(source, [*QUESTIONS, *asked], bare, load), *_ripgrep(source, asked[:_RIPGREP_ASKED], load)]


def _semble(source: Path, asked: Sequence[str], bare: float, load: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        queries, out = Path(folder) / "queries.json", Path(folder) / "out.json"
        queries.write_text(json.dumps([" ".join(re.findall(r"\w+", query)) for query in asked]), encoding="utf-8")
        argv = [str(peers.python()), str(peers.adapter("semble")), "--dir", str(source)]
        subprocess.run([*argv, "--queries", str(queries), "--out", str(out)], check=True)
        found = json.loads(out.read_text(encoding="utf-8"))
    p50, p95 = np.percentile(found["latency_ms"], (50, 95))
    return [
        targets.peer("index-rate", _BY_SEMBLE, bare / (found["index_processor_ms"] / 1000), load=f"{load}, processor time"),
        targets.peer("query-words-p50", _BY_SEMBLE, float(p50), load=load),
        targets.peer("query-words-p95", _BY_SEMBLE, float(p95), load=load),
    ]


def _ripgrep(source: Path, asked: Sequence[str], load: str) -> list[Figure]:
    program = peers.python().with_name("rg")
    took = []
    for query in asked:
        start = time.perf_counter()
        argv = [str(program), "--no-config", "--line-number", *_flags(query), "--", str(source)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as ran:
            assert ran.stdout is not None
            for _ in zip(range(20), ran.stdout, strict=False):
                pass
            ran.kill()
        took.append((time.perf_counter() - start) * 1000)
    said = f"{load}, {len(asked)} patterns, until 20 lines are there, load {os.getloadavg()[0]:.1f}"
    return [targets.peer("text-p95", peers.RIPGREP, float(np.percentile(took, 95)), load=said)]


def _flags(query: str) -> list[str]:
    form = _FORM.fullmatch(query)
    assert form is not None, query
    if form["regex"] is not None:
        return ["--regexp", form["regex"]]
    text = form["name"] or form["text"].replace('\\"', '"').replace("\\\\", "\\")
    return ["--fixed-strings", *(["--ignore-case"] if form["any_case"] else []), "--regexp", text]
