"""The running appliance, over its own HTTP API: TCP or unix socket, with the key that it left for this machine's owner."""

import contextlib
import hmac
import secrets
import ssl
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import ClassVar, Final, NoReturn, Self, TypeVar

import httpx2
import msgspec

from appliance import errors
from appliance.access.secret import digest, proof
from appliance.base.paths import DataPaths, display
from appliance.cli import loading, place
from appliance.config import Loaded, Web
from appliance.errors import ApplianceError, DeadlineExceeded, HostUnfit, InvalidInput, LimitExceeded, Unavailable
from appliance.ops import preflight

T = TypeVar("T")
Value = str | float | list[str] | tuple[str, ...] | None

LIMITS: Final = httpx2.Timeout(30.0, connect=5.0)
PATIENT: Final = httpx2.Timeout(600.0, connect=5.0)  # a slow machine reads a prompt for minutes before the first word
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what to call instead of what is listened on


class Wrong(msgspec.Struct):
    """One value of a request that is not right."""

    field: str
    message: str


class Problem(msgspec.Struct):
    """An RFC 9457 problem, as far as the command line reads it."""

    detail: str
    code: str
    remedy: str = ""
    errors: list[Wrong] = []


class Identity(msgspec.Struct):
    """What proves that it is our appliance that answers."""

    proof: str


class Event(msgspec.Struct, frozen=True):
    """One server-sent event."""

    name: str
    data: bytes


def _leaves(kind: type[ApplianceError]) -> Iterator[type[ApplianceError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _leaves(child)


_KINDS: Final[Mapping[str, type[ApplianceError]]] = {kind.code: kind for kind in _leaves(errors.ApplianceError)}


class Remote:
    """The appliance's API. Every method raises the error that the appliance answered with, or `Unavailable`.

    Nothing is sent before whoever listens has proved that it knows the key: after a crash that may be another program.
    """

    def __init__(self, web: Web, *, paths: DataPaths, transport: httpx2.BaseTransport | None = None) -> None:
        self._web = web
        self._key = key_for(web, paths)
        self._client = httpx2.Client(
            base_url=f"{address(web)}/api/v1/",
            transport=transport or _transport(web),
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, kind: type[T], **query: Value) -> T:
        """Return what stands at *path*, read as *kind*."""
        return _decode(self.raw("GET", path, query=query), kind)

    def post(self, path: str, kind: type[T], body: object = None) -> T:
        """Send *body* as JSON and return the answer, read as *kind*."""
        return _decode(self.raw("POST", path, body=body), kind)

    def patch(self, path: str, kind: type[T], body: object) -> T:
        """Send *body* as JSON, to change what stands at *path*, and return the answer, read as *kind*."""
        return _decode(self.raw("PATCH", path, body=body), kind)

    def delete(self, path: str) -> None:
        """Delete what stands at *path*."""
        self.raw("DELETE", path)

    def raw(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Value] | None = None,
        body: object = None,
        patient: bool = False,
    ) -> bytes:
        """Return the body of the answer as it came; *patient* waits as long as a model may need."""
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        with running():
            content = None if body is None else msgspec.json.encode(body)
            self._introduce()
            response = self._client.request(
                method, path, params=wanted, content=content, headers=_JSON, timeout=PATIENT if patient else LIMITS
            )
        _raise_problem(response)
        return response.content

    @contextlib.contextmanager
    def stream(self, path: str, body: object) -> Iterator[Iterator[Event]]:
        """Send *body* and give the events of the answer; leaving the block ends the work on the other side."""
        with running():
            content = msgspec.json.encode(body)
        with self._events("POST", path, content, headers=_JSON, timeout=PATIENT) as events:
            yield events

    @contextlib.contextmanager
    def follow(self, path: str, *, after: int) -> Iterator[Iterator[Event]]:
        """Give the events at *path* behind the one numbered *after*; leaving the block ends nothing but the stream."""
        with self._events("GET", path, None, headers={"last-event-id": str(after)}, timeout=LIMITS) as events:
            yield events

    @contextlib.contextmanager
    def _events(
        self, method: str, path: str, content: bytes | None, *, headers: Mapping[str, str], timeout: httpx2.Timeout
    ) -> Iterator[Iterator[Event]]:
        with running():
            self._introduce()
        with (
            running(),
            self._client.stream(
                method, path, content=content, headers={**headers, "accept": "text/event-stream"}, timeout=timeout
            ) as response,
        ):
            if response.is_error:
                response.read()
            _raise_problem(response)
            yield (Event(event.event, event.data.encode()) for event in httpx2.EventSource(response))

    def _introduce(self) -> None:
        if "authorization" in self._client.headers:
            return
        challenge = Challenge(self._web, self._key)
        with (
            challenge.answered(),
            self._client.stream("GET", "identity", params=challenge.asked, timeout=LIMITS) as response,
        ):
            challenge.check(next(response.iter_bytes(Challenge.SHORT), b""), failed=response.is_server_error)
        self._client.headers["authorization"] = f"Bearer {self._key}"


class Challenge:
    """What whoever listens must answer before it is sent *key*: only our appliance can."""

    SHORT: ClassVar[int] = 4096
    """So many bytes of the answer are read: it may be anybody's."""

    def __init__(self, web: Web, key: str) -> None:
        self._web = web
        self._key = key
        self.asked = {"challenge": secrets.token_hex(32)}

    @contextlib.contextmanager
    def answered(self) -> Iterator[None]:
        """Raise, for what goes wrong on the wire in this block, the error that says who broke off."""
        try:
            yield
        except httpx2.DecodingError as exc:
            raise _stranger(self._web) from exc
        except httpx2.ProtocolError as exc:
            raise Unavailable(
                f"Whoever listens at {shown_address(self._web)} broke off before it had said who it is.", remedy=_WHO
            ) from exc

    def check(self, body: bytes, *, failed: bool) -> None:
        """Return if *body* is the proof; raise what it says if the appliance *failed*, else `Unavailable`."""
        if failed:
            raise_problem(body)
        try:
            shown = msgspec.json.decode(body, type=Identity).proof
        except msgspec.DecodeError:
            shown = ""
        if not hmac.compare_digest(shown.encode(), proof(digest(self._key), self.asked["challenge"]).encode()):
            raise _stranger(self._web)


def connect(loaded: Loaded) -> Remote:
    """Return a client of the appliance that runs on this data directory, wherever it listens; raise `Unavailable`."""
    paths = loading.paths(loaded)
    return Remote(where_of(paths), paths=paths)


def where_of(paths: DataPaths) -> Web:
    """Return where the appliance that runs on this data directory listens; raise `Unavailable` if none runs."""
    where = place.read(paths)
    if where is None:  # whoever listens there has nothing to do with this directory
        raise _not_running()
    return where.web


_SHOWN: Final = 100  # characters of an argument, in an error
_FAULTY: Final = "Some of the values are not right:"
_WHO: Final = "`skellig status` says whether Skellig runs; web.port chooses another port."
_JSON: Final = {"content-type": "application/json"}


def address(web: Web) -> str:
    """Return the URL that reaches an appliance with these settings from this machine."""
    if web.socket is not None:
        return "http://localhost"
    host = _EVERYWHERE.get(web.host, f"[{web.host}]" if ":" in web.host else web.host)
    return f"http://{host}:{web.port}"


def shown_address(web: Web) -> str:
    """Return where people find the appliance."""
    return f"unix:{web.socket}" if web.socket is not None else address(web)


def no_certificates() -> ssl.SSLContext:
    """Return the context of who speaks plain HTTP only: the certificate store is never read."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _transport(web: Web) -> httpx2.HTTPTransport:
    return httpx2.HTTPTransport(uds=str(web.socket) if web.socket else None, verify=no_certificates(), trust_env=False)


def key_for(web: Web, paths: DataPaths) -> str:
    """Return the key that the appliance which listens there left for the command line; raise `Unavailable` for none."""
    if web.socket is not None and not web.socket.exists():
        raise _not_running()
    try:
        return (paths.run / "cli.key").read_text(encoding="ascii").strip()
    except FileNotFoundError as exc:
        raise _not_running() from exc
    except PermissionError as exc:
        raise HostUnfit(
            f"The key {paths.run / 'cli.key'} is another user's.",
            remedy="Run this as the user who runs the appliance.",
        ) from exc


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Raise, for what goes wrong on the wire in this block, the error that says how the appliance is."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
        raise _not_running() from exc
    except httpx2.TimeoutException as exc:
        raise DeadlineExceeded("The appliance did not answer in time.", remedy="`skellig status` says how it is.") from exc
    except httpx2.HTTPError as exc:
        raise Unavailable("The appliance broke off in the middle of its answer.", remedy="Try again.") from exc
    except httpx2.InvalidURL as exc:
        raise LimitExceeded("That is too long to be asked.", remedy="Shorten it, or ask twice.") from exc
    except UnicodeEncodeError as exc:
        raise InvalidInput(
            f"{display(str(exc.object))[:_SHOWN]!r} is not UTF-8.",
            remedy="Give it in UTF-8, or name what it means otherwise.",
        ) from exc


def _not_running() -> Unavailable:
    return Unavailable("Skellig is not running.", remedy="Start it with: skellig up")


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as exc:
        raise _not_ours() from exc


def _not_ours() -> Unavailable:
    return Unavailable(
        "The answer is not one of Skellig's: another program may listen there.",
        remedy=_WHO,
    )


def _stranger(web: Web) -> Unavailable:
    holder = "" if web.socket else preflight.holder(web.port)
    return Unavailable(
        f"{holder or 'Another program'} listens at {shown_address(web)}, and is not this appliance: nothing was sent to it.",
        remedy="Start Skellig with `skellig up`; where the port stays taken, web.port chooses another one.",
    )


def _raise_problem(response: httpx2.Response) -> None:
    if not response.is_success:
        raise_problem(response.content)


def raise_problem(body: bytes) -> NoReturn:
    """Raise the error that *body*, an RFC 9457 problem, speaks of."""
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.DecodeError as exc:
        raise _not_ours() from exc
    wrong = "; ".join(f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in problem.errors)
    raise error_of(problem.code, f"{_FAULTY} {wrong}" if wrong else problem.detail, remedy=problem.remedy)


def error_of(code: str, message: str, *, remedy: str) -> ApplianceError:
    """Return the error that has *code*."""
    return _KINDS.get(code, ApplianceError)(message, remedy=remedy)
