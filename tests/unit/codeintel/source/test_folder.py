"""Plain folders, taken in without git looking at them."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from appliance.codeintel.source.base import Changed, Source
from appliance.codeintel.source.scan import read_inside
from appliance.config import Index
from appliance.errors import InvalidInput, NotFound
from tests.support.repos import make_repo
from tests.unit.codeintel.source.conftest import Opener


class SetClock:
    """A clock that stands where it was put."""

    def __init__(self, now: float) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("x = 1\n")
    (root / "sub" / "b.sh").write_text("echo\n")
    (root / "sub" / "b.sh").chmod(0o755)
    return root


def contents(source: Source) -> dict[str, bytes]:
    snapshot = source.snapshot(None)
    return {entry.path: source.blob(entry.blob) for entry in source.entries(snapshot)}


def reasons(source: Source) -> dict[str, str]:
    return {left.path: left.reason for left in source.left_out(source.snapshot(None))}


def test_a_folder_is_one_snapshot_of_its_files(folder: Path, opened: Opener) -> None:
    assert contents(opened(folder)) == {"a.py": b"x = 1\n", "sub/b.sh": b"echo\n"}


@pytest.mark.parametrize("around", [".", "folder", "link"])
def test_a_folder_that_our_own_data_lies_in_is_refused(tmp_path: Path, folder: Path, opened: Opener, around: str) -> None:
    """Each index would change it, and a watched one would never come to rest; and keys lie there."""
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(InvalidInput, match="holds the appliance's own data"):
        opened(tmp_path / around, mirror="folder/data/mirrors/repo")


@pytest.mark.parametrize("made_up", ["/proc", "/proc/self", "/sys/kernel", "link"])
def test_what_the_kernel_makes_up_is_refused(tmp_path: Path, opened: Opener, made_up: str) -> None:
    """Its files have no end, change with each look, or do something when they are read."""
    (tmp_path / "link").symlink_to("/proc/self/task")
    with pytest.raises(InvalidInput, match="the kernel makes up what is in it") as caught:
        opened(tmp_path / made_up)
    assert caught.value.remedy


MOUNTED = """
import sys
from pathlib import Path
from appliance.codeintel.source.scan import Scan
from appliance.watching import _folders
root = Path(sys.argv[1])
scan = Scan(root, git_dir=root, max_bytes=1000)
print(sorted(scan.files()), [(each.path, each.reason, each.detail) for each in scan.left_out], _folders(root))
"""


def test_what_the_kernel_makes_up_inside_a_folder_is_named_left_out_and_not_watched(folder: Path) -> None:
    inner = folder / "in the\\way"
    inner.mkdir()
    fence = ["unshare", "--user", "--map-root-user", "--mount"]
    mount = 'mount --rbind /proc "$1" && shift && exec "$@"'
    ran = [*fence, "sh", "-c", mount, "sh", str(inner), sys.executable, "-c", MOUNTED, str(folder)]
    if subprocess.run([*fence, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no user namespaces, in which alone a test may mount")
    done = subprocess.run(ran, capture_output=True, text=True, check=True, timeout=100)
    left_out = (str(inner.relative_to(folder)) + "/", "special", "It is a file system of the kind proc.")
    watched = ([str(folder), str(folder / "sub")], frozenset({str(inner)}))
    assert done.stdout == f"{[b'a.py', b'sub/b.sh']} {[left_out]} {watched}\n"


def test_equal_content_gives_an_equal_commit(tmp_path: Path, folder: Path, opened: Opener) -> None:
    first = opened(folder).snapshot(None)
    os.utime(folder / "a.py", (1, 1))
    again = opened(folder, mirror="another").snapshot(None)
    (tmp_path / "elsewhere").mkdir()
    moved = folder.rename(tmp_path / "elsewhere" / "moved")
    assert first == again == opened(moved, mirror="third").snapshot(None)


def test_a_change_gives_another_commit_and_the_old_one_stays_readable(folder: Path, opened: Opener) -> None:
    source = opened(folder)
    first = source.snapshot(None)
    (folder / "a.py").write_text("x = 2\n")
    second = source.snapshot(None)
    assert first.commit != second.commit
    found = [source.locate(commit=each.commit, path="a.py") for each in (first, second)]
    assert [source.blob(blob) for blob in found if blob] == [b"x = 1\n", b"x = 2\n"]


def test_an_unchanged_folder_is_not_read_again(folder: Path, opened: Opener) -> None:
    """The stamps of its files say so, once they are old enough to tell."""
    later = SetClock(folder.stat().st_mtime + 100)
    first = opened(folder, clock=later).snapshot(None)
    before = sorted((path, path.stat().st_mtime_ns) for path in (folder.parent / "mirror").rglob("*") if path.is_file())
    again = opened(folder, clock=later).snapshot(None)
    after = sorted((path, path.stat().st_mtime_ns) for path in (folder.parent / "mirror").rglob("*") if path.is_file())
    assert again == first
    assert after == before


def test_a_folder_says_whether_it_changed_since(folder: Path, opened: Opener) -> None:
    clock = SetClock(0)
    source = opened(folder, clock=clock)
    commit = source.snapshot(None).commit
    assert source.behind(branch="", commit=commit) == 0
    (folder / "new.py").write_text("")
    clock.time += 60
    assert source.behind(branch="", commit=commit) == 1
    (folder / "new.py").unlink()
    (folder / "a.py").unlink()
    (folder / "sub" / "b.sh").unlink()
    (folder / "sub").rmdir()
    folder.rmdir()
    clock.time += 60
    assert source.behind(branch="", commit=commit) is None


def test_gitignore_counts_as_git_has_it(folder: Path, opened: Opener) -> None:
    (folder / ".gitignore").write_text("*.log\nbuild/\n!keep.log\n/sub/secret\n")
    (folder / "sub" / ".gitignore").write_text("local\n")
    for name in ("x.log", "keep.log", "sub/y.log", "sub/secret", "sub/local", "secret", ":(top)odd.log", "build/deep/f"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    source = opened(folder)
    assert set(contents(source)) == {".gitignore", "a.py", "keep.log", "secret", "sub/.gitignore", "sub/b.sh"}
    assert {path for path, reason in reasons(source).items() if reason == "ignored"} == {
        "x.log", "sub/y.log", "sub/secret", "sub/local", "build/", ":(top)odd.log",
    }  # fmt: skip


def test_pipes_sockets_and_devices_are_named_and_not_opened(folder: Path, opened: Opener) -> None:
    os.mkfifo(folder / "pipe.py")
    os.mkfifo(folder / ".gitignore")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
        found = reasons(opened(folder))
    assert found == {"pipe.py": "special", ".gitignore": "special", "socket": "special"}


def test_links_are_kept_as_text_and_never_followed(tmp_path: Path, folder: Path, opened: Opener) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "f").write_text("root:x:0")
    (folder / "to-file").symlink_to(secret / "f")
    (folder / "to-folder").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    source = opened(folder)
    snapshot = source.snapshot(None)
    links = {entry.path: source.blob(entry.blob) for entry in source.entries(snapshot) if entry.mode == "120000"}
    assert links == {"to-file": bytes(secret / "f"), "to-folder": bytes(secret), "loop": bytes(folder)}
    assert all(b"root:x:0" not in content for content in contents(source).values())


@pytest.mark.parametrize("becomes", ["a folder", "a link", "a pipe", "gone", "larger"])
def test_a_file_that_is_something_else_once_it_is_read_costs_only_itself(tmp_path: Path, becomes: str) -> None:
    file = tmp_path / "a.py"
    if becomes == "a folder":
        file.mkdir()
    elif becomes == "a link":
        file.symlink_to("/etc/hostname")
    elif becomes == "a pipe":
        os.mkfifo(file)
    elif becomes == "larger":
        file.write_bytes(b"x" * 11)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    assert read_inside(os.fsencode(tmp_path.resolve()), b"a.py", limit=10) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_large_file_is_named_and_not_read(folder: Path, opened: Opener) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(2 << 30)
    source = opened(folder)
    assert reasons(source) == {"huge": "oversize"}
    assert "huge" not in contents(source)


def test_content_goes_in_byte_for_byte(folder: Path, opened: Opener) -> None:
    """Whatever .gitattributes asks for, and whatever bytes names and contents are made of."""
    (folder / ".gitattributes").write_text("* text=auto eol=crlf ident working-tree-encoding=UTF-16 filter=evil\n")
    odd = os.fsdecode(b'n\xff"\n\\\x01.py')
    wanted = {"crlf": b"a\r\n$Id$\r\n", "nul": b"\0\n\xff", odd: b"\ndone\nM 100644\n"}
    for name, content in wanted.items():
        (folder / name).write_bytes(content)
    found = contents(opened(folder))
    assert {name: found[name] for name in wanted} == wanted


def test_repositories_inside_a_folder_are_named_and_left_out(folder: Path, opened: Opener) -> None:
    make_repo(folder, {"inner.py": "y = 1\n"}, name="inner")
    source = opened(folder)
    assert reasons(source) == {"inner/": "nested-repository"}
    assert set(contents(source)) == {"a.py", "sub/b.sh"}


def test_a_folder_deeper_than_paths_can_be_is_named(folder: Path, opened: Opener) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    source = opened(folder)
    assert list(reasons(source).values()) == ["unreadable"]
    assert set(contents(source)) == {"a.py", "sub/b.sh"}


@pytest.mark.parametrize("rules", ["", "*\n"])
def test_a_folder_without_files_says_so(tmp_path: Path, opened: Opener, rules: str) -> None:
    (tmp_path / "empty").mkdir()
    if rules:
        (tmp_path / "empty" / ".gitignore").write_text(rules)
    with pytest.raises(NotFound, match="no file to index") as caught:
        opened(tmp_path / "empty").snapshot(None)
    assert caught.value.remedy


def test_a_folder_has_no_branches(folder: Path, opened: Opener) -> None:
    with pytest.raises(InvalidInput, match="no branches"):
        opened(folder).snapshot("main")


def test_many_names_are_judged_without_a_deadlock(folder: Path, opened: Opener) -> None:
    """More questions and answers than two pipes hold."""
    (folder / ".gitignore").write_text("*7*\n" + "x" * 400 + "\n")
    for number in range(3000):
        (folder / f"{'n' * 60}{number}").touch()
    source = opened(folder, limits=Index())
    kept = {entry.path for entry in source.entries(source.snapshot(None))}
    assert kept == {".gitignore", "a.py", "sub/b.sh"} | {f"{'n' * 60}{n}" for n in range(3000) if "7" not in str(n)}


def test_the_tip_is_what_was_taken_last_and_nothing_is_looked_at_for_it(folder: Path, opened: Opener) -> None:
    """A page that shows a file asks for it, in a process that must answer."""
    source = opened(folder)
    with pytest.raises(NotFound):
        source.tip(None)
    taken = source.snapshot(None).commit
    (folder / "a.py").write_text("x = 2\n")
    assert source.tip(None) == ("", taken)
    shutil.rmtree(folder)
    assert source.tip(None) == ("", taken)


@pytest.fixture
def watched(folder: Path, opened: Opener) -> Source:
    """Return the source of *folder*, taken in long after its files were written."""
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "x.log").write_text("")
    (folder / "build").mkdir()
    source = opened(folder, clock=SetClock(folder.stat().st_mtime + 100))
    source.snapshot(None)
    return source


def taken(source: Source, hint: Changed) -> dict[str, bytes]:
    snapshot = source.snapshot(None, hint=hint)
    return {entry.path: source.blob(entry.blob) for entry in source.entries(snapshot) if entry.path != ".gitignore"}


def test_who_vouches_for_the_rest_has_only_what_he_names_looked_at(folder: Path, watched: Source) -> None:
    (folder / "a.py").write_text("x = 2\n")
    (folder / "sub" / "b.sh").write_text("another\n")
    assert taken(watched, Changed(frozenset({"a.py"}), whole=True)) == {"a.py": b"x = 2\n", "sub/b.sh": b"echo\n"}
    assert taken(watched, Changed(frozenset({"a.py"}))) == {"a.py": b"x = 2\n", "sub/b.sh": b"another\n"}


def test_a_named_file_that_is_gone_is_taken_out(folder: Path, watched: Source) -> None:
    (folder / "a.py").unlink()
    assert taken(watched, Changed(frozenset({"a.py"}), whole=True)) == {"sub/b.sh": b"echo\n"}


@pytest.mark.parametrize("named", ["new.py", "sub", ".gitignore"])
def test_for_what_may_concern_other_files_the_whole_folder_is_looked_through(
    folder: Path, watched: Source, named: str
) -> None:
    """What is new may be ignored, rules are for all, and a folder may hold anything."""
    (folder / "new.py").write_text("")
    (folder / "sub" / "b.sh").write_text("another\n")
    expected = {"a.py": b"x = 1\n", "new.py": b"", "sub/b.sh": b"another\n"}
    assert taken(watched, Changed(frozenset({named}), whole=True)) == expected


def test_a_file_that_is_saved_aside_and_renamed_is_no_reason_to_look_through_the_folder(
    folder: Path, watched: Source
) -> None:
    (folder / ".a.py.swp").write_text("x = 2\n")
    (folder / ".a.py.swp").rename(folder / "a.py")
    (folder / "sub" / "b.sh").write_text("unseen\n")
    named = frozenset({"a.py", ".a.py.swp"})
    assert taken(watched, Changed(named, whole=True)) == {"a.py": b"x = 2\n", "sub/b.sh": b"echo\n"}


@pytest.mark.parametrize("named", ["x.log", "build/deep/output.o"])
def test_what_is_ignored_may_change_as_often_as_it_will(folder: Path, watched: Source, named: str) -> None:
    (folder / named).parent.mkdir(parents=True, exist_ok=True)
    (folder / named).write_text("made\n")
    (folder / "sub" / "b.sh").write_text("unseen\n")
    assert taken(watched, Changed(frozenset({named}), whole=True)) == {"a.py": b"x = 1\n", "sub/b.sh": b"echo\n"}


@pytest.mark.parametrize("becomes", ["a link", "a folder", "a pipe"])
def test_a_named_file_that_is_something_else_now_is_looked_at_as_all_are(
    folder: Path, watched: Source, becomes: str
) -> None:
    (folder / "a.py").unlink()
    if becomes == "a link":
        (folder / "a.py").symlink_to("/etc/passwd")
    elif becomes == "a folder":
        (folder / "a.py").mkdir()
        (folder / "a.py" / "c.py").write_text("c\n")
    else:
        os.mkfifo(folder / "a.py")
    expected = {"a link": {"a.py": b"/etc/passwd"}, "a folder": {"a.py/c.py": b"c\n"}, "a pipe": {}}[becomes]
    assert taken(watched, Changed(frozenset({"a.py"}), whole=True)) == {"sub/b.sh": b"echo\n"} | expected


def test_after_a_new_start_only_what_changed_is_taken_in_and_gives_the_commit_of_all(folder: Path, opened: Opener) -> None:
    clock = SetClock(folder.stat().st_mtime + 100)
    opened(folder, clock=clock).snapshot(None)
    (folder / "a.py").unlink()
    (folder / "sub" / "c.py").write_text("c = 1\n")
    again = opened(folder, clock=clock).snapshot(None)
    assert again == opened(folder, mirror="another", clock=clock).snapshot(None)


def test_a_copy_that_was_made_anew_takes_in_all(folder: Path, opened: Opener) -> None:
    clock = SetClock(folder.stat().st_mtime + 100)
    first = opened(folder, clock=clock).snapshot(None)
    shutil.rmtree(folder.parent / "mirror" / "folder.git")
    assert opened(folder, clock=clock).snapshot(None) == first
