import pytest
from litestar.datastructures import Headers

from appliance.web.requests import address_of, exact_path, request_id_of, wants_page


@pytest.mark.parametrize(
    ("query", "path"),
    [
        (b"path=a/b.py", "a/b.py"),
        (b"path=caf%C3%A9.py", "café.py"),
        (b"path=caf%E9.py", "caf\udce9.py"),
        (b"path=caf\xc3\xa9.py", "café.py"),
        (b"path=caf\xe9.py", "caf\udce9.py"),
        (b"path=a+b%2B.py", "a b+.py"),
        (b"path=first&path=last", "last"),
        (b"repo=r", ""),
        (b"path=", ""),
        (b"path=a&" + b"x=1&" * 200, ""),
    ],
)
def test_a_path_has_the_bytes_that_were_sent(query: bytes, path: str) -> None:
    assert exact_path(query) == path


@pytest.mark.parametrize(
    ("path", "accept", "wanted"),
    [
        ("/nowhere", "text/html,application/xhtml+xml", True),
        ("/api/v1/nowhere", "text/html", False),
        ("/v1/models", "text/html", False),
        ("/nowhere", "application/json", False),
        ("/nowhere", "*/*", False),
        ("/nowhere", "", False),
        ("/apiary", "text/html", True),
    ],
)
def test_a_page_is_for_browsers_and_never_for_programs(path: str, accept: str, *, wanted: bool) -> None:
    assert wants_page(path, Headers({"accept": accept})) is wanted


def test_who_asks_has_an_address_also_over_a_socket() -> None:
    assert address_of({"client": ("10.0.0.7", 4711)}) == "10.0.0.7"
    assert {address_of({}), address_of({"client": None}), address_of({"client": ("", 0)})} == {"local"}


def test_a_request_that_came_past_the_door_has_no_id() -> None:
    assert (request_id_of({"state": {"request_id": "7f"}}), request_id_of({"state": {}}), request_id_of({})) == (
        "7f",
        "",
        "",
    )
