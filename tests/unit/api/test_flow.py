"""From a repository to an answer, through the API, with a real worker, a real index and a scripted model."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from appliance.services import Services
from tests.support import planted
from tests.support.appliance import Client, make_services, serving, working
from tests.support.chat import ScriptedChat, said
from tests.support.indexed import WordEmbedder
from tests.support.repos import commit, make_repo
from tests.support.shop import FILES, STORE

QUESTION = "How is the digest of a model compared with the catalogue?"
ODD = {"odd/\udcff.py": "def odd():\n    return 0\n"}  # a name that is not UTF-8
SAID = "The digest of the installed model is compared with the catalogue by verify."


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("repos"), {**FILES, **ODD}, name="shop")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Iterator[tuple[Client, Services]]:
    services = make_services(tmp_path_factory.mktemp("data"), chat=ScriptedChat(said(SAID)), embedder=WordEmbedder())
    with closing(services), serving(services) as client, working(services):
        response = client.post("/api/v1/repos", json={"path": str(source)})
        assert response.status_code == 202, response.text
        settle(client)
        yield client, services


@pytest.fixture(scope="module")
def client(indexed: tuple[Client, Services]) -> Client:
    return indexed[0]


def settle(client: Client) -> None:
    """Return when no job waits or runs."""
    deadline = time.monotonic() + 60
    while any(job["state"] in {"queued", "running"} for job in client.get("/api/v1/jobs").json()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def events(text: str) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_an_index_is_followed_by_its_vectors_and_the_repo_says_what_it_holds(client: Client) -> None:
    repo = client.get("/api/v1/repos/shop").json()
    assert repo["error"] == ""
    assert repo["project_name"] == "default"
    assert repo["index"]["vectors"] == 1.0
    assert repo["index"]["behind"] == 0
    assert repo["index"]["languages"]["python"] >= 4
    jobs = client.get("/api/v1/jobs", params={"key": repo["id"]}).json()
    assert [job["kind"] for job in jobs[-3:]] == ["embed", "graph", "index"], "newest first"
    assert client.get(f"/api/v1/repos/{repo['id']}").json()["id"] == repo["id"]
    assert [each["id"] for each in client.get("/api/v1/repos?project=default").json()] == [repo["id"]]


def test_a_search_says_where_why_and_on_what_it_rests(client: Client) -> None:
    found = client.get("/api/v1/search", params={"q": "verify digest", "limit": 2, "repo": "shop"}).json()
    hit = found["hits"][0]
    assert hit["path"] == "shop/store.py"
    assert len(hit["blob"]) == len(hit["commit"]) == 40
    assert hit["why"]
    assert found["truncated"]
    assert found["next_offset"] == 2
    assert found["total"] > 2
    assert found["freshness"][0]["behind"] == 0
    second = client.get("/api/v1/search", params={"q": "verify digest", "limit": 2, "offset": 2}).json()
    assert {each["href"] for each in second["hits"]}.isdisjoint(each["href"] for each in found["hits"])


def test_who_calls_it_comes_page_by_page_with_each_line(client: Client) -> None:
    found = client.get("/api/v1/graph/callers", params={"name": "digest_of", "repo": "shop"}).json()
    assert [(each["symbol"], each["path"], each["verified"]) for each in found["definitions"]] == [
        ("digest_of", "shop/store.py", True)
    ]
    (call,) = found["calls"]
    assert (call["caller"], call["callee"], call["how"], call["confidence"]) == (
        "ModelStore.verify",
        "digest_of",
        "name",
        1.0,
    )
    assert call["verified"]
    assert call["text"].strip() == "found = digest_of(self.path(name))"
    assert "digest_of(self.path(name))" in client.get(call["href"]).text
    assert (found["total"], found["truncated"], found["next_offset"]) == (1, False, None)
    assert found["warnings"] == []
    assert found["freshness"][0]["behind"] == 0

    inside = client.get("/api/v1/graph/callees", params={"name": "ModelStore.verify", "limit": 2}).json()
    assert (len(inside["calls"]), inside["truncated"], inside["next_offset"]) == (2, True, 2)
    rest = client.get("/api/v1/graph/callees", params={"name": "ModelStore.verify", "offset": 2, "limit": 100}).json()
    called = [each["callee"] for each in (*inside["calls"], *rest["calls"])]
    assert called == ["digest_of", "ModelStore.path", "DigestMismatch", "builtins.Exception.__init__"]
    assert not rest["truncated"]


def test_what_a_change_reaches_comes_nearest_first(client: Client) -> None:
    found = client.get("/api/v1/graph/impact", params={"name": "ModelStore.path"}).json()
    near, far = found["reached"]
    assert (near["symbol"], near["steps"], near["via"], near["test"]) == ("ModelStore.verify", 1, "ModelStore.path", False)
    assert (far["steps"], far["via"], far["test"]) == (2, "ModelStore.verify", True)
    assert near["verified"]
    assert far["verified"]
    assert (found["total"], found["tests"], found["truncated"], found["cut"]) == (2, 1, False, False)
    assert client.get("/api/v1/graph/impact", params={"name": "digest_of", "steps": 1}).json()["total"] == 1
    assert client.get("/api/v1/graph/impact", params={"name": "digest_of", "steps": 6}).status_code == 400


def test_a_place_means_what_stands_there_and_its_uses_come_with_their_kinds(client: Client) -> None:
    line = next(n for n, text in enumerate(STORE.splitlines(), start=1) if "digest_of(self.path(name))" in text)
    place: dict[str, str | int] = {"path": "shop/store.py", "line": line, "word": "digest_of", "repo": "shop"}
    (meant,) = client.get("/api/v1/graph/definition", params=place).json()["definitions"]
    assert (meant["symbol"], meant["how"], meant["confidence"], meant["verified"]) == ("digest_of", "name", 1.0, True)
    found = client.get("/api/v1/graph/references", params=place).json()
    assert found["kinds"]["call"] == 1
    assert found["references"][0]["text"].strip() == "found = digest_of(self.path(name))"
    assert client.get("/api/v1/graph/callers", params=place).json()["calls"][0]["caller"] == "ModelStore.verify"
    both = {"name": "digest_of"} | place
    nowhere: dict[str, str | int] = {"path": "shop/store.py", "line": 2, "repo": "shop"}
    for odd in (both, nowhere, {**nowhere, "word": ""}):
        assert client.get("/api/v1/graph/definition", params=odd).status_code == 400


def test_a_way_an_outline_and_a_history_come_with_their_lines(client: Client) -> None:
    way = client.get("/api/v1/graph/path", params={"start": "ModelStore.verify", "end": "digest_of"}).json()
    assert [(hop["source"], hop["target"], hop["verified"]) for hop in way["hops"]] == [
        ("ModelStore.verify", "digest_of", True)
    ]
    entries = client.get("/api/v1/graph/outline", params={"path": "shop/store.py", "repo": "shop"}).json()["entries"]
    assert ("ModelStore.verify", 1) in [(each["symbol"], each["depth"]) for each in entries]
    odd = client.get("/api/v1/graph/outline?path=odd/%FF.py&repo=shop").json()
    assert [each["symbol"] for each in odd["entries"]] == ["odd"]
    changes = client.get("/api/v1/graph/history", params={"name": "digest_of", "repo": "shop"}).json()["changes"]
    assert [change["summary"] for change in changes] == ["first"]
    assert client.get("/api/v1/graph/outline", params={"path": "gone.py", "repo": "shop"}).status_code == 404


def test_a_map_and_a_pack_stay_within_their_budgets(client: Client) -> None:
    plan = client.get("/api/v1/repomap", params={"tokens": 200, "focus": "ModelStore"}).json()
    assert plan["tokens"] <= plan["budget"] == 200
    assert "class ModelStore" in plan["text"]
    assert plan["files"][0]["entries"]
    pack = client.get("/api/v1/context", params={"question": QUESTION, "tokens": 300}).json()
    assert pack["tokens"] <= pack["budget"] == 300
    assert any("digest" in piece["text"] and piece["verified"] for piece in pack["evidence"])
    assert client.get("/api/v1/repomap", params={"focus": "nobody"}).status_code == 404


def test_a_name_that_nothing_has_is_an_error_and_no_empty_list(client: Client) -> None:
    response = client.get("/api/v1/graph/callers", params={"name": "nobody"})
    assert response.status_code == 404
    assert response.json()["detail"] == "Nothing that the index knows is named 'nobody'."


def test_an_answer_is_cited_evidence_and_the_models_reading_of_it(client: Client) -> None:
    answer = client.post("/api/v1/ask", json={"question": QUESTION}).json()
    assert list(answer) == [
        "question", "kind", "evidence", "sentences", "citations", "struck", "gate", "model",
        "freshness", "warnings", "timings",
    ]  # fmt: skip
    assert (answer["kind"], answer["model"]) == ("prose", "scripted")
    assert [sentence["text"] for sentence in answer["sentences"]] == [SAID]
    cited = {citation["n"]: citation for citation in answer["citations"]}
    assert list(cited[1]) == ["n", "path", "start_line", "end_line", "blob", "commit", "verified"]
    for n in answer["sentences"][0]["cites"]:
        assert cited[n]["path"] == "shop/store.py"
        assert cited[n]["verified"] is True


def test_each_citation_opens_the_exact_lines(client: Client) -> None:
    answer = client.post("/api/v1/ask", json={"question": QUESTION, "prose": False}).json()
    assert answer["sentences"] == []
    assert answer["evidence"]
    for evidence in answer["evidence"]:
        file = client.get(evidence["href"]).json()
        assert file["blob"] == evidence["blob"]
        assert (file["start_line"], file["end_line"]) == (evidence["start_line"], evidence["end_line"])
        assert file["text"].startswith(evidence["text"].split("\n", 1)[0])


def test_a_streamed_answer_shows_the_evidence_first_and_ends_whole(client: Client) -> None:
    with client.stream(
        "POST", "/api/v1/ask", json={"question": QUESTION}, headers={"accept": "text/event-stream"}
    ) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        text = stream.read().decode()
    found = events(text)
    kinds = [kind for kind, _ in found]
    assert (kinds[0], kinds[-1]) == ("evidence", "done")
    assert {"token", "sentence"} <= set(kinds)
    assert found[0][1]["evidence"] == found[-1][1]["evidence"]
    assert [line for line in text.split("\n") if line.startswith("id: ")] == [f"id: {n + 1}" for n in range(len(found))]


def test_a_question_of_structure_is_answered_without_the_model(client: Client) -> None:
    answer = client.post("/api/v1/ask", json={"question": "Where is ModelStore defined?"}).json()
    assert (answer["kind"], answer["model"]) == ("structure", "")
    assert answer["citations"][0]["path"] == "shop/store.py"


def test_a_file_can_be_read_by_lines_and_by_a_name_that_is_not_text(client: Client) -> None:
    whole = client.get("/api/v1/repos/shop/file", params={"path": "shop/store.py"}).json()
    assert whole["text"] == STORE.rstrip("\n")
    part = client.get("/api/v1/repos/shop/file", params={"path": "shop/store.py", "start": 3, "end": 4}).json()
    assert part["text"] == "\n".join(STORE.split("\n")[2:4])
    odd = client.get("/api/v1/repos/shop/file?path=odd/%FF.py")
    assert (odd.status_code, odd.json()["path"]) == (200, "odd/\\xff.py")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("path=nowhere.py", 404),
        ("path=../../etc/passwd", 404),
        ("path=/etc/passwd", 404),
        ("path=shop", 404),
        ("path=%00", 404),
        ("path=shop/store.py&start=9999", 400),
        ("path=shop/store.py&commit=HEAD", 400),
        *((f"path=shop/store.py&commit={'0' * digits}", 400) for digits in (1, 4, 39, 41, 63, 65)),
        ("path=shop/store.py&commit=--help", 400),
        ("path=shop/store.py&commit=" + "0" * 40, 404),
        ("", 400),
    ],
)
def test_a_file_that_is_not_there_is_not_found(client: Client, query: str, status: int) -> None:
    assert client.get(f"/api/v1/repos/shop/file?{query}").status_code == status


def test_a_jobs_events_can_be_followed_and_taken_up_again(client: Client) -> None:
    job = next(job for job in client.get("/api/v1/jobs").json() if job["kind"] == "index")
    text = client.get(f"/api/v1/jobs/{job['id']}/events").text
    found = events(text)
    assert [data["state"] for kind, data in found if kind == "state"] == ["queued", "running", "done"]
    assert any(kind == "progress" for kind, _ in found)
    last = max(int(str(data["seq"])) for _, data in found[:-1])
    rest = client.get(f"/api/v1/jobs/{job['id']}/events", headers={"last-event-id": str(last)}).text
    assert events(rest) == found[-1:]
    assert client.get("/api/v1/jobs/job_none/events").status_code == 404
    assert client.get(f"/api/v1/jobs/{job['id']}/events", headers={"last-event-id": "x"}).status_code == 400


def test_a_commit_is_seen_as_lag_until_it_is_indexed(client: Client, source: Path) -> None:
    commit(source, {"shop/late.py": "def quite_new_function():\n    return 1\n"})
    deadline = time.monotonic() + 20
    while client.get("/api/v1/repos/shop").json()["index"]["behind"] != 1:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    job = client.post("/api/v1/repos/shop/refresh")
    assert job.status_code == 202
    settle(client)
    assert client.get(f"/api/v1/jobs/{job.json()['id']}").json()["state"] == "done"
    deadline = time.monotonic() + 20
    search = partial(client.get, "/api/v1/search", params={"q": "quite_new_function"})
    while (found := search().json())["freshness"][0]["behind"] is None:  # a search does not wait for git on a busy machine
        assert time.monotonic() < deadline
    assert found["hits"][0]["path"] == "shop/late.py"
    assert found["freshness"][0]["behind"] == 0


def test_a_repository_that_cannot_be_indexed_is_refused_with_the_reason(client: Client, tmp_path: Path) -> None:
    for body, status in [
        ({"path": str(tmp_path / "none")}, 404),
        ({"path": "relative"}, 400),
        ({"path": "/proc/self/environ"}, 400),
        ({"path": str(tmp_path), "project": "none"}, 404),
        ({"path": str(tmp_path), "branch": ""}, 400),
    ]:
        response = client.post("/api/v1/repos", json=body)
        assert response.status_code == status, response.text
        assert response.json()["detail"]


def test_projects_keep_apart_what_they_hold(client: Client) -> None:
    assert client.post("/api/v1/projects", json={"name": "other"}).status_code == 201
    assert client.post("/api/v1/projects", json={"name": "other"}).status_code == 409
    assert [project["name"] for project in client.get("/api/v1/projects").json()] == ["default", "other"]
    assert client.get("/api/v1/search", params={"q": "verify", "project": "other"}).status_code == 404
    assert client.get("/api/v1/search", params={"q": "verify", "project": "other", "repo": "shop"}).status_code == 404


def test_how_a_repository_is_kept_can_be_changed_member_by_member(client: Client, tmp_path: Path) -> None:
    code = make_repo(tmp_path, {"a.py": "a = 1\n", "vendor/b.py": "b = 1\n", "c.js": "c = 1\n"}, name="kept")
    commit(code, {"old.py": "old = 1\n"}, branch="release/1")
    body = {"path": str(code), "settings": {"exclude": ["*.js"], "schedule": "daily"}}
    added = client.post("/api/v1/repos", json=body).json()
    assert (added["settings"]["exclude"], added["settings"]["schedule"]) == (["*.js"], "daily")

    address = f"/api/v1/repos/{added['id']}"
    changed = client.patch(address, json={"settings": {"branches": ["release/*"], "watch": True}})
    assert changed.status_code == 202
    settle(client)
    now = client.get(address).json()
    changed_to = {"branches": ["release/*"], "exclude": ["*.js"], "schedule": "daily", "watch": True}
    assert now["settings"] == added["settings"] | changed_to
    assert [(each["name"], each["behind"]) for each in now["branches"]] == [("release/1", 0)]
    assert (now["state"], now["index"]["left_out"]) == ("ready", {"excluded": 1, "vendored": 1})

    refused = client.patch(address, json={"settings": {"schedule": "now and then"}})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert client.get(address).json()["settings"] == now["settings"]
    client.delete(address)


def test_a_removed_repo_is_gone_from_everywhere(client: Client, tmp_path: Path) -> None:
    path = make_repo(tmp_path, {"gone.py": "def soon_gone():\n    return 0\n"}, name="gone")
    repo = client.post("/api/v1/repos", json={"path": str(path)}).json()
    settle(client)
    assert client.get("/api/v1/search", params={"q": "soon_gone", "repo": "gone"}).json()["hits"]
    assert client.delete("/api/v1/repos/gone").status_code == 204
    assert client.get(f"/api/v1/repos/{repo['id']}").status_code == 404
    hits = client.get("/api/v1/search", params={"q": "soon_gone"}).json()["hits"]
    assert all(hit["repo_name"] != "gone" for hit in hits)
    assert path.is_dir(), "the repository itself is not ours"


def test_what_was_left_out_is_listed_with_its_reason(client: Client, tmp_path: Path) -> None:
    files = {"a.py": "x = 1\n"} | {f"data{n}.bin": b"\0" * 100 for n in range(3)}
    client.post("/api/v1/repos", json={"path": str(make_repo(tmp_path, files, name="mixed"))})
    settle(client)
    page = client.get("/api/v1/repos/mixed/left-out", params={"limit": 2}).json()
    assert (page["total"], page["next_offset"]) == (3, 2)
    assert {item["reason"] for item in page["items"]} == {"binary"}
    assert client.get("/api/v1/repos/mixed/left-out", params={"reason": "vendored"}).json()["total"] == 0
    client.delete("/api/v1/repos/mixed")


def test_secrets_are_listed_by_place_and_no_door_says_them(client: Client, tmp_path: Path) -> None:
    source = make_repo(tmp_path, planted.FILES, name="leaky")
    client.post("/api/v1/repos", json={"path": str(source)})
    settle(client)
    page = client.get("/api/v1/repos/leaky/secrets", params={"limit": 2}).json()
    assert (page["masked"], page["next_offset"], len(page["items"])) == (True, 2, 2)
    assert page["total"] == client.get("/api/v1/repos/leaky").json()["index"]["secrets"] > 2
    lines = client.get("/api/v1/repos/leaky/file", params={"path": "src/settings.py"}).text
    found = client.get("/api/v1/search", params={"q": "/ACCESS|SESSION|password/"}).text
    assert not [secret for secret in planted.SECRETS if secret in lines + found + str(page)]
    assert planted.UUID in lines
    refused = client.get("/api/v1/repos/leaky/file", params={"path": ".env"})
    assert (refused.status_code, "keep secrets in" in refused.text) == (404, True)
    client.delete("/api/v1/repos/leaky")


def test_health_names_each_part_to_those_who_are_logged_in(client: Client) -> None:
    health = client.get("/api/v1/health").json()
    assert {part["name"]: part["state"] for part in health["parts"]} == {
        "store": "ok",
        "worker": "ok",
        "engine-chat": "off",
        "engine-embed": "off",
    }
    assert health["state"] == "ready"
    brief = client.get("/api/v1/health", headers={"authorization": ""}).json()
    assert brief == {"state": "ready", "phase": "", "parts": []}
