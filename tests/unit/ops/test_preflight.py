"""Claims about what is refused before anything starts."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.base import durable
from appliance.base.paths import DataPaths
from appliance.config import Web
from appliance.errors import Conflict, HostUnfit
from appliance.ops import preflight


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_names_who_has_it(taken_port: int) -> None:
    with pytest.raises(Conflict, match=rf"Port {taken_port} is taken by .* \(process {os.getpid()}\)") as caught:
        preflight.listening_address(Web(port=taken_port))
    assert "SKELLIG_WEB__PORT" in caught.value.remedy


def test_a_host_that_is_no_address_is_refused_without_a_look_up() -> None:
    """Where there is no network a look-up can hang for minutes: no start-up path may need a name."""
    with pytest.raises(HostUnfit, match=r"not an address"):
        preflight.listening_address(Web(host="skellig.example"))


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(HostUnfit, match=r"Cannot listen on 192\.0\.2\.1"):
        preflight.listening_address(Web(host="192.0.2.1", port=17999))


def test_a_data_directory_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostUnfit, match="cannot be created") as caught:
        preflight.data_directory(DataPaths(tmp_path / "file" / "data")).__enter__()
    assert "--data" in caught.value.remedy


def test_a_data_directory_that_another_appliance_holds_is_refused(tmp_path: Path) -> None:
    paths = DataPaths(tmp_path)
    with durable.exclusive(paths.lock, what="it"), pytest.raises(Conflict, match="holds the data directory"):
        preflight.data_directory(paths).__enter__()


def test_a_socket_that_nobody_answers_is_a_leftover_and_goes(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
    preflight.listening_address(Web(socket=path))
    assert not path.exists()


def test_a_socket_that_somebody_answers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)
        with pytest.raises(Conflict, match="Another program listens"):
            preflight.listening_address(Web(socket=path))


def test_a_file_in_the_place_of_the_socket_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    path.write_text("mine")
    with pytest.raises(Conflict, match="no socket"):
        preflight.listening_address(Web(socket=path))
    assert path.read_text() == "mine"


def test_a_socket_that_refuses_in_another_way_than_for_want_of_a_listener_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "web.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:  # connecting a stream to it fails in another way
        other.bind(str(path))
        with pytest.raises(Conflict, match="is in use"):
            preflight.listening_address(Web(socket=path))
    assert path.exists()
