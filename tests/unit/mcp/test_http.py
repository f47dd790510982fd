"""The door at ``/mcp``: who is let in, what one client can make it hold, and how calls end."""

import asyncio
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from appliance.cli.remote import no_certificates
from appliance.errors import Throttled
from appliance.mcp.callers import MOST_CALLS, Turns
from appliance.mcp.sessions import LARGEST_BODY, Sessions
from tests.support.agents import found_in, over_http, text_of, without_session
from tests.support.house import until
from tests.support.listening import listening
from tests.unit.mcp.conftest import Served

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
QUESTION = {"question": "How does a parcel get on the shelf under its label?", "prose": True}


def post(
    served: Served,
    body: object = HELLO,
    *,
    key: str | None = "own",
    headers: Mapping[str, str] | None = None,
    path: str = "/mcp",
) -> httpx2.Response:
    known = {} if key is None else {"authorization": f"Bearer {served.key if key == 'own' else key}"}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = BOTH | known | dict(headers or {})
    url = f"http://127.0.0.1:{served.port}{path}"
    return httpx2.post(url, content=content, headers=sent, trust_env=False, timeout=20, verify=no_certificates())


def test_only_a_key_opens_it(served: Served) -> None:
    assert post(served).status_code == 200
    for wrong in (None, "skellig_wrong", "x"):
        response = post(served, key=wrong)
        assert (response.status_code, response.json()["code"]) == (401, "unauthenticated")
        assert response.headers["www-authenticate"].startswith("Bearer")
    session = served.services.access.sessions.open("administrator")
    cookie = {"cookie": f"__Host-skellig={session}", "origin": f"http://127.0.0.1:{served.port}"}
    assert post(served, key=None, headers=cookie).json()["code"] == "forbidden", "no page has any business here"


def test_a_key_that_may_only_read_is_enough_and_one_that_may_nothing_is_not(served: Served) -> None:
    keys = served.services.access.keys
    reader = keys.create("reader", permissions=frozenset({"read"}))
    nobody = keys.create("nobody", permissions=frozenset())
    try:
        assert post(served, key=reader).status_code == 200
        assert post(served, key=nobody).json()["code"] == "forbidden"
    finally:
        keys.revoke("reader")
        keys.revoke("nobody")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_not_ours_is_refused_whatever_key_comes_with_it(served: Served, host: str) -> None:
    """A page of a stranger can let its own name resolve to this machine."""
    response = post(served, headers={"host": host})
    assert (response.status_code, response.json()["code"]) == (403, "wrong_host")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "own"}, 200),
        ({}, 200),
    ],
)
def test_a_page_of_another_site_is_refused_whatever_key_it_sends(
    served: Served, headers: Mapping[str, str], status: int
) -> None:
    own = {name: f"http://127.0.0.1:{served.port}" if value == "own" else value for name, value in headers.items()}
    response = post(served, headers=own)
    assert response.status_code == status
    assert status == 200 or response.json()["code"] == "wrong_origin"


@pytest.mark.parametrize(
    "path", ["/mcp/", "//mcp", "/%6dcp", "/mcp%2f", "/mcp?x=1", "/./mcp", "/x/../mcp", "/MCP", "/mcp/x"]
)
def test_no_spelling_of_the_address_gets_around_that(served: Served, path: str) -> None:
    assert post(served, headers={"origin": "http://evil.example"}, path=path).status_code in {403, 404}
    assert post(served, key=None, path=path).status_code in {401, 404}


def test_who_listens_again_hears_on(served: Served) -> None:
    session = {"mcp-session-id": post(served).headers["mcp-session-id"], "last-event-id": "1"}
    headers = BOTH | session | {"authorization": f"Bearer {served.key}"}
    url = f"http://127.0.0.1:{served.port}/mcp"
    with httpx2.Client(trust_env=False) as client, client.stream("GET", url, headers=headers) as response:
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "HEAD"])
def test_other_methods_are_refused_and_leave_no_session(served: Served, method: str) -> None:
    headers = BOTH | {"authorization": f"Bearer {served.key}"}
    response = httpx2.request(method, f"http://127.0.0.1:{served.port}/mcp", headers=headers, trust_env=False)
    assert response.status_code == 405


def test_a_browser_that_looks_is_told_so_as_a_program_would_be(served: Served) -> None:
    response = httpx2.get(f"http://127.0.0.1:{served.port}/mcp", headers={"accept": "text/html"}, trust_env=False)
    assert (response.status_code, response.json()["code"]) == (401, "unauthenticated")


def test_a_session_is_of_the_key_that_opened_it(served: Served) -> None:
    session = {"mcp-session-id": post(served).headers["mcp-session-id"]}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert post(served, listing, headers=session).status_code == 200
    other = served.services.access.keys.create("other")
    try:
        assert post(served, listing, key=other, headers=session).status_code == 404
    finally:
        served.services.access.keys.revoke("other")
    assert post(served, listing, headers=session).status_code == 200
    assert post(served, listing, headers={"mcp-session-id": "0" * 32}).status_code == 404


def test_a_key_that_is_revoked_ends_what_its_sessions_may(served: Served) -> None:
    key = served.services.access.keys.create("short-lived")
    session = {"mcp-session-id": post(served, key=key).headers["mcp-session-id"]}
    served.services.access.keys.revoke("short-lived")
    assert post(served, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, key=key, headers=session).status_code == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"null", 400),
        (b"[]", 400),
        (json.dumps([HELLO, HELLO]).encode(), 400),
        (b"[" * 100_000, 400),
        (b'{"jsonrpc": "2.0", "id": {}, "method": 5}', 400),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "initialize"}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', 400),
        (b"1" * 10_000, 400),
        (b" " * (LARGEST_BODY + 1), 413),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else str(value),
)
@pytest.mark.parametrize("version", ["", "2026-07-28", "x" * 5_000])
def test_what_is_not_the_protocol_is_refused_and_does_no_harm(
    served: Served, body: bytes, status: int, version: str
) -> None:
    response = post(served, body, headers={"mcp-protocol-version": version} if version else {})
    assert response.status_code in {status, 400}
    assert len(response.content) < 5_000
    assert post(served).status_code == 200


def test_many_sessions_at_once_each_get_their_own_answers(served: Served) -> None:
    async def one(number: int) -> str:
        async with over_http(served.port, served.key) as session:
            first, second = await asyncio.gather(
                session.call_tool("outline", {"path": f"spokes/spoke{number:02}.py"}),
                session.call_tool("definition", {"name": f"spoke{number}"}),
            )
            assert f"spoke{number:02}.py" in text_of(second)
            return text_of(first)

    async def scenario() -> list[str]:
        return list(await asyncio.gather(*(one(number) for number in range(20))))

    for number, text in enumerate(asyncio.run(scenario())):
        assert f"def spoke{number}()" in text


def test_the_newest_protocol_needs_no_session(served: Served) -> None:
    async def scenario() -> None:
        told: list[str] = []

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            told.append(message or "")

        async with without_session(served.port, served.key) as client:
            found = found_in(await client.call_tool("callers", {"name": "label_of"}))
            assert found["total"] == 1
            await client.call_tool("ask", {"question": "Where is label_of defined?"}, progress_callback=tell)
        assert told[0] == "1 places bear on it"
        assert "label_of` is defined in" in told[1]

    asyncio.run(scenario())


async def waiting(served: Served) -> None:
    async with asyncio.timeout(20):
        while not served.chat.open:  # noqa: ASYNC110 - another thread's
            await asyncio.sleep(0.01)


async def let_go(served: Served) -> None:
    async with asyncio.timeout(20):
        while served.chat.open:  # noqa: ASYNC110 - another thread's
            await asyncio.sleep(0.01)


@pytest.fixture
def held(served: Served) -> Iterator[Served]:
    served.chat.held = True
    yield served
    served.chat.held = False
    until(lambda: not served.chat.open)


def test_a_question_that_is_cancelled_lets_the_model_go(held: Served) -> None:
    async def scenario() -> None:
        async with over_http(held.port, held.key) as session:
            asking = asyncio.create_task(session.call_tool("ask", QUESTION))
            await waiting(held)
            asking.cancel()
            await let_go(held)
            assert found_in(await session.call_tool("definition", {"name": "label_of"}))["total"] == 1

    asyncio.run(scenario())


def test_a_question_of_the_newest_protocol_is_cancelled_by_going_away(held: Served) -> None:
    async def scenario() -> None:
        async with without_session(held.port, held.key) as client:
            asking = asyncio.create_task(client.call_tool("ask", QUESTION))
            await waiting(held)
            asking.cancel()
            with suppress(asyncio.CancelledError, MCPError):
                await asking
            await let_go(held)

    asyncio.run(scenario())


def test_a_client_that_vanishes_lets_the_model_go(held: Served) -> None:
    session = post(held).headers["mcp-session-id"]
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": QUESTION}}
    body = json.dumps(call)
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{held.port}\r\nauthorization: Bearer {held.key}\r\nmcp-session-id: {session}"
        f"\r\naccept: {BOTH['accept']}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", held.port), timeout=20) as line:
        line.sendall((head + body).encode())
        until(lambda: held.chat.open)
    until(lambda: not held.chat.open)
    assert post(held, {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, headers={"mcp-session-id": session}).is_success


def test_progress_is_told_while_the_answer_is_made(held: Served) -> None:
    async def scenario() -> None:
        told: asyncio.Queue[tuple[float, str]] = asyncio.Queue()

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            del total
            await told.put((progress, message or ""))

        async with over_http(held.port, held.key) as session:
            asking = asyncio.create_task(session.call_tool("ask", QUESTION, progress_callback=tell))
            number, words = await asyncio.wait_for(told.get(), 20)
            assert words.endswith("places bear on it")
            assert not asking.done()
            held.chat.held = False
            assert found_in(await asking)["kind"] == "prose"
            later, sentence = await asyncio.wait_for(told.get(), 20)
            assert later > number
            assert "Shelf.put" in sentence

    asyncio.run(scenario())


def test_one_key_cannot_keep_all_others_waiting(held: Served) -> None:
    """So many of its calls are worked on at a time; further ones wait for each other, and not in the way of other keys'."""
    ask = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "ask", "arguments": QUESTION}}
    greedy, modest = (held.services.access.keys.create(name) for name in ("greedy", "modest"))

    async def scenario() -> list[int]:
        sent = BOTH | {"authorization": f"Bearer {greedy}"}
        url = f"http://127.0.0.1:{held.port}/mcp"
        async with httpx2.AsyncClient(headers=sent, trust_env=False, timeout=60, verify=no_certificates()) as http:
            session = {"mcp-session-id": (await http.post(url, json=HELLO)).headers["mcp-session-id"]}
            numbers = range(MOST_CALLS + 5)
            calls = [asyncio.create_task(http.post(url, json=ask | {"id": n}, headers=session)) for n in numbers]
            await asyncio.to_thread(until, lambda: held.chat.open == MOST_CALLS)
            async with over_http(held.port, modest) as other:
                assert found_in(await other.call_tool("definition", {"name": "label_of"}))["total"] == 1
            assert held.chat.open == MOST_CALLS
            held.chat.held = False
            return [answer.text.count('"kind":"prose"') for answer in await asyncio.gather(*calls)]

    try:
        assert asyncio.run(scenario()) == [1] * (MOST_CALLS + 5)
    finally:
        for name in ("greedy", "modest"):
            held.services.access.keys.revoke(name)


def test_a_line_that_is_too_long_is_refused_and_who_leaves_it_makes_room() -> None:
    async def scenario() -> None:
        turns = Turns(most=1, waiting=1)

        async def call(*, until_told: asyncio.Event) -> None:
            async with turns.turn():
                await until_told.wait()

        told = asyncio.Event()
        first, second = (asyncio.create_task(call(until_told=told)) for _ in range(2))
        await asyncio.sleep(0)
        with pytest.raises(Throttled):
            await call(until_told=told)
        second.cancel()
        await asyncio.wait({second})
        third = asyncio.create_task(call(until_told=told))
        await asyncio.sleep(0)
        told.set()
        await asyncio.gather(first, third)

    asyncio.run(scenario())


def test_sessions_that_are_never_closed_make_room_for_new_ones(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One key has so many at a time: the one that was used longest ago goes first, and nobody else's."""
    monkeypatch.setattr(Sessions.__init__, "__kwdefaults__", {"most_of_one": 3, "most": 100, "idle": 60.0})
    with listening(served.services) as port:
        small = Served(served.services, served.chat, port, served.key, served.source)
        other = served.services.access.keys.create("neighbour")
        try:
            listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            theirs = post(small, key=other).headers["mcp-session-id"]
            mine = [post(small).headers["mcp-session-id"] for _ in range(3)]
            assert post(small, listing, headers={"mcp-session-id": mine[0]}).is_success
            mine += [post(small).headers["mcp-session-id"] for _ in range(2)]
            alive = [post(small, listing, headers={"mcp-session-id": each}).status_code == 200 for each in mine]
            assert alive == [True, False, False, True, True]
            assert post(small, listing, key=other, headers={"mcp-session-id": theirs}).is_success
        finally:
            served.services.access.keys.revoke("neighbour")


def test_a_path_tells_its_repository_at_every_door(served: Served) -> None:
    """Of several repositories the one that has the file is meant, or, where more have it, that is said with their names."""
    address = f"http://127.0.0.1:{served.port}/api/v1/graph"
    headers = {"authorization": f"Bearer {served.key}"}
    with httpx2.Client(base_url=address, headers=headers, trust_env=False, verify=no_certificates()) as client:
        entries = client.get("/outline", params={"path": "store/shelf.py"}).json()["entries"]
        assert [each["symbol"] for each in entries] == ["label_of", "Shelf", "Shelf.put", "Shelf.take"]
        assert len(client.get("/outline?path=caf%E9.py").json()["entries"]) == 1
        place: dict[str, str | int] = {"path": "store/shelf.py", "line": 14, "word": "label_of"}
        assert [each["symbol"] for each in client.get("/definition", params=place).json()["definitions"]] == ["label_of"]
        both = client.get("/outline", params={"path": "README.md"})
        assert (both.status_code, "depot, other" in both.json()["detail"]) == (400, True)
        gone = client.get("/outline", params={"path": "store/shelv.py"})
        assert (gone.status_code, "store/shelf.py" in gone.json()["remedy"]) == (404, True)
