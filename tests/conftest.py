"""What holds for every test: no socket leaves the machine."""

import os
import socket
from collections.abc import Iterator

import pytest

_LOOPBACK = {"127.0.0.1", "::1", "localhost", ""}


def pytest_configure() -> None:
    """Silence onnxruntime before any test module loads it: its telemetry begins with its import."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class NetworkRefused(AssertionError):
    """A test, or code under test, tried to reach beyond loopback."""


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every connection and name look-up beyond loopback, for Python code; CI also runs under `unshare -n`."""
    patch = pytest.MonkeyPatch()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: object) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = address[0] if isinstance(address, tuple) else address
            if host not in _LOOPBACK and not str(host).startswith("127."):
                raise NetworkRefused(f"connect to {host}")
        connect(self, address)  # type: ignore[arg-type]

    def guarded_look_up(host: object, *args: object, **kwargs: object) -> object:
        if host not in _LOOPBACK and host is not None and not str(host).startswith("127."):
            raise NetworkRefused(f"look-up of {host}")
        return look_up(host, *args, **kwargs)  # type: ignore[arg-type]

    patch.setattr(socket.socket, "connect", guarded_connect)
    patch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    patch.undo()
