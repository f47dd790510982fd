"""The application behind the real server: what a test client cannot show."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import closing
from dataclasses import replace

import httpx2
import pytest

from appliance.codeintel.results import Answer, AnswerEvent, Scope
from appliance.services import CLI_KEY, Services
from tests.support.appliance import make_services, working
from tests.support.chat import ScriptedChat, said
from tests.support.indexed import WordEmbedder
from tests.support.listening import listening
from tests.support.repos import make_repo
from tests.support.shop import FILES

QUESTION = "How is the digest of a model compared with the catalogue?"
SAID = "The digest of the installed model is compared with the catalogue by verify."


class Endless:
    """Answers with evidence and then never ends; counts who is still being answered."""

    def __init__(self) -> None:
        self.open = 0

    async def ask(self, question: str, *, scope: Scope, prose: bool = True) -> AsyncGenerator[AnswerEvent, None]:
        del scope, prose
        self.open += 1
        try:
            yield AnswerEvent("evidence", answer=Answer(question, "evidence", ()))
            await asyncio.Event().wait()
        finally:
            self.open -= 1


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    chat = ScriptedChat(said(SAID))
    with closing(make_services(tmp_path_factory.mktemp("data"), chat=chat, embedder=WordEmbedder())) as services:
        yield services


@pytest.fixture(scope="module")
def client(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    source = make_repo(tmp_path_factory.mktemp("repos"), FILES, name="shop")
    with listening(services) as port, connected(services, port) as client, working(services):
        job = client.post("repos", json={"path": str(source)}).json()["job"]
        assert followed(client, job["id"])[-1]["state"] == "done"
        yield client


def connected(services: Services, port: int) -> httpx2.Client:
    key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.Client(base_url=f"http://127.0.0.1:{port}/api/v1/", headers=headers, timeout=30, trust_env=False)


def followed(client: httpx2.Client, job: str) -> list[dict[str, object]]:
    """Return what happens to *job* until it ends, as the event stream tells it."""
    with client.stream("GET", f"jobs/{job}/events") as stream:
        return [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]


def until(check: Callable[[], bool], *, within: float) -> float:
    """Return how many seconds it took until *check* was true."""
    started = time.monotonic()
    while not check():
        assert time.monotonic() - started < within
        time.sleep(0.01)
    return time.monotonic() - started


def test_a_repository_becomes_a_cited_answer(client: httpx2.Client) -> None:
    hits = client.get("search", params={"q": "verify digest"}).json()["hits"]
    assert hits[0]["path"] == "shop/store.py"
    answer = client.post("ask", json={"question": QUESTION}).json()
    assert [sentence["text"] for sentence in answer["sentences"]] == [SAID]
    assert all(citation["verified"] for citation in answer["citations"])


def test_fifty_requests_at_once_are_all_answered(services: Services, client: httpx2.Client) -> None:
    async def scenario() -> list[int]:
        async with httpx2.AsyncClient(
            base_url=str(client.base_url), headers=dict(client.headers), timeout=60, trust_env=False
        ) as many:
            searches = [many.get("search", params={"q": f"verify model {n}"}) for n in range(30)]
            asks = [many.post("ask", json={"question": QUESTION}) for _ in range(10)]
            others = [many.get("repos") for _ in range(5)] + [many.get("health") for _ in range(5)]
            return [response.status_code for response in await asyncio.gather(*searches, *asks, *others)]

    assert asyncio.run(scenario()) == [200] * 50
    assert services.access.keys.all()


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/api/v1/ask", "text/event-stream", "application/json"),
        ("/api/v1/ask", "application/json", "application/json"),
        ("/ask", "text/html", "application/x-www-form-urlencoded"),
    ],
)
def test_a_client_that_hangs_up_frees_the_engine_within_a_second(
    services: Services, path: str, accept: str, kind: str
) -> None:
    endless = Endless()
    with listening(replace(services, answerer=endless)) as port:
        key = (services.paths.run / CLI_KEY).read_text(encoding="ascii").strip()
        body = json.dumps({"question": "q"}).encode() if "json" in kind else b"question=q"
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nAccept: {accept}\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for each in sockets:
            each.sendall(head.encode() + body)
        until(lambda: endless.open == 20, within=10)
        for each in sockets[:19]:
            each.close()
        assert until(lambda: endless.open == 1, within=5) < 1.0
        sockets[19].close()
        until(lambda: endless.open == 0, within=5)


MALFORMED = {
    "length and chunks": b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two lengths": b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "negative length": b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "bad chunk": b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
    "folded header": b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
    "NUL in a header": b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    "NUL in the path": b"GET /api/v1/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "large header": b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 600_000 + b"\r\n\r\n",
    "many headers": b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 2000 + b"\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + b"\0" * 200,
    "no version": b"GET /\r\n\r\n",
    "two hosts": b"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    "absolute address": b"GET http://evil.example/api/v1/projects HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown method": b"FROB /api/v1/projects HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an upgrade": b"GET /api/v1/projects HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_end_in_a_refusal(client: httpx2.Client, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", client.base_url.port or 0)) as connection:
        connection.settimeout(3)
        answer = b""
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:  # it closed the connection while we still sent
            pass
    first = answer.split(b"\r\n", 1)[0]
    assert answer == b"" or first.startswith(b"HTTP/1.1 4") or b"/health" in sent.split(b"\r\n", 1)[0], first
    assert b"HTTP/1.1 5" not in answer
    assert answer.count(b"HTTP/1.1 ") <= 1, "one request, one answer"
    assert client.get("health").status_code == 200


def test_headers_that_come_too_slowly_are_cut_off(services: Services) -> None:
    with listening(services, header_ms=300) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.settimeout(10)
        connection.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: lo")
        started = time.monotonic()
        while connection.recv(4096):
            pass
        assert time.monotonic() - started < 5


@pytest.mark.parametrize("process", ["appliance.server", "appliance.worker"])
def test_no_process_starts_with_what_only_vectors_and_engines_need(process: str) -> None:
    """LanceDB and pyarrow alone are 150 MB of the 400 that the web process may take, and most of the worker's start."""
    program = (
        f"import sys, {process}; print(sorted({{'lancedb', 'pyarrow', 'xllamacpp', 'onnxruntime'}} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
