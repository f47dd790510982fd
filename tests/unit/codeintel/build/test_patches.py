"""A patch over a generation holds what a generation holds that was built whole: every table of it, and of its project."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.errors import ApplianceError
from tests.support import planted
from tests.support.embedders import FakeEmbedder
from tests.support.held import COMPARED, NOT_COMPARED, Held
from tests.support.indexing import IndexBench
from tests.support.repos import forge, git, make_repo
from tests.support.tables import tables
from tests.support.whole import publish_graphs, publish_whole, whole

EXAMPLES = int(os.environ.get("SKELLIG_TEST_EDITS", "2"))
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]  # an example takes seconds, and is short: it is not made shorter
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
    f"from lib.c import Delta\nKEY = '{planted.AWS_KEY}'\n\n\ndef psi():\n    return Delta().zeta()\n".encode(),
    "# Omega caf\xe9\r\nomega = 1\r\n".encode("latin-1"),
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
    st.tuples(st.just("track"), st.sampled_from([("side",), ("main", "side"), ()])),
    st.tuples(st.just("ignore"), st.sampled_from([b"lib/\n", b"*.md\n", b""])),
    st.tuples(st.just("embed")),
    st.tuples(st.just("follow")),
)
_steps = st.lists(st.lists(_edit, min_size=1, max_size=3), min_size=2, max_size=4)
_File = tuple[str, bytes]  # mode and content


class BodyEmbedder(FakeEmbedder):
    """Vectors of what a chunk says, whatever its path: a vector goes with a blob when that is moved."""

    def vector(self, text: str) -> npt.NDArray[np.float32]:
        return super().vector(text.partition("\n")[2])


class Site:
    """One repository, git's or a plain folder, and its index. The first generation is built whole, in this process."""

    def __init__(self, root: Path, pool: ParserPool) -> None:
        self.root = root
        self.pool = pool
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
        self.embed()
        self.follow()

    def apply(self, edits: Sequence[tuple[object, ...]]) -> None:
        """Make one new state of all *edits*; what cannot be made of what there is changes nothing."""
        for kind, *what in edits:
            getattr(self, str(kind))(*what)
        self._store()

    def compare(self) -> None:
        """Index, and hold what that gives to what a whole build gives."""
        self.number += 1
        try:
            self.bench.index(self.repo)
        except ApplianceError as exc:
            with pytest.raises(type(exc)):
                whole(self.bench, self.repo, self.root / f"whole-{self.number}")
            return
        for place, branch in enumerate(self.bench.generations.branches(self.repo.id)):
            built = whole(self.bench, self._known(), self.root / f"whole-{self.number}-{place}", branch=branch)
            assert tables(self.bench.generation(self.repo, branch), WORDS) == tables(built, WORDS)

    def compare_every_table(self) -> None:
        """Let vectors and graphs come up, and hold every table to those of an appliance that sees this state alone."""
        self.embed()
        self.follow()
        with closing(IndexBench(self.root / "clean")) as clean:
            repo = clean.add(self.source, settings=self._known().settings)
            for branch in self.bench.generations.branches(self.repo.id):
                publish_whole(clean, repo, self.pool, branch)
            publish_graphs(clean, repo, self.pool)
            clean.fill(repo, BodyEmbedder())
            for branch in self.bench.generations.branches(self.repo.id):
                with (
                    Held(self.bench, self.repo, branch, words=WORDS) as patched,
                    Held(clean, repo, branch, words=WORDS) as expected,
                ):
                    assert patched.names() | expected.names() <= COMPARED.keys() | NOT_COMPARED.keys()
                    assert patched.content() == expected.content()
            clean.indexer._patcher._pools.clear()

    def close(self) -> None:
        """Close all but the parsers, which others use too."""
        self.bench.indexer._patcher._pools.clear()
        self.bench.close()

    def _known(self) -> Repo:
        return self.bench.registry.repo(self.repo.id)

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

    def write(self, path: str, content: bytes) -> None:
        """Put *content* at *path*."""
        self.files[path] = ("100644", content)

    def remove(self, path: str) -> None:
        """Remove the file at *path*."""
        self.files.pop(path, None)

    def move(self, path: str, target: str) -> None:
        """Move a file over whatever is at *target*."""
        if path in self.files:
            self.files[target] = self.files.pop(path)

    def mode(self, path: str, mode: str) -> None:
        """Make a file executable, or a link to ``a.py``."""
        if path in self.files:
            self.files[path] = (mode, b"a.py" if mode == "120000" else self.files[path][1])

    def switch(self, branch: str) -> None:
        """Check *branch* out; a new one begins with what there is."""
        self.others[self.branch], self.branch = self.files, branch
        self.files = dict(self.others.get(branch, self.files))

    def track(self, branches: tuple[str, ...]) -> None:
        """Have *branches* indexed beside the one that is checked out."""
        self.bench.registry.change_repo(self.repo.id, branch=None, settings=RepoSettings(branches=branches))

    def ignore(self, rules: bytes) -> None:
        """Write a ``.gitignore``."""
        self.files[".gitignore"] = ("100644", rules)

    def embed(self) -> None:
        """Give every chunk its vector."""
        self.bench.fill(self.repo, BodyEmbedder())

    def follow(self) -> None:
        """Make the graphs."""
        publish_graphs(self.bench, self.repo, self.pool)


class PlainSite(Site):
    """The same of a plain folder, which has no branches."""

    def track(self, branches: tuple[str, ...]) -> None:
        del branches

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


def test_each_table_that_an_index_keeps_is_compared_or_it_is_said_why_not(tmp_path: Path, pool: ParserPool) -> None:
    """A new table, or file of a generation, is in neither list until somebody thinks of it."""
    with closing(Site(tmp_path, pool)) as site:
        site.apply([("write", "b.py", CONTENTS[1])])
        site.compare()
        site.embed()
        site.follow()
        with Held(site.bench, site.repo, "", words=WORDS) as held:
            assert held.names() == COMPARED.keys() | NOT_COMPARED.keys()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [Site, PlainSite])
@settings(max_examples=EXAMPLES, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
        site.compare_every_table()
    finally:
        site.close()
        shutil.rmtree(root)
