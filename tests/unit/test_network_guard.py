"""The guard itself: a test that reaches out must not pass in silence."""

import socket
from collections.abc import Callable

import pytest

from tests.conftest import NetworkRefused

OUTSIDE = "192.0.2.1"  # set aside for documentation: nobody is there
TRIES: dict[str, Callable[[socket.socket], object]] = {
    "connect": lambda s: s.connect((OUTSIDE, 9)),
    "connect_ex": lambda s: s.connect_ex((OUTSIDE, 9)),
    "sendto": lambda s: s.sendto(b"x", (OUTSIDE, 9)),
    "sendmsg": lambda s: s.sendmsg([b"x"], [], 0, (OUTSIDE, 9)),
    "getaddrinfo": lambda _: socket.getaddrinfo("example.invalid", 80),
    "gethostbyname": lambda _: socket.gethostbyname("example.invalid"),
}


@pytest.mark.parametrize("way", sorted(TRIES))
def test_no_way_out_is_open(way: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, pytest.raises(Exception, match=r"socket\.") as refused:
        TRIES[way](udp)
    assert type(refused.value).__name__ == NetworkRefused.__name__


def test_loopback_and_unix_sockets_are_open() -> None:
    left, right = socket.socketpair()
    with left, right, socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        left.send(b"x")
        assert right.recv(1) == b"x"
