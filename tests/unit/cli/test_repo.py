"""Claims about the repositories' commands."""

import json
from copy import deepcopy
from urllib.parse import quote

import pytest

from tests.support.scripted_http import Reply, ScriptedServer, problem
from tests.unit.cli.conftest import Line

JOB = {"id": "job_1", "kind": "index", "key": "repo_1", "state": "queued", "attempts": 0, "reason": "", "progress": None}
INDEX = {
    "commit": "c" * 40, "branch": "main", "files": 12, "lines": 3400, "chunks": 90, "left_out": {"binary": 2, "oversize": 1},
    "languages": {"python": 12}, "problems": 0, "torn": 0, "secrets": 0, "vectors": 0.25, "behind": 0,
}  # fmt: skip
REPO = {
    "id": "repo_1", "name": "shop", "project": "prj_1", "project_name": "default", "path": "/srv/shop", "branch": None,
    "error": "", "message": "", "remedy": "", "index": None, "job": JOB,
}  # fmt: skip
INDEXED = REPO | {"index": INDEX, "job": JOB | {"state": "done"}}
RUNNING = JOB | {"state": "running", "progress": {"phase": "parse", "done": 3, "total": 12}}
PAGE = {"items": [{"path": "a.png", "reason": "binary", "detail": ""}], "total": 1, "next_offset": None}


def page(*paths: str) -> dict[str, object]:
    """Return a last page of files left out."""
    items = [{"path": path, "reason": "binary", "detail": ""} for path in paths]
    return {"items": items, "total": len(paths), "next_offset": None}


def test_adding_says_what_works_on_it(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["POST /api/v1/repos"] = Reply(REPO | {"job": RUNNING}, status=202)
    ran = line("repo", "add", "/srv/shop")
    assert ran.status == 0
    assert "shop  not indexed yet  index: parse 3/12" in ran.out
    assert json.loads(appliance.asked[0].body) == {"path": "/srv/shop", "project": "default"}


@pytest.mark.parametrize(
    "made", [Reply({"id": "prj_2", "name": "lab"}, status=201), Reply(problem("conflict", "x"), status=409)]
)
def test_adding_to_a_project_makes_it_where_it_is_new(appliance: ScriptedServer, line: Line, made: Reply) -> None:
    appliance.replies |= {"POST /api/v1/projects": made, "POST /api/v1/repos": Reply(REPO, status=202)}
    assert line("repo", "add", "/srv/shop", "--project", "lab").status == 0
    assert [json.loads(asked.body) for asked in appliance.asked] == [
        {"name": "lab"},
        {"path": "/srv/shop", "project": "lab"},
    ]


def test_adding_says_how_it_is_to_be_kept_and_a_change_only_what_is_named(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/repos/shop": Reply(REPO),
        "PATCH /api/v1/repos/repo_1": Reply(REPO, status=202),
    }
    added = line("repo", "add", "/srv/shop", "--track", "release/*", "--track", "main", "--watch", "--no-check")
    changed = line("repo", "set", "shop", "--exclude", "", "--schedule", "every 15m", "--branch", "")
    assert (added.status, changed.status) == (0, 0)
    bodies = [json.loads(asked.body) for asked in appliance.asked if asked.method in {"POST", "PATCH"}]
    assert bodies == [
        {
            "path": "/srv/shop", "project": "default", "check": False,
            "settings": {"branches": ["release/*", "main"], "watch": True},
        },
        {"branch": "", "settings": {"exclude": [], "schedule": "every 15m"}},
    ]  # fmt: skip


def test_a_change_of_nothing_is_refused(appliance: ScriptedServer, line: Line) -> None:
    ran = line("repo", "set", "shop")
    assert (ran.status, appliance.asked) == (2, [])
    assert "--help" in ran.err


def test_a_repository_is_shown_with_its_branches_its_state_and_how_it_is_kept(appliance: ScriptedServer, line: Line) -> None:
    branch = {"name": "release/1", "commit": "d" * 40, "indexed_at": 0.0, "files": 3, "behind": 2}
    more = {"branches": [branch], "settings": {"branches": ["release/*"], "quiet": "22:00-06:00"}, "state": "quarantined"}
    failed = {"error": "not_found", "message": "It is gone.", "failures": 10, "next_attempt": 1.0}
    appliance.replies["GET /api/v1/repos/shop"] = Reply(INDEXED | more | failed)
    shown = " ".join(line("repo", "show", "shop").out.split())
    for said in (
        "branch release/1 dddddddddd, 3 files, indexed", "2 commits behind", "quiet 22:00-06:00", "state quarantined",
        "In quarantine: it is tried once a day.",
    ):  # fmt: skip
        assert said in shown


def test_waiting_for_vectors_follows_the_embedding_after_the_index(appliance: ScriptedServer, line: Line) -> None:
    embed = JOB | {"id": "job_2", "kind": "embed", "state": "running"}
    whole = INDEX | {"vectors": 1.0, "left_out": {}}
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/jobs/job_1": Reply(JOB | {"state": "done"}),
        "GET /api/v1/jobs/job_2": Reply(embed | {"state": "done"}),
        "GET /api/v1/jobs": [Reply([]), Reply([embed])],
        "GET /api/v1/repos/repo_1": [Reply(INDEXED), Reply(INDEXED | {"index": whole})],
    }
    ran = line("repo", "add", "/srv/shop", "--vectors")
    assert ran.status == 0
    assert "12 files" in ran.out
    assert "vectors" not in ran.out


def test_waiting_ends_with_what_is_indexed_and_each_reason_for_the_rest(appliance: ScriptedServer, line: Line) -> None:
    graph = JOB | {"id": "job_2", "kind": "graph"}
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/jobs/job_1": [Reply(RUNNING), Reply(JOB | {"state": "done"})],
        "GET /api/v1/jobs": [Reply([graph]), Reply([])],
        "GET /api/v1/jobs/job_2": Reply(graph | {"state": "done"}),
        "GET /api/v1/repos/repo_1": [Reply(INDEXED | {"job": graph | {"state": "running"}}), Reply(INDEXED)],
        "GET /api/v1/repos/repo_1/left-out": [
            Reply(PAGE | {"next_offset": 1}),
            Reply(page("b.png")),
            Reply(page("big.sql")),
        ],
    }
    ran = line("repo", "add", "/srv/shop", "--wait")
    assert ran.status == 0
    assert "12 files, 3,400 lines at main cccccccccc, current, 3 files left out, vectors 25%" in ran.out
    assert "graph" not in ran.out
    assert "left out, binary (2): a.png, b.png\n" in ran.out
    assert "left out, oversize (1): big.sql\n" in ran.out


def test_waiting_names_files_left_out_up_to_a_bound_and_then_counts_them(appliance: ScriptedServer, line: Line) -> None:
    left_out = {"binary": 150, "oversize": 120, "vendored": 9}
    pages = [page(*(f"{kind}{n}" for n in range(count))) for kind, count in left_out.items()]
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/jobs/job_1": Reply(JOB | {"state": "done"}),
        "GET /api/v1/repos/repo_1": Reply(INDEXED | {"index": INDEX | {"left_out": left_out}}),
        "GET /api/v1/jobs": Reply([]),
        "GET /api/v1/repos/repo_1/left-out": [Reply(one) for one in pages],
    }
    out = " ".join(line("repo", "add", "/srv/shop", "--wait").out.split())
    assert "binary149 left out, oversize (120): oversize0, " in out
    assert "oversize49 … and 70 more: skellig repo left-out shop" in out
    assert "left out, vendored (9) … and 9 more: skellig repo left-out shop" in out


def test_a_failed_index_ends_the_wait_with_the_reason(appliance: ScriptedServer, line: Line) -> None:
    broken = REPO | {"error": "malformed_content", "message": "There are no commits.", "remedy": "Commit first."}
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/jobs/job_1": Reply(JOB | {"state": "failed", "reason": "x"}),
        "GET /api/v1/repos/repo_1": Reply(broken),
    }
    ran = line("repo", "add", "/srv/shop", "--wait")
    assert ran.status == 6
    assert ran.err == "error: There are no commits. Commit first. [malformed_content]\n"


def test_a_wait_outlives_a_web_process_that_is_killed(appliance: ScriptedServer, line: Line) -> None:
    gone = Reply(problem("unavailable", "Not now."), status=503)
    appliance.replies |= {
        "POST /api/v1/repos": Reply(REPO, status=202),
        "GET /api/v1/jobs/job_1": [gone, gone, Reply(JOB | {"state": "done"})],
        "GET /api/v1/jobs": Reply([]),
        "GET /api/v1/repos/repo_1": Reply(INDEXED),
        "GET /api/v1/repos/repo_1/left-out": Reply(PAGE),
    }
    assert line("repo", "add", "/srv/shop", "--wait").status == 0


def test_adding_what_is_there_refreshes_it(appliance: ScriptedServer, line: Line) -> None:
    """`make up` is run again and again."""
    appliance.replies |= {
        "POST /api/v1/repos": Reply(problem("conflict", "The name is taken."), status=409),
        "GET /api/v1/repos": Reply([INDEXED]),
        "POST /api/v1/repos/repo_1/refresh": Reply(JOB, status=202),
    }
    assert line("repo", "add", "/srv/shop").status == 0
    assert [asked.path for asked in appliance.asked][-1] == "/api/v1/repos/repo_1/refresh"


def test_another_repository_of_the_same_name_is_refused(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies |= {
        "POST /api/v1/repos": Reply(problem("conflict", "The name is taken."), status=409),
        "GET /api/v1/repos": Reply([INDEXED]),
    }
    assert line("repo", "add", "/elsewhere/shop").status == 4


def test_a_list_tells_lag_failure_and_work(appliance: ScriptedServer, line: Line) -> None:
    behind = deepcopy(INDEXED) | {"name": "late", "index": INDEX | {"behind": 3}}
    failed: dict[str, object] = {**INDEXED, "name": "broken", "error": "not_found", "message": "It is gone."}
    failed |= {"remedy": "Bring it back.", "failures": 3, "next_attempt": 1_800_000_000.0}
    appliance.replies["GET /api/v1/repos"] = Reply([INDEXED, behind, failed])
    out = " ".join(line("repo", "list").out.split())
    assert "current" in out
    assert "3 commits behind" in out
    assert "last attempt failed: It is gone. Bring it back. [not_found]" in out
    assert "3 failures so far, next attempt after 2027-01-1" in out


def test_a_list_names_the_project_of_each_and_the_id_that_tells_namesakes_apart(
    appliance: ScriptedServer, line: Line
) -> None:
    namesake = INDEXED | {"id": "repo_2", "project": "prj_2", "project_name": "lab"}
    appliance.replies["GET /api/v1/repos"] = Reply([INDEXED, namesake])
    head, *rows = [row.split() for row in line("repo", "list").out.splitlines()]
    assert head[:3] == ["project", "repository", "id"]
    assert [row[:3] for row in rows] == [["default", "shop", "repo_1"], ["lab", "shop", "repo_2"]]
    shown = line("repo", "list", "--json").json()
    assert [repo["project_name"] for repo in shown] == ["default", "lab"]  # type: ignore[attr-defined]
    appliance.replies["GET /api/v1/repos/repo_2"] = Reply(namesake)
    assert "project    lab" in line("repo", "show", "repo_2").out


def test_no_repository_teaches_how_to_add_one(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies["GET /api/v1/repos"] = Reply([])
    assert "skellig repo add PATH" in line("repo", "list").out


def test_no_repository_says_where_to_put_one_that_is_taken_in_by_itself(appliance: ScriptedServer, line: Line) -> None:
    (line.data / "skellig.toml").write_text('repos_from = "/srv/repos"\n')
    refused = {
        "origin": "dropped",
        "path": "/srv/repos/x",
        "outcome": "error",
        "reason": "It is broken.",
        "remedy": "Mend it.",
    }
    appliance.replies |= {"GET /api/v1/repos": Reply([]), "GET /api/v1/wanted": Reply([refused])}
    said = line("repo", "list").out
    assert "dropped, not kept: /srv/repos/x: It is broken. Mend it." in " ".join(said.split())
    assert "Each that is put into /srv/repos, the setting repos_from, is indexed by itself." in " ".join(said.split())


def test_left_out_reads_every_page(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies |= {
        "GET /api/v1/repos/shop": Reply(INDEXED),
        "GET /api/v1/repos/repo_1/left-out": [Reply(PAGE | {"next_offset": 1}), Reply(PAGE)],
    }
    assert line("repo", "left-out", "shop", "--json").json() == PAGE["items"] * 2  # type: ignore[operator]


def test_removing_says_that_the_source_was_not_touched(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies |= {
        "GET /api/v1/repos/shop": Reply(INDEXED),
        "DELETE /api/v1/repos/repo_1": Reply(None, status=204),
    }
    assert "/srv/shop was not touched" in line("repo", "remove", "shop").out


def test_a_refresh_that_waits_shows_the_new_state(appliance: ScriptedServer, line: Line) -> None:
    appliance.replies |= {
        "POST /api/v1/repos/repo_1/refresh": Reply(JOB, status=202),
        "GET /api/v1/jobs/job_1": Reply(JOB | {"state": "done"}),
        "GET /api/v1/repos/repo_1": Reply(INDEXED),
        "GET /api/v1/repos/shop": Reply(INDEXED),
    }
    assert "12 files" in line("repo", "refresh", "shop", "--wait").out


def test_show_names_languages_and_reasons(appliance: ScriptedServer, line: Line) -> None:
    unread = INDEXED | {"index": INDEX | {"problems": 2, "torn": 1}}
    appliance.replies["GET /api/v1/repos/shop"] = [Reply(INDEXED), Reply(unread)]
    out = line("repo", "show", "shop").out
    assert "python 12" in out
    assert "binary 2, oversize 1" in out
    assert "syntax" not in out
    assert "torn" not in out
    out = line("repo", "show", "shop").out
    assert "syntax     of 2 files could not be used: only their text is indexed" in out
    assert "torn       1 file with places that are no syntax: what those define may be missing" in out


@pytest.mark.parametrize("name", ["shop?x", "shop#x", "%73hop", "./shop", "x/../shop", "shop/", ".", "..", "", "sh\udcffop"])
@pytest.mark.parametrize("command", ["remove", "show", "refresh", "left-out"])
def test_a_name_never_reaches_another_repository(appliance: ScriptedServer, line: Line, command: str, name: str) -> None:
    """The appliance of this test answers whatever its address is bent to; the name asked for must be the one it has."""
    appliance.replies |= {"GET /api/v1/repos/shop": Reply(INDEXED), "GET /api/v1/repos": Reply([INDEXED])}
    ran = line("repo", command, name)
    assert ran.status == 3
    assert ran.err.startswith("error: ")
    assert {(asked.method, asked.path) for asked in appliance.asked} <= {
        ("GET", f"/api/v1/repos/{quote(name, safe='', errors='surrogateescape')}")
    }


@pytest.mark.parametrize("command", ["remove", "show", "refresh", "left-out"])
def test_an_answer_about_another_repository_is_not_acted_on(appliance: ScriptedServer, line: Line, command: str) -> None:
    appliance.replies["GET /api/v1/repos/other"] = Reply(INDEXED)
    ran = line("repo", command, "other")
    assert ran.status == 3
    assert "no repository 'other'" in ran.err
    assert len(appliance.asked) == 1


def test_a_reason_that_there_is_not_is_refused_with_those_that_there_are(appliance: ScriptedServer, line: Line) -> None:
    ran = line("repo", "left-out", "shop", "--reason", "nonsense")
    assert ran.status == 2
    assert "'binary'" in ran.err
    assert not appliance.asked


@pytest.mark.parametrize("arguments", [("/srv/shop", "--name", ""), ("",), (" ",)])
def test_an_empty_name_or_path_is_refused(appliance: ScriptedServer, line: Line, arguments: tuple[str, ...]) -> None:
    """A script whose variable is not set would otherwise add the folder that it happens to run in."""
    ran = line("repo", "add", *arguments)
    assert ran.status == 2
    assert "The path or the name is empty." in ran.err
    assert not appliance.asked
