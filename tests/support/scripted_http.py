"""An HTTP server on loopback that answers from a script and remembers what it was asked."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from appliance.access.secret import digest, proof


@dataclass
class Reply:
    """What one route answers."""

    body: object = None
    status: int = 200
    content_type: str = "application/json"

    def encoded(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Asked:
    """What somebody asked."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class ScriptedServer:
    """The script: replies by ``METHOD path``; a list of replies is used up one by one, the last one stays.

    With *key* it proves that it knows the command line's key, as the appliance does; that is not among what it was asked.
    """

    port: int
    key: str = ""
    replies: dict[str, Reply | list[Reply]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def reply_to(self, method: str, path: str) -> Reply:
        found = self.replies.get(f"{method} {path}")
        if isinstance(found, list):
            return found.pop(0) if len(found) > 1 else found[0]
        return found or Reply(problem("not_found", "There is nothing at this address."), status=404)


def identity(key: str, query: str) -> dict[str, str]:
    """Return how an appliance whose command line has *key* answers to the challenge in *query*."""
    return {"proof": proof(digest(key), parse_qs(query)["challenge"][0])}


def problem(code: str, detail: str, remedy: str = "") -> dict[str, object]:
    """Return an RFC 9457 problem as the appliance sends it."""
    return {
        "type": f"urn:skellig:error:{code}",
        "title": "T",
        "status": 400,
        "detail": detail,
        "code": code,
        "remedy": remedy,
    }


def events(*pairs: tuple[str, object]) -> Reply:
    """Return a stream of server-sent events."""
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in pairs)
    return Reply(body.encode(), content_type="text/event-stream")


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    """Serve until the end of the block."""
    script = ScriptedServer(port=0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if script.key and parts.path == "/api/v1/identity":
                reply = Reply(identity(script.key, parts.query))
            else:
                script.asked.append(Asked(self.command, parts.path, parts.query, dict(self.headers.items()), body))
                reply = script.reply_to(self.command, parts.path)
            encoded = b"" if reply.body is None else reply.encoded()
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the names that http.server calls

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
