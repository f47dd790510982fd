"""From a repository to a published generation."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.config import Index
from appliance.errors import Cancelled, Conflict, MalformedContent, NotFound
from tests.support.indexing import IndexBench, Recorder
from tests.support.ranked import best_chunks
from tests.support.repos import commit, explode, git, make_repo, put_object

CODE: dict[str, bytes | str | None] = {
    "client.py": "class Client:\n    def stream(self, url):\n        return open_connection(url)\n",
    "lib/retry.go": "package lib\n\nfunc Retry(times int) error {\n\treturn nil\n}\n",
    "tests/test_client.py": "def test_stream():\n    assert True\n",
    "README.md": "# Shop\n\nHow to retry a download.\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "vendor/other.py": "x = 1\n",
    "latin.txt": "caf\xe9 au lait, s'il vous pla\xeet\n".encode("latin-1"),
}


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[IndexBench]:
    """Open a bench that starts the programs of an index, as the appliance does: what it publishes is the same."""
    with closing(IndexBench(tmp_path / "data")) as bench:
        yield bench


def blobs(repo: Path, rev: str = "main") -> set[tuple[str, str]]:
    """Return what git says stands in the tree."""
    rows = git(repo, "ls-tree", "-r", "-z", rev).split(b"\0")[:-1]
    return {(os.fsdecode(row.partition(b"\t")[2]), row.split()[2].decode()) for row in rows}


def test_an_index_holds_every_file_of_the_tree_but_those_left_out_by_name_and_reason(
    programs: IndexBench, tmp_path: Path
) -> None:
    source = make_repo(tmp_path, CODE)
    repo = programs.add(source)
    info = programs.index(repo)
    left_out = {item.path: item.reason for item in programs.generation(repo).left_out()}
    assert left_out == {"logo.png": "binary", "vendor/other.py": "vendored"}
    assert info.left_out == {"binary": 1, "vendored": 1}
    assert programs.file_set(repo) == {(path, blob) for path, blob in blobs(source) if path not in left_out}
    assert info.commit == git(source, "rev-parse", "main").decode().strip()
    assert info.encodings == {"utf-8": 4, "latin-1": 1}
    assert info.languages["python"] == 2
    assert info.branch == "main"
    assert programs.registry.repo(repo.id).last_success is not None


def test_definitions_are_found_and_words_are_searched(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    bench.index(repo)
    generation = bench.generation(repo)
    (stream,) = generation.symbols.qualified("Client.stream")
    assert (stream.path, stream.start_line, stream.end_line) == ("client.py", 2, 3)
    assert [row.path for row in generation.symbols.named("Retry")] == ["lib/retry.go"]
    ids, _ = best_chunks(generation.lexical, ["download"], 5)
    assert [generation.files.paths[generation.chunk_file[i]] for i in ids] == ["README.md"]


def test_a_second_index_of_an_unchanged_commit_parses_nothing_and_keeps_the_generation(
    bench: IndexBench, tmp_path: Path
) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    first = bench.index(repo)
    recorder = Recorder()
    assert bench.index(repo, progress=recorder.progress) == first
    assert {phase for phase, _, _ in recorder.phases} == {"list"}


def test_only_changed_blobs_are_parsed(programs: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, {f"f{i}.py": f"def f{i}(): pass\n" for i in range(30)})
    repo = programs.add(source)
    programs.index(repo)
    commit(source, {"f3.py": "def changed(): pass\n", "f4.py": None, "new.py": "def new(): pass\n"})
    recorder = Recorder()
    info = programs.index(repo, progress=recorder.progress)
    assert recorder.parsed() == 2
    assert info.files == 30
    assert programs.file_set(repo) == blobs(source)
    assert programs.generation(repo).symbols.named("f4") == []


def test_renames_copies_and_branches_cost_no_parsing(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    repo = bench.add(source)
    bench.index(repo)
    code = CODE["client.py"]
    commit(source, {"client.py": None, "moved.py": code, "copy.py": code})
    recorder = Recorder()
    bench.index(repo, progress=recorder.progress)
    assert recorder.parsed() == 0
    assert {row.path for row in bench.generation(repo).symbols.named("Client")} == {"moved.py", "copy.py"}
    git(source, "branch", "other", "main~1")
    other = bench.add(source, name="other", branch="other")
    bench.index(other, progress=recorder.progress)
    assert recorder.parsed() == 0
    assert bench.generation(other).info.branch == "other"


def test_a_commit_that_changes_no_file_is_published_without_building_anything(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    repo = bench.add(source)
    first = bench.index(repo)
    head = commit(source, {})
    second = bench.index(repo)
    assert (second.commit, second.tree, second.id != first.id) == (head, first.tree, True)
    assert bench.folders(repo) == {first.id}
    assert bench.generation(repo).info.commit == head


def test_the_same_bytes_under_names_of_two_languages_are_parsed_as_each(bench: IndexBench, tmp_path: Path) -> None:
    text = "def f(): pass\n"
    repo = bench.add(make_repo(tmp_path, {"a.py": text, "a.txt": text, "b.txt": text}))
    info = bench.index(repo)
    assert info.languages == {"python": 1, "text": 2}
    assert [row.path for row in bench.generation(repo).symbols.named("f")] == ["a.py"]


def test_a_clone_without_its_files_says_how_to_get_them(bench: IndexBench, tmp_path: Path) -> None:
    """`git clone --filter=blob:none` leaves them at the server until they are asked for, which is never done here."""
    whole = make_repo(tmp_path, CODE, name="whole")
    git(whole, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{whole}", "partial")
    repo = bench.add(tmp_path / "partial")
    with pytest.raises(MalformedContent, match="7 unreadable") as caught:
        bench.index(repo)
    assert "Fetch what is missing, as of a partial clone" in caught.value.remedy


def test_a_tree_without_one_file_to_index_is_an_error_and_the_former_index_stays(bench: IndexBench, tmp_path: Path) -> None:
    """An index that became empty must not mask the one that answers."""
    source = make_repo(tmp_path, {"a.py": "x = 1\n", "logo.png": CODE["logo.png"]})
    repo = bench.add(source)
    first = bench.index(repo)
    commit(source, {"a.py": None})
    with pytest.raises(MalformedContent, match="1 binary"):
        bench.index(repo)
    assert bench.registry.repo(repo.id).error == "malformed_content"
    assert bench.generation(repo).info == first
    assert bench.folders(repo) == {first.id}
    commit(source, {"b.py": "y = 2\n"})
    bench.index(repo)
    assert bench.registry.repo(repo.id).error == ""


def test_a_repository_that_vanished_is_an_error_with_a_remedy_and_the_index_stays(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    repo = bench.add(source)
    first = bench.index(repo)
    shutil.rmtree(source)
    with pytest.raises(NotFound):
        bench.index(repo)
    noted = bench.registry.repo(repo.id)
    assert noted.error == "not_found"
    assert noted.remedy
    assert bench.generation(repo).info == first


@pytest.mark.parametrize("phase", ["list", "parse", "index", "text", "publish"])
def test_a_cancel_leaves_nothing_but_cached_facts(programs: IndexBench, tmp_path: Path, phase: str) -> None:
    repo = programs.add(make_repo(tmp_path, CODE))
    recorder = Recorder(cancel_at=phase)
    with pytest.raises(Cancelled):
        programs.index(repo, progress=recorder.progress, check=recorder.check)
    assert programs.folders(repo) == set()
    with pytest.raises(NotFound):
        programs.generation(repo)
    assert programs.registry.repo(repo.id).error == ""
    programs.index(repo)


def test_two_processes_write_what_one_does_and_a_cancel_ends_both(programs: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    one = programs.index(programs.add(source))
    two = IndexBench(tmp_path / "two", limits=Index(workers=2))
    with closing(two):
        repo, recorder = two.add(source), Recorder(cancel_at="text")
        with pytest.raises(Cancelled):
            two.index(repo, progress=recorder.progress, check=recorder.check)
        assert two.folders(repo) == set()
        assert two.index(repo).chunks == one.chunks
        (text,) = two.paths.project(repo.project).generations.glob("*/text-0")
        (other,) = programs.paths.project(programs.registry.repos()[0].project).generations.glob("*/text-0")
        assert text.read_bytes() == other.read_bytes()


def test_facts_found_before_a_cancel_are_not_found_again(programs: IndexBench, tmp_path: Path) -> None:
    repo = programs.add(make_repo(tmp_path, CODE))
    recorder = Recorder(cancel_at="index")
    with pytest.raises(Cancelled):
        programs.index(repo, progress=recorder.progress, check=recorder.check)
    again = Recorder()
    programs.index(repo, progress=again.progress)
    assert again.parsed() == 0


def test_twenty_failing_attempts_leave_the_disk_as_it_was(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, {"logo.png": CODE["logo.png"]})
    repo = bench.add(source)
    for _ in range(20):
        with pytest.raises(MalformedContent):
            bench.index(repo)
    assert bench.folders(repo) == set()


def test_progress_goes_through_five_phases_and_counts_files(programs: IndexBench, tmp_path: Path) -> None:
    repo = programs.add(make_repo(tmp_path, CODE))
    recorder = Recorder()
    programs.index(repo, progress=recorder.progress)
    assert list(dict.fromkeys(phase for phase, _, _ in recorder.phases)) == ["list", "parse", "text", "index", "publish"]
    assert ("parse", 6, 6) in recorder.phases
    assert ("index", 6, 6) in recorder.phases


def test_a_changed_limit_builds_a_new_generation(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, {"a.py": "x = 1\n", "big.py": "y = 2\n" * 1000}))
    assert bench.index(repo).files == 2
    bench.close()
    again = IndexBench(tmp_path / "data", limits=Index(workers=1, max_file_bytes=2000))
    info = again.index(repo)
    assert (info.files, info.left_out) == (1, {"oversize": 1})
    again.close()


def test_a_generation_whose_files_are_damaged_is_built_again(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))
    first = bench.index(repo)
    folder = bench.paths.project(repo.project).generations / first.id
    (folder / "chunk_file.npy").write_bytes(b"rubbish")
    second = bench.index(repo)
    assert second.id != first.id
    assert bench.generation(repo).symbols.named("Client")


def test_two_indexes_of_one_project_at_once_are_refused(bench: IndexBench, tmp_path: Path) -> None:
    repo = bench.add(make_repo(tmp_path, CODE))

    def progress(phase: str, _done: int, _total: int | None) -> None:
        if phase == "index":
            with pytest.raises(Conflict):
                bench.index(repo)

    bench.index(repo, progress=progress)


def test_two_repos_of_one_project_share_facts(bench: IndexBench, tmp_path: Path) -> None:
    one = bench.add(make_repo(tmp_path, CODE, name="one"))
    two = bench.add(make_repo(tmp_path, CODE | {"extra.py": "z = 3\n"}, name="two"))
    bench.index(one)
    recorder = Recorder()
    bench.index(two, progress=recorder.progress)
    assert recorder.parsed() == 1


def test_a_plain_folder_is_indexed_like_a_repository(bench: IndexBench, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("def plain(): pass\n")
    repo = bench.add(folder)
    bench.index(repo)
    assert [row.path for row in bench.generation(repo).symbols.named("plain")] == ["a.py"]
    recorder = Recorder()
    bench.index(repo, progress=recorder.progress)
    assert recorder.parsed() == 0


def test_a_folder_whose_files_stay_says_anew_what_is_left_out_beside_them(bench: IndexBench, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.py").write_text("def plain(): pass\n")
    repo = bench.add(folder)
    assert bench.index(repo).left_out == {}
    os.mkfifo(folder / "pipe")
    assert bench.index(repo).left_out == {"special": 1}
    (folder / "pipe").unlink()
    assert bench.index(repo).left_out == {}


def test_what_one_repository_lacks_another_of_the_same_tree_has(bench: IndexBench, tmp_path: Path) -> None:
    lacking, whole = (make_repo(tmp_path, CODE, name=name) for name in ("lacking", "whole"))
    explode(lacking)
    blob = git(whole, "rev-parse", "main:client.py").decode().strip()
    (lacking / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert bench.index(bench.add(lacking)).left_out["unreadable"] == 1
    repo = bench.add(whole)
    assert "unreadable" not in bench.index(repo).left_out
    assert bench.generation(repo).symbols.named("Client")


def test_a_repository_that_was_mended_is_indexed_whole_at_the_next_refresh(bench: IndexBench, tmp_path: Path) -> None:
    source = make_repo(tmp_path, CODE)
    explode(source)
    blob = git(source, "rev-parse", "main:client.py").decode().strip()
    content = git(source, "cat-file", "blob", blob)
    put_object(source, blob, b"something else\n")
    repo = bench.add(source)
    assert bench.index(repo).left_out["unreadable"] == 1
    put_object(source, blob, content)
    assert "unreadable" not in bench.index(repo).left_out
    assert bench.generation(repo).symbols.named("Client")


def test_a_repository_cannot_speak_for_the_files_of_another(bench: IndexBench, tmp_path: Path) -> None:
    """Facts are kept by blob id: a forged object would else define what the honest repository does not."""
    forged, honest = (make_repo(tmp_path, {"auth.py": "def check(): ...\n", "b.py": "b = 1\n"}, name=n) for n in "fh")
    explode(forged)
    put_object(forged, git(honest, "rev-parse", "main:auth.py").decode().strip(), b"def allow_anybody(): ...\n")
    assert bench.index(bench.add(forged)).left_out == {"unreadable": 1}
    repo = bench.add(honest)
    bench.index(repo)
    names = {row.name for row in bench.generation(repo).symbols.in_file("auth.py")}
    assert names == {"check"}


def test_sha256_repositories_and_names_that_are_not_utf8_are_indexed(programs: IndexBench, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    source = make_repo(tmp_path, {name: "def f(): pass\n"}, bare=True, object_format="sha256")
    repo = programs.add(source)
    programs.index(repo)
    assert programs.file_set(repo) == blobs(source)
    assert programs.generation(repo).symbols.named("f")[0].path == name


def test_tidying_removes_the_generations_of_a_removed_repo(bench: IndexBench, tmp_path: Path) -> None:
    gone, kept = (
        bench.add(make_repo(tmp_path, CODE, name="gone")),
        bench.add(make_repo(tmp_path, {"b.py": "b = 1\n"}, name="kept")),
    )
    bench.index(gone)
    info = bench.index(kept)
    bench.registry.remove_repo(gone.id)
    bench.indexer.tidy(kept.project)
    assert bench.folders(kept) == {info.id}
