"""Repositories as people keep them."""

import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Literal

import pytest

from appliance.codeintel.source.base import Source
from appliance.config import Index
from appliance.errors import InvalidInput, LimitExceeded, MalformedContent, NotFound, UnsafePath
from appliance.ids import BlobId, CommitId
from tests.support.repos import commit, explode, git, make_repo, put_object
from tests.unit.codeintel.source.conftest import Opener

FILES = {"a.py": "x = 1\n", "dir/b.c": "int b;\n", "empty": ""}


def contents(source: Source, branch: str | None = None) -> dict[str, bytes]:
    entries = list(source.entries(source.snapshot(branch)))
    read = dict(source.read([entry.blob for entry in entries]))
    return {entry.path: read[entry.blob] for entry in entries}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of `FILES` that no test changes."""
    return make_repo(tmp_path_factory.mktemp("plain"), FILES)


WHOLE = {path: text.encode() for path, text in FILES.items()}


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_repository_is_read_bare_or_not_in_either_object_format(
    tmp_path: Path, opened: Opener, object_format: str, *, bare: bool
) -> None:
    repo = make_repo(tmp_path, FILES, bare=bare, object_format=object_format)  # type: ignore[arg-type]
    source = opened(repo)
    assert contents(source) == WHOLE
    assert source.snapshot(None).branch == "main"
    assert len(source.snapshot(None).commit) == (40 if object_format == "sha1" else 64)


def test_a_linked_work_tree_is_read_at_its_own_head(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    commit(repo, {"only-here.py": "y = 2\n"}, branch="side")
    source = opened(tmp_path / "linked")
    assert source.snapshot(None).branch == "side"
    assert "only-here.py" in contents(source)
    assert "only-here.py" not in contents(source, "main")


def test_a_repository_of_another_owner_is_read_and_no_configuration_is_written(tmp_path: Path, opened: Opener) -> None:
    """Git alone refuses it as dubious."""
    if os.geteuid():
        pytest.skip("only root can give files away")
    repo = make_repo(tmp_path, FILES)
    for folder, _, files in os.walk(repo):
        for name in (".", *files):
            os.chown(Path(folder) / name, 54321, 54321)
    assert contents(opened(repo)) == WHOLE


def test_a_repository_is_read_from_where_nothing_can_be_written(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES, bare=True)
    before = sorted((path, path.lstat().st_mtime_ns) for path in repo.rglob("*"))
    source = opened(repo)
    contents(source)
    source.behind(branch="main", commit=CommitId("0" * 40))
    assert sorted((path, path.lstat().st_mtime_ns) for path in repo.rglob("*")) == before


def test_a_submodule_work_tree_is_read(tmp_path: Path, opened: Opener) -> None:
    inner = make_repo(tmp_path, FILES, name="inner")
    outer = make_repo(tmp_path, {"o": "o"}, name="outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    assert contents(opened(outer / "sub")) == WHOLE


def test_packed_objects_and_refs_are_read(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    git(repo, "gc", "-q")
    assert contents(opened(repo)) == WHOLE


def test_a_detached_head_has_no_branch(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    git(repo, "checkout", "-q", "--detach")
    assert opened(repo).snapshot(None).branch == ""


def test_branches_tags_and_commits_can_be_named(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    first = git(repo, "rev-parse", "main").decode().strip()
    git(repo, "tag", "-m", "note", "v1")
    commit(repo, {"c": "c"}, branch="main")
    source = opened(repo)
    assert source.snapshot("v1").commit == first
    assert source.snapshot(first).commit == first
    assert source.snapshot("main").commit != first


def test_an_unknown_branch_is_answered_with_close_ones(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    commit(repo, {"c": "c"}, branch="feature/search")
    with pytest.raises(NotFound, match="feature/search"):
        opened(repo).snapshot("feature/serch")


@pytest.mark.parametrize("name", ["-x", "a b", "a\nb", "main^{tree}", "a..b", "main@{1}", "main~1", ""])
def test_what_is_no_branch_name_never_reaches_git(plain: Path, opened: Opener, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name"):
        opened(plain).snapshot(name)


def test_a_head_without_its_branch_means_the_only_one_there_is(tmp_path: Path, opened: Opener) -> None:
    """Bare mirrors often name master while the code is on main."""
    repo = make_repo(tmp_path, FILES, bare=True)
    (repo / "HEAD").write_text("ref: refs/heads/master\n")
    assert opened(repo).snapshot(None).branch == "main"
    commit(repo, {"c": "c"}, branch="other")
    with pytest.raises(NotFound, match="main, other"):
        opened(repo).snapshot(None)


def test_a_repository_without_commits_says_so(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path)
    for branch in (None, "main"):
        with pytest.raises(NotFound, match="no commits yet"):
            opened(repo).snapshot(branch)


@pytest.mark.parametrize("kind", ["missing", "file", "git-file", "empty-git", "relative"])
def test_a_location_that_is_none_is_refused_with_a_remedy(tmp_path: Path, opened: Opener, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("text")
    elif kind != "missing":
        place.mkdir()
    if kind == "git-file":
        (place / ".git").write_text("not a pointer")
    elif kind == "empty-git":
        (place / ".git").mkdir()
    with pytest.raises((NotFound, InvalidInput, MalformedContent)) as caught:
        opened(Path("place") if kind == "relative" else place)
    assert caught.value.remedy


def test_a_git_file_may_not_point_at_a_repository_that_does_not_know_it(tmp_path: Path, opened: Opener) -> None:
    """Or one folder that is ours to index would open every repository on the machine."""
    other = make_repo(tmp_path, FILES, name="other")
    place = tmp_path / "place"
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {other}/.git\n")
    with pytest.raises(UnsafePath, match="does not know it"):
        opened(place)


@pytest.mark.parametrize("part", [".git", ".git/objects", ".git/refs", ".git/objects/pack", ".git/commondir"])
def test_links_out_of_the_repository_are_refused(tmp_path: Path, opened: Opener, part: str) -> None:
    other = make_repo(tmp_path, FILES, name="other")
    repo = make_repo(tmp_path, FILES)
    if part.endswith("commondir"):
        (repo / part).write_text(f"{other}/.git\n")
    else:
        shutil.rmtree(repo / part)
        (repo / part).symlink_to(other / part)
    with pytest.raises(UnsafePath):
        opened(repo)


@pytest.mark.parametrize("part", ["fan-out", "loose object", "pack"])
def test_objects_that_are_links_out_of_the_repository_are_refused(tmp_path: Path, opened: Opener, part: str) -> None:
    other = make_repo(tmp_path, {"secret.py": "secret = 1\n"}, name="other")
    repo = make_repo(tmp_path, FILES)
    if part == "pack":
        git(other, "repack", "-a", "-d", "-q")
        for file in (other / ".git/objects/pack").iterdir():
            (repo / ".git/objects/pack" / file.name).symlink_to(file)
    else:
        explode(other)
        blob = git(other, "rev-parse", "main:secret.py").decode().strip()
        folder = repo / ".git/objects" / blob[:2]
        if part == "fan-out":
            folder.symlink_to(other / ".git/objects" / blob[:2])
        else:
            folder.mkdir()
            (folder / blob[2:]).symlink_to(other / ".git/objects" / blob[:2] / blob[2:])
    with pytest.raises(UnsafePath, match="leads out"):
        opened(repo)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_content_that_is_not_what_its_id_says_is_never_given_out(
    tmp_path: Path, opened: Opener, object_format: Literal["sha1", "sha256"]
) -> None:
    """What is known of a blob is kept by its id for all repositories: one could else speak for another."""
    repo = make_repo(tmp_path, FILES, object_format=object_format)
    explode(repo)
    source = opened(repo)
    entries = list(source.entries(source.snapshot(None)))
    damaged, *whole = [entry.blob for entry in entries]
    put_object(repo, damaged, b"def allow_anybody(): pass\n")
    assert [blob for blob, _ in source.read([damaged, *whole])] == whole
    assert list(source.blobs([damaged, *whole])) == whole
    with pytest.raises(MalformedContent, match="damaged") as caught:
        source.blob(damaged)
    assert "git fsck" in caught.value.remedy


def test_alternates_are_not_followed_and_the_remedy_says_so(tmp_path: Path, opened: Opener) -> None:
    other = make_repo(tmp_path, FILES, name="other")
    subprocess.run(["git", "clone", "-q", "--shared", "--bare", str(other), str(tmp_path / "borrower")], check=True)
    with pytest.raises(MalformedContent, match="repack -ad"):
        opened(tmp_path / "borrower").snapshot("main")
    git(tmp_path / "borrower", "repack", "-q", "-a", "-d")
    assert contents(opened(tmp_path / "borrower")) == WHOLE


def test_a_partial_clone_lists_what_it_lacks_and_fetches_nothing(tmp_path: Path, opened: Opener) -> None:
    origin = make_repo(tmp_path, FILES, name="origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    clone = ["git", "clone", "-q", "--bare", "--filter=blob:none", origin.as_uri(), str(tmp_path / "part")]
    subprocess.run(clone, check=True)
    source = opened(tmp_path / "part")
    entries = list(source.entries(source.snapshot(None)))
    assert [entry.size for entry in entries] == [-1, -1, -1]
    assert list(source.read([entry.blob for entry in entries])) == []
    with pytest.raises(NotFound):
        source.blob(entries[0].blob)


def test_a_shallow_clone_is_read_and_counts_to_its_border(tmp_path: Path, opened: Opener) -> None:
    origin = make_repo(tmp_path, FILES, name="origin")
    commit(origin, {"n": "2"})
    commit(origin, {"n": "3"})
    subprocess.run(["git", "clone", "-q", "--depth=1", origin.as_uri(), str(tmp_path / "shallow")], check=True)
    source = opened(tmp_path / "shallow")
    assert contents(source) == WHOLE | {"n": b"3"}
    assert source.behind(branch="main", commit=source.snapshot(None).commit) == 0
    assert source.behind(branch="main", commit=CommitId("1" * 40)) is None


def test_new_commits_are_counted_as_they_come(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    source = opened(repo)
    commit_id = source.snapshot(None).commit
    assert source.behind(branch="main", commit=commit_id) == 0
    commit(repo, {"n": "2"})
    commit(repo, {"n": "3"})
    assert source.behind(branch="main", commit=commit_id) == 2
    assert source.behind(branch="gone", commit=commit_id) is None


def test_what_stands_in_a_work_tree_and_in_no_commit_is_told(tmp_path: Path, opened: Opener) -> None:
    """Whoever asks a moment after an edit must not take the answer for one about what he sees in his editor."""
    repo = make_repo(tmp_path, {**FILES, ".gitattributes": "* filter=theirs diff=theirs\n"})
    evil = "touch OWNED; cat"
    for name in ("filter.theirs.clean", "diff.theirs.command", "diff.theirs.textconv", "core.fsmonitor"):
        git(repo, "config", name, evil)
    source = opened(repo)
    assert source.dirty(branch="main") is False
    assert source.dirty(branch="other") is False, "what is checked out has no say over another branch"
    name = next(path for path in FILES if (repo / path).is_file())
    before = (repo / name).read_bytes()
    (repo / name).write_bytes(before + b"edited\n")
    assert source.dirty(branch="main") is True
    (repo / name).write_bytes(before)
    assert source.dirty(branch="main") is False, "the same content at another time is no change"
    (repo / "new").write_text("never told of to git")
    assert source.dirty(branch="main") is False
    tame = ("-c", "filter.theirs.clean=cat", "-c", "core.fsmonitor=false")
    git(repo, *tame, "add", "new")
    assert source.dirty(branch="main") is True
    git(repo, *tame, "commit", "-q", "-m", "Add it")
    assert source.dirty(branch="main") is False
    assert not list(tmp_path.rglob("OWNED"))


def test_a_bare_repository_and_one_without_a_checkout_hold_no_changes(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, FILES)
    for way in ("--bare", "--no-checkout"):
        subprocess.run(["git", "clone", "-q", way, str(repo), str(tmp_path / way)], check=True)
        assert opened(tmp_path / way).dirty(branch="main") is False


def test_a_linked_work_tree_is_dirty_by_itself(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, {"a.py": "1"})
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    (tmp_path / "linked" / "a.py").write_text("2")
    assert (opened(repo).dirty(branch="main"), opened(tmp_path / "linked").dirty(branch="side")) == (False, True)


def test_a_file_is_located_by_commit_and_path(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, {**FILES, "odd\nna:me \udcff.py": "odd\n"})
    source = opened(repo)
    commit_id = source.snapshot(None).commit
    for path in ("a.py", "dir/b.c", "odd\nna:me \udcff.py"):
        blob = source.locate(commit=commit_id, path=path)
        assert blob is not None
        assert source.blob(blob) == git(repo, "cat-file", "blob", blob)
    paths = ["a.py", "nothing", "odd\nna:me \udcff.py", "dir", "../a.py", "a.py", "dir/b.c"]
    each = {path: source.locate(commit=commit_id, path=path) for path in paths}
    assert source.located(commit=commit_id, paths=paths) == each
    assert set(source.located(commit=CommitId("main"), paths=paths).values()) == {None}


@pytest.mark.parametrize(
    "path", ["dir", "nothing", "", "../a.py", "./a.py", "/a.py", "a.py/", "dir//b.c", "x" * 5000, "a\0"]
)
def test_what_is_no_file_of_the_commit_is_not_located(plain: Path, opened: Opener, path: str) -> None:
    source = opened(plain)
    assert source.locate(commit=source.snapshot(None).commit, path=path) is None
    assert source.locate(commit=CommitId("main"), path="a.py") is None


def test_a_blob_is_refused_if_it_is_missing_no_blob_or_too_large(tmp_path: Path, opened: Opener) -> None:
    source = opened(make_repo(tmp_path, {"large": "x" * 3000, "small": "s"}), limits=Index(max_file_bytes=2000))
    snapshot = source.snapshot(None)
    entries = {entry.path: entry for entry in source.entries(snapshot)}
    with pytest.raises(LimitExceeded):
        source.blob(entries["large"].blob)
    for wrong in (snapshot.tree, "0" * 40, "main:small", "small\n"):
        with pytest.raises(NotFound):
            source.blob(BlobId(wrong))
    assert [content for _, content in source.read([entries["large"].blob, entries["small"].blob])] == [b"s"]


def test_many_threads_read_their_own_blobs(tmp_path: Path, opened: Opener) -> None:
    source = opened(make_repo(tmp_path, {f"f{n}": f"content {n}\n" * 50 for n in range(40)}))
    entries = list(source.entries(source.snapshot(None)))
    wrong: list[str] = []

    def reader() -> None:
        wrong.extend(e.path for e in entries if not source.blob(e.blob).startswith(f"content {e.path[1:]}\n".encode()))

    threads = [threading.Thread(target=reader) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_more_blobs_than_a_pipe_holds_are_read_in_order(tmp_path: Path, opened: Opener) -> None:
    source = opened(make_repo(tmp_path, {f"f{n:04}": f"{n}" * 200 for n in range(900)}))
    entries = list(source.entries(source.snapshot(None)))
    assert [blob for blob, _ in source.read(entry.blob for entry in entries)] == [entry.blob for entry in entries]


def test_a_damaged_object_costs_only_itself(tmp_path: Path, opened: Opener) -> None:
    repo = make_repo(tmp_path, {f"f{n}": f"content {n}\n" for n in range(5)})
    source = opened(repo)
    entries = list(source.entries(source.snapshot(None)))
    bad = entries[2].blob
    loose = repo / ".git/objects" / bad[:2] / bad[2:]
    loose.chmod(0o600)
    content = bytearray(loose.read_bytes())
    content[-3] ^= 0xFF
    loose.write_bytes(content)
    read = [blob for blob, _ in source.read([entry.blob for entry in entries])]
    assert read == [entry.blob for entry in entries if entry.blob != bad]
    with pytest.raises((MalformedContent, NotFound)):
        source.blob(bad)
    assert source.blob(entries[0].blob) == b"content 0\n"


def test_a_killed_git_process_is_replaced(tmp_path: Path, opened: Opener) -> None:
    source = opened(make_repo(tmp_path, FILES))
    entry = next(iter(source.entries(source.snapshot(None))))
    assert source.blob(entry.blob)
    source.close()  # ends the children; the next request starts new ones
    assert source.blob(entry.blob)
