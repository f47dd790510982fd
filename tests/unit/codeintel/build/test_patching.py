"""What a patch is laid over, what it costs, and what searches, vectors and the graph make of it."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.codeintel.build.graphing import GraphBuilder
from appliance.codeintel.build.patching import is_worn
from appliance.codeintel.build.renewal import Renewal
from appliance.codeintel.parse.pool import ParserPool
from appliance.codeintel.parse.tokens import query_tokens
from appliance.codeintel.query.calls import unfollowed
from appliance.codeintel.registry import Repo
from appliance.codeintel.store.flows import FlowStore
from appliance.codeintel.store.generation import Generation
from appliance.codeintel.store.layers import PATCH_NAME
from appliance.errors import StoreCorrupt
from tests.support.embedders import FakeEmbedder
from tests.support.held import Held
from tests.support.indexing import IndexBench, Recorder, go_on, silent
from tests.support.ranked import best_chunks
from tests.support.repos import commit, forge, git, make_repo
from tests.support.tables import edges, tables, with_vector
from tests.support.whole import publish_whole, whole

CODE = {
    f"pkg/m{n}.py": f"from pkg import m{n + 1}\n\n\ndef run_{n}(job):\n    return m{n + 1}.run_{n + 1}(job)\n"
    for n in range(20)
}
WORDS = sorted({token for text in CODE.values() for token in query_tokens(text)})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_repo(tmp_path, CODE)


@pytest.fixture
def repo(bench: IndexBench, source: Path, pool: ParserPool) -> Iterator[Repo]:
    """Return a repository with a published generation that was built whole."""
    repo = bench.add(source)
    publish_whole(bench, repo, pool)
    yield repo
    bench.indexer._patcher._pools.clear()


@pytest.fixture
def graphs(bench: IndexBench) -> GraphBuilder:
    return GraphBuilder(bench.registry, paths=bench.paths, limits=bench.limits)


@pytest.fixture
def renewal(bench: IndexBench) -> Renewal:
    return Renewal(bench.registry, paths=bench.paths, limits=bench.limits, clock=bench.clock)


def patched(bench: IndexBench, repo: Repo) -> int:
    """Index *repo* and return over how many patches its generation then is."""
    return bench.index(repo).patches


def children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split())


def test_the_work_is_proportional_to_the_diff(bench: IndexBench, tmp_path: Path) -> None:
    """Of many files three change: three are parsed, their chunks are embedded, and nothing else is written anew."""
    files = {f"d{n % 50}/m{n}.py": f"def run_{n}(job):\n    return job + {n}\n" for n in range(2000)}
    source = make_repo(tmp_path, files)
    repo = bench.add(source)
    bench.index(repo)
    embedder = FakeEmbedder()
    bench.fill(repo, embedder)
    before = bench.generation(repo)
    commit(source, {f"d{n}/m{n}.py": f"def changed_{n}(job):\n    return {n}\n" for n in (1, 2, 3)})
    recorder = Recorder()
    info = bench.index(repo, progress=recorder.progress)
    assert (info.patches, recorder.parsed()) == (1, 3)
    assert info.vectors == 1997
    embedder.texts.clear()
    assert bench.fill(repo, embedder) == len(embedder.texts) == 3
    after = bench.generation(repo)
    own = {
        path.name: path.stat().st_size for path in after.folder.rglob("*") if path.is_file() and path.stat().st_nlink == 1
    }
    shared = sum(path.stat().st_size for path in before.folder.rglob("*") if path.is_file() and "vectors" not in str(path))
    assert {name for name in own if not name.startswith(("rows", "scale", "state"))} == {PATCH_NAME, "text-1"}
    assert own[PATCH_NAME] < shared / 10


def test_what_a_published_generation_rests_on_is_never_removed(bench: IndexBench, repo: Repo, source: Path) -> None:
    """The generation that was built whole is retired and its folder swept while patches over it are read."""
    first = bench.generation(repo).folder
    for number in range(5):
        commit(source, {"pkg/m3.py": f"def other_{number}():\n    pass\n"})
        assert patched(bench, repo) == number + 1
        bench.indexer.tidy(repo.project)
        assert tables(bench.generation(repo), WORDS) == tables(
            Generation(bench.generation(repo).folder, bench.generation(repo).info), WORDS
        )
    assert not first.exists()
    assert {token for token in ("run", "job") if len(best_chunks(bench.generation(repo).lexical, [token], 50)[0]) == 19} == {
        "run",
        "job",
    }


def test_the_second_edit_starts_no_process(bench: IndexBench, repo: Repo, source: Path) -> None:
    commit(source, {"pkg/m1.py": "def once():\n    pass\n"})
    bench.index(repo)
    before = children()
    commit(source, {"pkg/m1.py": "def twice():\n    pass\n", "new.py": "x = 1\n"})
    assert patched(bench, repo) == 2
    assert children() == before


def test_what_an_index_does_not_see_of_a_change_makes_no_new_generation(bench: IndexBench, repo: Repo, source: Path) -> None:
    folder = bench.generation(repo).folder
    content = CODE["pkg/m1.py"].encode()
    forge(source, [b"M 100755 inline pkg/m1.py\ndata %d\n%s\n" % (len(content), content)])
    info = bench.index(repo)
    assert bench.generation(repo).folder == folder
    assert info.commit == git(source, "rev-parse", "main").decode().strip()


@pytest.mark.parametrize("name", [".skelligignore", ".gitattributes"])
def test_rules_for_all_files_are_held_to_all_files(bench: IndexBench, repo: Repo, source: Path, name: str) -> None:
    commit(source, {name: "pkg/m1* linguist-vendored\n" if name == ".gitattributes" else "pkg/m1*\n"})
    info = bench.index(repo)
    assert (info.patches, info.files) == (0, 10)


def test_a_tree_that_names_a_file_twice_is_built_whole(bench: IndexBench, repo: Repo, source: Path) -> None:
    blob = git(source, "hash-object", "-w", "--stdin", stdin=b"twice = 1\n").strip()
    record = b"100644 a.py\0" + bytes.fromhex(blob.decode())
    tree = git(source, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=record + record).decode().strip()
    made = git(source, "commit-tree", tree, "-m", "forged").decode().strip()
    git(source, "update-ref", "refs/heads/main", made)
    info = bench.index(repo)
    assert (info.patches, info.files, info.left_out) == (0, 1, {"unsafe-path": 1})


def test_most_of_a_repository_is_built_whole(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, {f"m{n}.py": f"x = {n}\n" for n in range(100)}, name="large")
    repo = bench.add(source)
    bench.index(repo)
    commit(source, {f"m{n}.py": f"y = {n}\n" for n in range(60)})
    assert patched(bench, repo) == 0


@pytest.mark.parametrize("damaged", [PATCH_NAME, "generation.db", "chunk_file.npy", "lexical/words-0"])
def test_nothing_is_laid_over_what_is_damaged(bench: IndexBench, repo: Repo, source: Path, damaged: str) -> None:
    """It would be linked to for ever, and each patch be damaged as the one before."""
    commit(source, {"pkg/m1.py": "def once():\n    pass\n"})
    assert patched(bench, repo) == 1
    place = bench.generation(repo).folder / damaged
    place.write_bytes(b"nothing that can be read, though as long as it may be" * 200)
    bench.generations.forget(repo.id)
    with pytest.raises(StoreCorrupt):
        bench.generation(repo)
    commit(source, {"pkg/m1.py": "def twice():\n    pass\n"})
    assert patched(bench, repo) == 0
    assert len(bench.generation(repo).files) == 20


def test_what_is_patched_scores_as_if_it_were_built_anew(bench: IndexBench, repo: Repo, source: Path) -> None:
    commit(
        source,
        {
            "pkg/m1.py": CODE["pkg/m2.py"],
            "pkg/deep/m2.py": "def other(): return run2() or run2()\n",
            "pkg/m5.py": None,
            "pkg/long.txt": f"{'omega ' * 1_000}alpha omega\n",
        },
    )
    assert patched(bench, repo) == 1
    generation = bench.generation(repo)
    again = bench.add(source, name="again")
    assert bench.index(again).patches == 0
    whole = bench.generation(again)
    for tokens in (["run"], ["job", "m3", "import"], ["run2", "def", "pkg"], ["omega"]):
        assert _scores(generation, tokens) == _scores(whole, tokens)
    for phrase in (["def", "run"], ["run", "def"], ["run2", "or"], ["alpha", "omega"]):
        assert len(generation.lexical.holding([phrase])) == len(whole.lexical.holding([phrase]))
    assert len(generation.lexical.holding([["run2", "or"]])) == len(whole.lexical.holding([["alpha", "omega"]])) == 1


def _scores(generation: Generation, tokens: list[str]) -> list[tuple[str, int, float, float]]:
    """Return by path and line what each living chunk, and its file, has for *tokens*."""
    scored = generation.lexical.scored(tokens)
    return sorted(
        (
            path,
            int(generation.chunk_start[chunk]),
            round(float(scored.chunks[chunk]), 4),
            round(float(scored.files[number]), 4),
        )
        for path, number in generation.files.by_path.items()
        for chunk in range(*generation.files.first_chunk[number : number + 2])
    )


def test_known_vectors_are_there_with_the_patch_and_only_new_chunks_are_embedded(
    bench: IndexBench, repo: Repo, source: Path
) -> None:
    embedder = FakeEmbedder()
    bench.fill(repo, embedder)
    before = with_vector(bench.generation(repo))
    embedder.texts.clear()
    commit(source, {"pkg/m4.py": "def other():\n    pass\n", "pkg/m5.py": None, "moved.py": CODE["pkg/m5.py"]})
    info = bench.index(repo)
    now = with_vector(bench.generation(repo))
    assert now == {key: row for key, row in before.items() if key[0] not in {"pkg/m4.py", "pkg/m5.py"}}
    assert (info.vectors, info.chunks) == (18, 20)
    assert bench.fill(repo, embedder) == 1
    assert bench.generation(repo).info.completeness == 1
    assert with_vector(bench.generation(repo))["moved.py", 1] == before["pkg/m5.py", 1]


def test_the_graph_goes_on_for_files_that_did_not_change_and_says_how_many_did(
    bench: IndexBench, repo: Repo, source: Path, graphs: GraphBuilder
) -> None:
    graphs.build(repo.id, progress=silent, check=go_on)
    full = edges(bench.generation(repo))
    commit(source, {"pkg/m4.py": "def other():\n    pass\n", "pkg/m9.py": None})
    bench.index(repo)
    generation = bench.generation(repo)
    assert generation.graph is not None
    assert generation.graph.info.changed == 2
    assert any("2 files changed since" in said for said in unfollowed(generation))
    arrays, ids = (
        generation.graph.adjacency,
        [-1 - n for n in generation.files.numbers] + generation.symbols.numbered()[0].tolist(),
    )
    ends = arrays.ids[arrays.target].tolist(), arrays.ids[arrays.source].tolist(), arrays.line.tolist()
    uses = generation.graph.uses(ids)
    assert sorted(zip(*ends, strict=True)) == sorted((row.target, row.source, row.line) for row in uses)
    calls = {edge for edge in edges(generation) if len(edge) == 6}
    assert calls == {edge for edge in full if len(edge) == 6 and not any(f"pkg/m{n}.py" in str(edge[:2]) for n in (4, 9))}
    graphs.build(repo.id, progress=silent, check=go_on)
    generation = bench.generation(repo)
    assert generation.graph is not None
    assert generation.graph.info.changed == 0
    assert edges(generation) == edges(whole(bench, repo, source.parent / "whole", graph=True))


def test_a_file_whose_parser_was_stopped_is_said_not_to_be_followed(
    bench: IndexBench, repo: Repo, source: Path, graphs: GraphBuilder
) -> None:
    """Who calls something would else be told without the calls in that file, as if there were none."""
    graphs.build(repo.id, progress=silent, check=go_on)
    assert unfollowed(bench.generation(repo)) == []
    unusable = "x = " + "(" * 5000 + ")" * 5000 + "\n"
    commit(source, {"pkg/slow.py": "from pkg import m1\nm1.run_1(0)\n", "pkg/deep.py": unusable, "deep.json": unusable})
    bench.index(repo)
    blob = git(source, "rev-parse", "HEAD:pkg/slow.py").decode().strip()
    with closing(FlowStore(bench.paths.project(repo.project).db)) as flows:
        flows.put([((blob, "python"), b"")])  # what a stopped parser leaves
    graphs.build(repo.id, progress=silent, check=go_on)
    said = " ".join(unfollowed(bench.generation(repo)))
    assert "their syntax cannot be used: " in said
    assert "1 file could not be followed: their parser was stopped, or they were gone." in said


def test_a_worn_generation_is_built_anew_aside_and_what_changed_meanwhile_goes_over_it(
    bench: IndexBench, repo: Repo, source: Path, graphs: GraphBuilder, renewal: Renewal
) -> None:
    embedder = FakeEmbedder()
    body = "".join(f"def part_{n}(value):\n    kept = value + {n}\n    return kept\n\n\n" for n in range(4000))
    commit(source, {"pkg/big.py": body})
    assert is_worn(bench.index(repo))
    bench.fill(repo, embedder)
    graphs.build(repo.id, progress=silent, check=go_on)
    assert renewal.build(repo.id, progress=silent, check=go_on)
    commit(source, {"pkg/m4.py": "def other():\n    pass\n", "pkg/m9.py": None})
    assert patched(bench, repo) == 2
    bench.fill(repo, embedder)
    graphs.build(repo.id, progress=silent, check=go_on)
    before = bench.generation(repo)
    with Held(bench, repo, "", words=WORDS) as held:
        kept = held.content()
    assert renewal.adopt(repo.id) == 1
    after = bench.generation(repo)
    with Held(bench, repo, "", words=WORDS) as held:
        assert held.content() == kept
    assert (after.info.patches, is_worn(after.info), renewal.is_due(repo.id)) == (1, False, False)
    embedder.texts.clear()
    assert bench.fill(repo, embedder) == 0
    bench.indexer.tidy(repo.project)
    assert bench.folders(repo) == {before.folder.name, after.folder.name}


def test_a_generation_that_is_not_worn_is_left_alone(bench: IndexBench, repo: Repo, renewal: Renewal) -> None:
    folder = bench.generation(repo).folder
    assert not renewal.build(repo.id, progress=silent, check=go_on)
    assert renewal.adopt(repo.id) == 0
    assert bench.generation(repo).folder == folder
