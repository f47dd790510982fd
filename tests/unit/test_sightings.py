"""Sightings vouch for nothing that was not seen: in doubt an index looks through all of a folder."""

from pathlib import Path

import pytest

from appliance.ids import RepoId
from appliance.sightings import MOST_BYTES, MOST_PATHS, Sightings

REPO = RepoId("repo_a")


class SetClock:
    """A clock that stands where it was put."""

    time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def sightings(clock: SetClock) -> Sightings:
    """Return those of a folder that was looked through since it is watched."""
    made = Sightings(clock)
    made.begin(REPO, root="/code", blind=["/code/node_modules"])
    assert handed(made) is None
    return made


def handed(sightings: Sightings) -> set[str] | None:
    """Return which paths the next index is told, None if it must look at all."""
    with sightings.handed(REPO) as hint:
        assert hint is None or hint.whole
        return None if hint is None else set(hint.paths)


def test_an_index_is_told_once_what_was_seen_and_each_time_what_is_not_watched(sightings: Sightings) -> None:
    """What is seen while a job waits, however it ends, is for whoever looks next."""
    sightings.saw(REPO, "/code/a.py")
    sightings.saw(REPO, "/code/sub/b.py")
    assert handed(sightings) == {"a.py", "sub/b.py", "node_modules"}
    assert handed(sightings) == {"node_modules"}


def test_nothing_is_vouched_for_that_is_not_watched(clock: SetClock) -> None:
    sightings = Sightings(clock)
    sightings.saw(REPO, "/code/a.py")
    assert [handed(sightings) for _ in range(2)] == [None, None]


def test_what_changed_before_a_folder_was_watched_is_looked_for(sightings: Sightings) -> None:
    sightings.end()
    assert handed(sightings) is None
    sightings.begin(REPO, root="/code", blind=())
    assert handed(sightings) is None
    assert handed(sightings) == set()


@pytest.mark.parametrize(
    "many",
    [["/code"], [f"/code/{n}" for n in range(MOST_PATHS + 1)], [f"/code/{n}{'x' * 200}" for n in range(MOST_BYTES // 200)]],
    ids=["the folder itself", "many paths", "long paths"],
)
def test_of_more_than_can_be_told_all_is_looked_at(sightings: Sightings, many: list[str]) -> None:
    for path in many:
        sightings.saw(REPO, path)
    sightings.saw(REPO, "/code/a.py")
    assert handed(sightings) is None
    assert handed(sightings) == {"node_modules"}


def test_after_an_index_that_failed_all_is_looked_at(sightings: Sightings) -> None:
    """It may have failed before it looked: what it was told is lost."""
    sightings.saw(REPO, "/code/a.py")
    with pytest.raises(OSError, match="full"), sightings.handed(REPO):
        raise OSError("full")
    assert handed(sightings) is None


def test_what_was_doubted_or_watched_anew_during_an_index_is_looked_through_by_the_next(sightings: Sightings) -> None:
    with sightings.handed(REPO):
        sightings.doubt(REPO)
    assert handed(sightings) is None
    with sightings.handed(REPO):
        sightings.begin(REPO, root="/code", blind=())
    assert handed(sightings) is None


def test_what_was_indexed_by_sightings_alone_is_named_once_when_edits_pause(sightings: Sightings, clock: SetClock) -> None:
    assert sightings.unconfirmed(quiet=5) == set()
    sightings.saw(REPO, "/code/a.py")
    handed(sightings)
    clock.time = 4
    assert sightings.unconfirmed(quiet=5) == set()
    clock.time = 5
    assert [sightings.unconfirmed(quiet=5) for _ in range(2)] == [{REPO}, set()]


def test_nothing_is_vouched_for_in_a_folder_that_came_to_the_place_of_another(clock: SetClock, tmp_path: Path) -> None:
    """With a folder above it: nobody tells, and what is watched is the one that went away."""
    root = tmp_path / "app" / "code"
    root.mkdir(parents=True)
    sightings = Sightings(clock)
    sightings.begin(REPO, root=str(root), blind=[])
    assert [handed(sightings) for _ in range(2)] == [None, set()]
    (tmp_path / "app").rename(tmp_path / "old")
    root.mkdir(parents=True)
    assert [handed(sightings) for _ in range(3)] == [None, None, None]
    sightings.begin(REPO, root=str(root), blind=[])
    assert [handed(sightings) for _ in range(2)] == [None, set()]
