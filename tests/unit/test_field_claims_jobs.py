"""What operators reported of indexing elsewhere, held to here: nothing that hangs or dies keeps others from their turn."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from appliance.ids import RepoId
from appliance.services import Services
from tests.support.appliance import make_services, serving, working
from tests.support.house import until
from tests.support.repos import git, make_repo

SLOW = ("a.b.c" * 300 + "\n") * 200  # as C#: some seconds of processor time
FAT = ("a<" * 500 + "\n") * 400  # as C#: more memory than a parser has here, so that it aborts
LIMITS = {"SKELLIG_INDEX__PARSE_SECONDS": "1.0", "SKELLIG_INDEX__WORKER_MEMORY": "200000000"}


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with closing(make_services(tmp_path / "data", extra=LIMITS)) as services:
        yield services


def add(services: Services, source: Path | str, name: str) -> RepoId:
    with serving(services) as client:
        answer = client.post("/api/v1/repos", json={"path": str(source), "name": name, "check": False})
        return RepoId(answer.json()["id"])


def states(services: Services) -> dict[str, str]:
    return {repo.name: repo.state for repo in services.registry.repos()}


@contextmanager
def mute() -> Iterator[tuple[int, list[socket.socket]]]:
    """Yield the port of a server that takes every connection, and says nothing; and the connections."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield server.getsockname()[1], taken
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(20)
            for each in taken:
                each.close()


def test_a_parser_that_aborts_and_one_that_hangs_cost_their_files_alone_and_the_next_job_goes_on(
    services: Services, tmp_path: Path
) -> None:
    """A crash within an index left its job running for ever, and no other could start."""
    good = {f"good{n}.py": f"def good{n}(): pass\n" for n in range(6)}
    add(services, make_repo(tmp_path, good | {"aborts.cs": FAT, "hangs.cs": SLOW}, name="ill"), "ill")
    add(services, make_repo(tmp_path, good, name="well"), "well")
    with working(services):
        until(lambda: states(services) == {"ill": "ready", "well": "ready"})
    with serving(services) as client:
        ill = client.get("/api/v1/repos/ill").json()
    assert (ill["index"]["files"], ill["index"]["problems"]) == (8, 2)
    generation = services.generations.published(RepoId(ill["id"]))
    numbers = generation.files.by_path
    found = {path: problem for path, number in numbers.items() if (problem := generation.problem(number))}
    assert found == {"aborts.cs": "parse-crash", "hangs.cs": "parse-timeout"}
    assert all(generation.symbols.named(f"good{n}") for n in range(6))


def test_machines_that_do_not_answer_keep_no_repository_here_waiting(services: Services, tmp_path: Path) -> None:
    """A remote that hung held the one place where everything is indexed, for a minute each time."""
    with mute() as (port, taken):
        away = [add(services, f"http://127.0.0.1:{port}/{n}.git", f"away{n}") for n in range(6)]
        here = add(services, make_repo(tmp_path, {"a.py": "a = 1\n"}, name="here"), "here")
        with working(services):
            until(lambda: len(taken) >= 4)
            until(lambda: services.registry.repo(here).state == "ready")
            jobs = [services.last_index(repo) for repo in away]
            assert sorted(job.state for job in jobs if job) == ["queued"] * 2 + ["running"] * 4


def test_what_was_fetched_is_indexed_by_the_job_that_fetched_it(services: Services, tmp_path: Path) -> None:
    """Whoever asked for an index waits for one job, from the first byte to the published index."""
    source = make_repo(tmp_path, {"a.py": "a = 1\n"}, name="code")
    git(source, "bundle", "create", "-q", str(tmp_path / "code.bundle"), "--all")
    repo = add(services, tmp_path / "code.bundle", "carried")
    first = services.last_index(repo)
    assert first is not None
    assert first.kind == "fetch"
    with working(services):
        until(lambda: services.jobs.get(first.id).ended)
    done = services.jobs.get(first.id)
    assert (done.kind, done.state) == ("index", "done")
    assert services.generations.published(repo).info.files == 1
