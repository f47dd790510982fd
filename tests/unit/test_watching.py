"""A watched repository is indexed when it changes, and one that cannot be watched is looked at instead, and says so."""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from appliance.codeintel.registry import Repo
from appliance.codeintel.repo_settings import RepoSettings
from appliance.ids import RepoId
from appliance.services import Services
from appliance.sightings import Sightings
from appliance.watching import EVENTS, Watcher
from tests.support.appliance import make_services, working
from tests.support.house import until
from tests.support.repos import commit, git, make_repo

WATCH = RepoSettings(watch=True)


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data")) as services:
        yield services


@contextmanager
def watching(services: Services, sightings: Sightings | None = None, **options: float) -> Iterator[Sightings]:
    """Watch and work for the length of the block, beginning once everything is watched and indexed."""
    stop, sightings = threading.Event(), sightings or Sightings(services.clock)
    thread = threading.Thread(target=Watcher(services, sightings, **options).keep, args=(stop,))  # type: ignore[arg-type]
    with working(services, sightings):
        thread.start()
        try:
            until(lambda: all(repo.watched for repo in services.registry.repos() if repo.settings.watch))
            until(lambda: settled(services))
            yield sightings
        finally:
            stop.set()
            thread.join(30)
    assert not thread.is_alive()


def settled(services: Services) -> bool:
    return all(job.ended for job in services.jobs.list())


def add(services: Services, source: Path, settings: RepoSettings = WATCH) -> Repo:
    repo = services.registry.add_repo(services.registry.project("default").id, source, settings=settings)
    services.index(repo.id)
    return repo


def paths(services: Services, repo: Repo, branch: str = "") -> set[str]:
    return set(services.generations.published(repo.id, branch).files.by_path)


def test_a_commit_in_a_work_tree_or_a_bare_repository_is_indexed_by_itself(services: Services, tmp_path: Path) -> None:
    tree = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="tree")
    bare = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="bare.git", bare=True)
    repos = {tree: add(services, tree), bare: add(services, bare)}
    with watching(services):
        assert {repo.watched for repo in services.registry.repos()} == {EVENTS}
        for source, repo in repos.items():
            commit(source, {"new.py": "new = 1\n"})
            until(lambda repo=repo: "new.py" in paths(services, repo))  # type: ignore[misc]


def test_a_new_branch_that_a_pattern_fits_is_indexed_by_itself(services: Services, tmp_path: Path) -> None:
    code = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="code")
    repo = add(services, code, RepoSettings(watch=True, branches=("release/*",)))
    with watching(services):
        git(code, "branch", "release/1", "main")
        until(lambda: "release/1" in services.generations.branches(repo.id))
        commit(code, {"b.py": "b = 1\n"}, branch="release/1")
        until(lambda: "b.py" in paths(services, repo, "release/1"))


def test_a_file_in_a_new_folder_of_a_plain_folder_is_indexed_by_itself(services: Services, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a.py").write_text("a = 1\n")
    repo = add(services, plain)
    with watching(services):
        (plain / "deep" / "er").mkdir(parents=True)
        (plain / "deep" / "er" / "b.py").write_text("b = 1\n")
        until(lambda: "deep/er/b.py" in paths(services, repo))
        (plain / "deep" / "er" / "c.py").write_text("c = 1\n")
        until(lambda: "deep/er/c.py" in paths(services, repo))
        (plain / "a.py").unlink()
        until(lambda: "a.py" not in paths(services, repo))


def test_an_index_of_a_watched_folder_is_told_what_changed_and_looks_at_no_more(services: Services, tmp_path: Path) -> None:
    """Else each save of a file costs a look at all files. A rename of a folder is more than a hint can tell."""
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    for name in ("a.py", "sub/b.py"):
        (plain / name).write_text("a = 1\n")
    (tmp_path / "link").symlink_to(plain)
    repo = add(services, tmp_path / "link")
    with watching(services) as sightings:
        (plain / "a.py").write_text("def first(): ...\n")
        until(lambda: named(services, repo, "first") and settled(services))
        (plain / "sub" / "b.py").write_text("def second(): ...\n")
        until(lambda: named(services, repo, "second"))
        assert sightings.unconfirmed(quiet=0) == {repo.id}
        (plain / "sub").rename(plain / "other")
        until(lambda: paths(services, repo) == {"a.py", "other/b.py"})


class Forgetful(Sightings):
    """What a system that loses what it should tell would leave in them: nothing of one file."""

    def saw(self, repo: RepoId, path: str) -> None:
        if not path.endswith("b.py"):
            super().saw(repo, path)


def test_what_the_system_did_not_tell_of_is_seen_once_edits_pause(services: Services, tmp_path: Path) -> None:
    """Its queue may run over, and it says nothing of files that are written through memory."""
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("a.py", "b.py"):
        (plain / name).write_text("a = 1\n")
    repo = add(services, plain)
    with watching(services, Forgetful(services.clock), pause_seconds=0.5):
        for word in ("first", "second"):
            (plain / "a.py").write_text(f"def {word}(): ...\n")
            until(lambda word=word: named(services, repo, word) and settled(services))  # type: ignore[misc]
        (plain / "b.py").write_text("def unheard(): ...\n")
        until(lambda: named(services, repo, "unheard"))


def named(services: Services, repo: Repo, name: str) -> bool:
    """Return whether the index of *repo* has a definition of *name*."""
    return bool(services.generations.published(repo.id).symbols.named(name))


def test_what_a_folder_links_to_is_not_watched(services: Services, tmp_path: Path) -> None:
    """A link to the root of the disk would else have all of it walked through."""
    plain = tmp_path / "plain"
    (plain / "inner").mkdir(parents=True)
    (plain / "a.py").write_text("a = 1\n")
    (plain / "out").symlink_to(tmp_path)
    (plain / "node_modules").mkdir()
    add(services, plain)
    plan = Watcher(services, Sightings(services.clock)).plan()
    assert set(plan.folders) == {str(plain), str(plain / "inner")}
    assert set(plan.blind.values()) == {frozenset({str(plain / "node_modules")})}


def test_nobody_watches_who_did_not_ask_and_a_change_of_settings_is_heeded(services: Services, tmp_path: Path) -> None:
    code = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="code")
    repo = add(services, code, RepoSettings())
    other = add(services, make_repo(tmp_path, {"a.py": "a = 1\n"}, name="other"))
    with watching(services):
        assert services.registry.repo(repo.id).watched == ""
        services.registry.change_repo(repo.id, branch=None, settings=WATCH)
        services.registry.change_repo(other.id, branch=None, settings=RepoSettings())
        until(lambda: [services.registry.repo(each.id).watched for each in (repo, other)] == [EVENTS, ""])


def test_what_cannot_be_watched_is_looked_at_now_and_then_and_says_why(services: Services, tmp_path: Path) -> None:
    small = add(services, make_repo(tmp_path, {"a.py": "a = 1\n"}, name="small"))
    large = tmp_path / "large"
    for number in range(60):
        (large / f"d{number}").mkdir(parents=True)
    (large / "a.py").write_text("a = 1\n")
    repo = add(services, large)
    with watching(services, most_folders=40, poll_seconds=0.2):
        how = {each.name: each.watched for each in services.registry.repos()}
        assert how["small"] == EVENTS
        assert "more than 40 folders" in how["large"]
        (large / "d1" / "b.py").write_text("b = 1\n")
        until(lambda: "d1/b.py" in paths(services, repo))
        shutil.rmtree(Path(str(small.source)))
    assert services.generations.published(small.id).info.files == 1


LIMITED = """
import sys, threading, time
from pathlib import Path
Path("/proc/sys/user/max_inotify_watches").write_text("12")
from tests.unit.test_watching import add, make_services, WATCH
from appliance.sightings import Sightings
from appliance.watching import Watcher
services, root = make_services(Path(sys.argv[1]) / "data"), Path(sys.argv[1])
for name, folders in (("few", 2), ("many", 40)):
    for number in range(folders):
        (root / name / f"d{number}").mkdir(parents=True)
    (root / name / "a.py").write_text("a = 1")
    add(services, root / name)
stop = threading.Event()
thread = threading.Thread(target=Watcher(services, Sightings(services.clock)).keep, args=(stop,))
thread.start()
until = time.monotonic() + 60
while not all(repo.watched for repo in services.registry.repos()) and time.monotonic() < until:
    time.sleep(0.05)
stop.set()
thread.join()
for repo in services.registry.repos():
    print(repo.name, repo.watched, sep="|")
"""


def test_where_the_system_gives_no_more_watches_the_largest_is_looked_at_and_the_others_are_watched(tmp_path: Path) -> None:
    fence = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*fence, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no user namespaces, in which alone the limit can be lowered")
    ran = subprocess.run(
        [*fence, sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=100
    )
    how = dict(line.split("|") for line in ran.stdout.splitlines() if "|" in line)
    assert how.get("few") == EVENTS, ran.stderr
    assert "no more watches" in how["many"]
