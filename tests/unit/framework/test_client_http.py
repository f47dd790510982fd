"""Claims about what a client over HTTP makes of whatever answers, and of whatever it is to send."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from appliance.errors import ApplianceError, InvalidInput, Unavailable
from appliance.framework import ApplianceClient
from appliance.framework.backend_http import HttpBackend
from appliance.framework.desk import Setup
from tests.support.scripted_http import Reply, events, scripted_server

Verb = Callable[[HttpBackend], Awaitable[object]]


async def heard(backend: HttpBackend) -> list[object]:
    return [event async for event in backend.stream("s", "hi", context=None)]


VERBS: dict[str, tuple[str, Verb]] = {
    "chat": ("POST /api/v1/sessions/s/chat", lambda backend: backend.chat("s", "hi", context=None)),
    "stream": ("POST /api/v1/sessions/s/chat", heard),
    "resume": ("POST /api/v1/runs/r/resume", lambda backend: backend.resume("r", "approved", note="")),
    "workflow": (
        "POST /api/v1/workflows",
        lambda backend: backend.run_workflow("w", {}, setup=Setup(), run_id="r", resume=False),
    ),
    "messages": ("GET /api/v1/sessions/s/messages", lambda backend: backend.messages("s")),
    "metrics": ("GET /api/v1/sessions/s/metrics", lambda backend: backend.metrics("s")),
    "mission": ("GET /api/v1/missions/m", lambda backend: backend.mission("m")),
}
STRANGE = [
    *(Reply(body) for body in (b"", b"\xff", b"<html>", b"[" * 100_000, {}, [5], {"tool_calls": 5}, 5)),
    *(Reply(b"[" * 100_000, status=status) for status in (400, 500)),
    events(("event", {}), ("event", 5)),
    events(("error", [5])),
    Reply(b"event: x\ndata: \xff\n\n", content_type="text/event-stream"),
    Reply(b"event: x\ndata: {\n\n", content_type="text/event-stream"),
]


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_answers_is_understood_or_told(verb: str) -> None:
    """A proxy, or another program on the port, must not end a script with an error of some library."""
    route, call = VERBS[verb]

    async def ask(port: int) -> object:
        backend = HttpBackend(f"http://127.0.0.1:{port}", key="k")
        try:
            return await call(backend)
        except ApplianceError as exc:
            return exc
        finally:
            await backend.close()

    with scripted_server() as server:
        for reply in STRANGE:
            server.replies[route] = reply
            said = asyncio.run(ask(server.port))
            assert isinstance(said, Unavailable | list), (reply, said)


@pytest.mark.parametrize("context", [{"a": object()}, {"a": "\ud800"}, {"a": 10**5000}])
def test_what_no_json_can_say_is_refused_before_it_is_sent(context: dict[str, object]) -> None:
    async def send() -> None:
        backend = HttpBackend("http://127.0.0.1:1", key="k")
        try:
            await backend.chat("s", "hi", context=context)  # type: ignore[arg-type]
        finally:
            await backend.close()

    with pytest.raises(InvalidInput, match="no JSON"):
        asyncio.run(send())


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "\0"])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="The key is none"):
        ApplianceClient.connect("http://127.0.0.1:1", key=key)
