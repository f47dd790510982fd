"""A bundle file is a repository: taken in whole, brought up to date by a newer one, refused when it is not what it seems."""

from pathlib import Path

import pytest

from appliance.codeintel.repo_settings import RepoSettings
from appliance.errors import LimitExceeded, MalformedContent, NotFound
from tests.support.indexing import IndexBench
from tests.support.repos import commit, git, make_repo

CODE = {f"f{number}.py": f"def f{number}():\n    return {number}\n" for number in range(6)}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return make_repo(tmp_path, CODE, name="code")


def bundle(code: Path, into: Path, *what: str) -> Path:
    git(code, "bundle", "create", "-q", str(into), *(what or ("--all",)))
    return into


def paths(bench: IndexBench, name: str, branch: str = "") -> set[str]:
    return {path for path, _ in bench.file_set(bench.registry.repo(name), branch)}


def test_a_bundle_is_indexed_and_a_newer_file_of_the_same_name_brings_it_up_to_date(
    bench: IndexBench, code: Path, tmp_path: Path
) -> None:
    git(code, "branch", "release/1")
    file = bundle(code, tmp_path / "tool.bundle")
    repo = bench.add(file, settings=RepoSettings(branches=("release/*",)))
    assert repo.name == "tool"
    assert bench.index(repo).files == len(CODE)
    assert bench.generations.branches(repo.id) == ["", "release/1"]
    assert not bench.registry.replaced(repo)

    head = commit(code, {"new.py": "def new(): pass\n"})
    git(code, "branch", "-D", "release/1")
    bundle(code, file)
    assert bench.registry.replaced(repo)
    assert bench.index(repo).commit == head
    assert paths(bench, "tool") == {*CODE, "new.py"}
    assert bench.generations.branches(repo.id) == [""]


def test_a_bundle_in_sha256_format_is_taken_too(bench: IndexBench, tmp_path: Path) -> None:
    code = make_repo(tmp_path, CODE, object_format="sha256", name="modern")
    assert bench.index(bench.add(bundle(code, tmp_path / "modern.bundle"))).files == len(CODE)


def test_a_bundle_that_is_gone_keeps_its_index_and_its_lines(bench: IndexBench, code: Path, tmp_path: Path) -> None:
    file = bundle(code, tmp_path / "tool.bundle")
    repo = bench.add(file)
    info = bench.index(repo)
    file.unlink()
    with pytest.raises(NotFound):
        bench.index(repo)
    assert bench.registry.repo(repo.id).error == "not_found"
    blob = bench.generation(repo).files.blobs[0]
    assert bench.generations.source(repo.id).blob(blob) == CODE["f0.py"].encode()
    assert bench.generation(repo).info == info


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_a_bundle_that_was_cut_off_is_refused_and_what_was_indexed_stays(
    bench: IndexBench, code: Path, tmp_path: Path, share: float
) -> None:
    file = bundle(code, tmp_path / "tool.bundle")
    repo = bench.add(file)
    info = bench.index(repo)
    commit(code, {"new.py": "def new(): pass\n"})
    whole = bundle(code, file).read_bytes()
    file.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(MalformedContent):
        bench.index(repo)
    assert bench.generation(repo).info == info
    assert left_in(bench) == []
    file.write_bytes(whole)
    assert bench.index(repo).files == len(CODE) + 1


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_bundle_with_one_wrong_bit_in_its_pack_is_refused(
    bench: IndexBench, code: Path, tmp_path: Path, share: float
) -> None:
    file = bundle(code, tmp_path / "tool.bundle")
    content = bytearray(file.read_bytes())
    content[int(len(content) * share)] ^= 0x10
    file.write_bytes(content)
    with pytest.raises(MalformedContent):
        bench.index(bench.add(file))
    assert left_in(bench) == []


def test_a_bundle_that_names_a_commit_which_it_does_not_hold_is_refused(
    bench: IndexBench, code: Path, tmp_path: Path
) -> None:
    file = bundle(code, tmp_path / "tool.bundle")
    head = git(code, "rev-parse", "HEAD").strip()
    file.write_bytes(file.read_bytes().replace(head, b"1" * 40))
    with pytest.raises(MalformedContent):
        bench.index(bench.add(file))


def test_a_bundle_of_a_part_of_the_history_is_refused_with_how_to_make_a_whole_one(
    bench: IndexBench, code: Path, tmp_path: Path
) -> None:
    commit(code, {"new.py": "def new(): pass\n"})
    file = bundle(code, tmp_path / "part.bundle", "main~1..main")
    with pytest.raises(MalformedContent) as caught:
        bench.index(bench.add(file))
    assert "bundle create" in caught.value.remedy


def test_what_a_killed_fetch_left_behind_goes_with_the_next_one(bench: IndexBench, code: Path, tmp_path: Path) -> None:
    repo = bench.add(bundle(code, tmp_path / "tool.bundle"))
    bench.index(repo)
    mirror = bench.registry.read_at(repo)
    (mirror / "objects" / "pack" / "tmp_pack_x").write_bytes(b"half")
    (mirror.parent / ".access-x").mkdir()
    (mirror.parent / ".access-x" / "config").write_text("a login")
    (mirror / "HEAD.lock").touch()
    commit(code, {"new.py": "def new(): pass\n"})
    bundle(code, tmp_path / "tool.bundle")
    assert bench.index(repo).files == len(CODE) + 1
    assert left_in(bench) == []


def test_a_file_that_is_no_bundle_is_refused(bench: IndexBench, tmp_path: Path) -> None:
    (tmp_path / "poor.bundle").write_bytes(b"# v2 git bundle\n" + bytes(range(256)))
    with pytest.raises(MalformedContent):
        bench.index(bench.add(tmp_path / "poor.bundle", name="poor"))


def test_an_empty_repository_is_never_promoted_and_a_full_one_is_taken_after_it(
    bench: IndexBench, code: Path, tmp_path: Path
) -> None:
    """An index of nothing would stand in for the real one, and look well."""
    empty = tmp_path / "tool.bundle"
    empty.write_bytes(b"# v2 git bundle\n\n")
    repo = bench.add(empty)
    with pytest.raises((NotFound, MalformedContent)):
        bench.index(repo)
    assert bench.generations.branches(repo.id) == []
    assert bench.registry.repo(repo.id).state == "error"
    bundle(code, empty)
    assert bench.index(repo).files == len(CODE)
    assert bench.registry.repo(repo.id).state == "ready"


def test_a_repository_that_is_larger_than_it_may_be_is_refused_and_leaves_nothing(bench: IndexBench, tmp_path: Path) -> None:
    noise = bytes((number * 7919 + number // 251 * 104729) % 256 for number in range(3_000_000))
    code = make_repo(tmp_path, {"a.py": "a = 1\n", "noise.bin": noise}, name="large")
    git(code, "config", "core.compression", "0")
    git(code, "repack", "-adqF")
    repo = bench.add(bundle(code, tmp_path / "large.bundle"), settings=RepoSettings(max_mb=1))
    with pytest.raises(LimitExceeded):
        bench.index(repo)
    assert left_in(bench) == []


def left_in(bench: IndexBench) -> list[str]:
    """Return what attempts left behind in the mirrors."""
    mirrors = bench.paths.project(bench.registry.project("default").id).mirrors
    return [str(path) for path in mirrors.rglob("*") if "tmp_" in path.name or path.name.startswith(".access")]
