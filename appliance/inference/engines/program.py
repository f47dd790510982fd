"""What every engine program does: check the model, announce itself, serve on its socket, end with one clear sentence."""

import argparse
import asyncio
import contextlib
import os
import signal
import socket as sockets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from granian.constants import Interfaces
from granian.server.embed import Server

from appliance.base import log
from appliance.errors import ApplianceError, Conflict, EngineUnavailable, HostUnfit, InvalidInput, NotFound
from appliance.inference.card import Card, write_card
from appliance.inference.catalog import Catalog, Model
from appliance.inference.engines.app import EngineApp
from appliance.inference.engines.base import Engine, EngineInfo, Role
from appliance.inference.store import check_file

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "ORT_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
_MAX_SOCKET_PATH = 100  # the kernel takes 107 bytes; an engine adds a few for a socket of its own


@dataclass(frozen=True, slots=True)
class Options:
    """The command line of an engine program, with its model looked up and its files known to be right.

    *gpu*: it must run on one.
    """

    model: Model
    files: tuple[Path, ...]
    socket: Path
    threads: int
    context: int
    slots: int
    gpu: bool

    @property
    def info(self) -> EngineInfo:
        """What will be served."""
        return EngineInfo(self.model.role, self.model.name, self.context, self.model.dimensions)


def main(build: Callable[[Options], Engine], *, role: Role, argv: Sequence[str], threads: int) -> int:
    """Run the engine that *build* makes, of *role*, until it is told to stop; return the exit status.

    Whatever keeps it from working is told in one sentence on standard error and beside the socket, with status 1. *role* and
    *threads* are the defaults of their options.
    """
    os.environ.update(OFFLINE)
    asked = _parser(role, threads).parse_args(argv)
    log.configure(level="warning", json=True)
    try:
        claim(asked.socket)
    except ApplianceError as exc:
        return _complain(exc)
    info = EngineInfo(asked.role, asked.name, asked.context or 0)
    try:
        options = _options(asked)
        info = options.info
        engine = build(options)
        write_card(options.socket, Card(info))
        asyncio.run(run(engine, socket=options.socket))
    except ApplianceError as exc:
        write_card(asked.socket, Card(info, failure=str(exc)))
        return _complain(exc)
    return 0


def leave(status: int) -> NoReturn:
    """End this process with *status* at once: a thread of the door that meets a half-gone interpreter would abort it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def claim(socket: Path) -> None:
    """Make *socket* free to bind: remove what a dead engine left; raise `Conflict` when a living one listens there."""
    if len(os.fsencode(socket)) > _MAX_SOCKET_PATH:
        raise InvalidInput(
            f"The socket path {socket} is longer than {_MAX_SOCKET_PATH} bytes.", remedy="Use a shorter data directory."
        )
    if not socket.parent.is_dir():
        raise HostUnfit(f"The folder {socket.parent} does not exist.", remedy="`skellig up` makes it.")
    if not socket.exists():
        return
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(str(socket))
        except (ConnectionRefusedError, FileNotFoundError):
            socket.unlink(missing_ok=True)
            return
        except OSError as exc:
            raise Conflict(f"The socket {socket} cannot be used: {exc.strerror or exc}.", socket=str(socket)) from exc
    raise Conflict(
        f"Another engine listens on {socket}.",
        remedy="Stop it (`skellig down`) before starting this one.",
        socket=str(socket),
    )


@asynccontextmanager
async def serving(engine: Engine, *, socket: Path) -> AsyncIterator[None]:
    """Serve *engine* on *socket* for the length of the block, announced by its card; the engine is not started here."""
    claim(socket)
    write_card(socket, Card(engine.info))
    async with listening(engine, socket=socket):
        yield


@asynccontextmanager
async def listening(engine: Engine, *, socket: Path) -> AsyncIterator[None]:
    """Serve *engine* on *socket*, which is free, for the length of the block; announce nothing."""
    server = Server(
        EngineApp(engine),
        uds=socket,
        interface=Interfaces.ASGINL,
        websockets=False,
        log_enabled=False,
    )
    bound = asyncio.Event()
    server.on_startup(bound.set)
    served = asyncio.create_task(server.serve())
    try:
        await _first(bound, _served(served))
        yield
    finally:
        server.stop()  # type: ignore[no-untyped-call]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(served, timeout=5)
        _release(socket)


async def _served(served: "asyncio.Task[None]") -> None:
    await asyncio.shield(served)
    raise EngineUnavailable("The engine's door closed by itself.")


def _release(socket: Path) -> None:
    socket.unlink(missing_ok=True)


async def run(engine: Engine, *, socket: Path) -> None:
    """Serve *engine* on *socket* while it starts and works, until told to stop; raise what keeps it from working."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        async with listening(engine, socket=socket):
            await _first(stopped, engine.start())
            if not stopped.is_set():
                await _first(stopped, _fail_when_broken(engine))
    finally:
        await engine.close()


async def _first(stopped: asyncio.Event, work: Coroutine[object, object, None]) -> None:
    """Wait for *work*, or until told to stop, whichever is first; what *work* raises is raised."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        await working
        return
    working.cancel()
    await asyncio.wait({working})


async def _fail_when_broken(engine: Engine) -> None:
    raise EngineUnavailable(await engine.broken())


def _parser(role: Role, threads: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, description="Serve one model on a unix socket.")
    parser.add_argument("--role", choices=("chat", "embed"), default=role, help="what it is for (default: %(default)s)")
    parser.add_argument("--name", required=True, help="the model's name in the catalogue")
    parser.add_argument("--model", required=True, type=Path, action="append", help="a file of the model; again for each")
    parser.add_argument("--socket", required=True, type=Path, help="the unix socket to serve on")
    parser.add_argument("--threads", type=int, default=threads, help="threads (default: %(default)s)")
    parser.add_argument("--context", type=int, default=0, help="context window in tokens (default: the model's)")
    parser.add_argument("--slots", type=int, default=1, help="requests answered side by side")
    parser.add_argument("--gpu", action="store_true", help="refuse to run without a GPU")
    parser.add_argument("--catalog", type=Path, default=None, help="another catalogue than the packaged one")
    return parser


def _options(asked: argparse.Namespace) -> Options:
    model = Catalog.load(asked.catalog).get(asked.name)
    if model.role != asked.role:
        raise InvalidInput(f"The model {model.name} is for the role {model.role}, not {asked.role}.")
    if min(asked.threads, asked.slots) < 1 or asked.context < 0:
        raise InvalidInput("Threads and slots must be at least 1, context at least 0.")
    files = []
    for file in model.file:
        path = next((given for given in asked.model if given.name == file.name), None)
        if path is None or not path.is_file():
            raise NotFound(
                f"The file {file.name} of the model {model.name} is missing.",
                remedy=f"Get it with `skellig model pull {model.name}`.",
                path=str(path),
            )
        check_file(path, file)
        files.append(path)
    context = asked.context or model.context
    return Options(model, tuple(files), asked.socket, asked.threads, context, asked.slots, asked.gpu)


def _complain(error: ApplianceError) -> int:
    print(error, file=sys.stderr)  # noqa: T201 - the one sentence that a person reads
    return 1
