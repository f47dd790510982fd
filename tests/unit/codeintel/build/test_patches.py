"""A patch over a generation holds what a generation holds that was built whole."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.store.generation import Generation
from appliance.errors import ApplianceError
from tests.support.indexing import IndexBench
from tests.support.repos import forge, git, make_repo
from tests.support.tables import publish_whole, tables, whole

EXAMPLES = int(os.environ.get("SKELLIG_TEST_EDITS", "3"))
PATHS = ["a.py", "b.py", "lib/c.py", "lib/deep/d.py", "tests/test_e.py", "web/f.js", "n.md", "vendor/g.py", "ü.go", "a/z.py"]
CONTENTS = [
    b"import b\n\n\ndef alpha(value):\n    return b.beta(value)\n",
    b"def beta(value):\n    return gamma(value)\n\n\ndef gamma(value):\n    return value\n",
    b"class Delta:\n    def epsilon(self):\n        return alpha(1)\n\n    def zeta(self):\n        return self.epsilon()\n",
    b"def broken(:\n    return ((((\n",
    b"export function eta(theta) { return iota(theta); }\nfunction iota(x) { return x; }\n",
    b"# Kappa\n\nLambda mu nu.\n\n## Xi\n\nOmicron.\n",
    b"package pi\n\nfunc Rho(sigma int) int { return sigma }\n",
    b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "".join(f"def tau_{n}(upsilon):\n    phi = chi(upsilon, {n})\n    return phi\n\n\n" for n in range(40)).encode(),
    b"",
]
WORDS = sorted({
    token for text in [*(each.decode("latin-1") for each in CONTENTS), *PATHS, "first"] for token in query_tokens(text)
})  # fmt: skip

_path, _content = st.sampled_from(PATHS), st.sampled_from(CONTENTS)
_edit = st.one_of(
    st.tuples(st.just("write"), _path, _content),
    st.tuples(st.just("write"), _path, _content),
    st.tuples(st.just("remove"), _path),
    st.tuples(st.just("move"), _path, _path),
    st.tuples(st.just("mode"), _path, st.sampled_from(["100644", "100755", "120000"])),
    st.tuples(st.just("switch"), st.sampled_from(["main", "side"])),
    st.tuples(st.just("ignore"), st.sampled_from([b"lib/\n", b"*.md\n", b""])),
)
_steps = st.lists(st.lists(_edit, min_size=1, max_size=3), min_size=2, max_size=4)
_File = tuple[str, bytes]  # mode and content


class Site:
    """One repository, git's or a plain folder, and its index. The first generation is built whole, in this process."""

    def __init__(self, root: Path, pool: ParserPool) -> None:
        self.root = root
        self.files: dict[str, _File] = {
            "a.py": ("100644", b"def first():\n    return 1\n"),
            "b.py": ("100644", b"first()\n"),
        }
        self.others: dict[str, dict[str, _File]] = {}
        self.branch = "main"
        self.bench = IndexBench(root / "data")
        self.source = root / "repo"
        self._lay_out()
        self.repo = self.bench.add(self.source)
        self.number = 0
        publish_whole(self.bench, self.repo, pool)

    def apply(self, edits: Sequence[tuple[object, ...]]) -> None:
        """Make one new state of all *edits*; what cannot be made of what there is changes nothing."""
        for kind, *what in edits:
            getattr(self, f"_{kind}")(*what)
        self._store()

    def compare(self) -> None:
        """Index, and hold what that gives to what a whole build gives."""
        self.number += 1
        try:
            self.bench.index(self.repo)
        except ApplianceError as exc:
            with pytest.raises(type(exc)):
                self.whole()
        else:
            assert tables(self.bench.generation(self.repo), WORDS) == tables(self.whole(), WORDS)

    def whole(self) -> Generation:
        """Return what a whole build gives."""
        return whole(self.bench, self.repo, self.root / f"whole-{self.number}")

    def close(self) -> None:
        """Close all but the parsers, which others use too."""
        self.bench.indexer._patcher._pools.clear()
        self.bench.close()

    def _lay_out(self) -> None:
        make_repo(self.root, bare=True)
        self._store()

    def _store(self) -> None:
        commands = [
            b'M %s inline "%s"\ndata %d\n%s\n' % (mode.encode(), path.encode(), len(content), content)
            for path, (mode, content) in self.files.items()
        ]
        forge(self.source, [b"deleteall\n", *commands], branch=self.branch)
        git(self.source, "symbolic-ref", "HEAD", f"refs/heads/{self.branch}")

    def _write(self, path: str, content: bytes) -> None:
        self.files[path] = ("100644", content)

    def _remove(self, path: str) -> None:
        self.files.pop(path, None)

    def _move(self, path: str, target: str) -> None:
        if path in self.files:
            self.files[target] = self.files.pop(path)

    def _mode(self, path: str, mode: str) -> None:
        if path in self.files:
            self.files[path] = (mode, b"a.py" if mode == "120000" else self.files[path][1])

    def _switch(self, branch: str) -> None:
        self.others[self.branch], self.branch = self.files, branch
        self.files = dict(self.others.get(branch, self.files))

    def _ignore(self, rules: bytes) -> None:
        self.files[".gitignore"] = ("100644", rules)


class PlainSite(Site):
    """The same of a plain folder."""

    def _lay_out(self) -> None:
        self.source.mkdir()
        self._store()

    def _store(self) -> None:
        there = {
            str(path.relative_to(self.source)) for path in self.source.rglob("*") if path.is_symlink() or path.is_file()
        }
        for path in there - self.files.keys():
            (self.source / path).unlink()
        for path, (mode, content) in self.files.items():
            place = self.source / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if mode == "120000":
                place.unlink(missing_ok=True)
                place.symlink_to(content.decode())
                continue
            if place.is_symlink():
                place.unlink()
            if not place.exists() or place.read_bytes() != content:
                place.write_bytes(content)
            place.chmod(int(mode[3:], 8))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [Site, PlainSite])
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_steps)
def test_however_files_change_a_patched_index_holds_what_one_built_whole_holds(
    kind: type[Site], steps: list[list[tuple[object, ...]]], pool: ParserPool
) -> None:
    root = Path(tempfile.mkdtemp(prefix="skellig-patches-"))
    site = kind(root, pool)
    try:
        for edits in steps:
            site.apply(edits)
            site.compare()
    finally:
        site.close()
        shutil.rmtree(root)
