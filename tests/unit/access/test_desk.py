from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from appliance.access import cookie
from appliance.access.desk import Access
from appliance.access.throttle import Throttle
from appliance.errors import Throttled, Unauthenticated
from tests.support.clock import FakeClock
from tests.unit.access.conftest import Connect


def guess(access: Access, *, address: str = "10.0.0.1") -> None:
    with pytest.raises(Unauthenticated):
        access.login("wrong", address=address)


def test_guessing_gets_slower_and_slower(access: Access, clock: FakeClock) -> None:
    """Ten tries a minute at most."""
    tries = 0
    end = clock.monotonic() + 60
    while clock.monotonic() < end:
        try:
            access.login("wrong", address="10.0.0.1")
        except Throttled as exc:
            clock.advance(float(str(exc.context["retry_after"])))
        except Unauthenticated:
            tries += 1
    assert tries <= 10


def test_one_who_guesses_locks_nobody_else_out(access: Access) -> None:
    for _ in range(4):
        guess(access)
    with pytest.raises(Throttled):
        access.login("wrong", address="10.0.0.1")
    token = access.tokens.issue()
    assert access.login(token, address="10.0.0.2")


def test_the_brake_holds_even_with_the_right_token_and_says_for_how_long(access: Access, clock: FakeClock) -> None:
    token = access.tokens.issue()
    for _ in range(4):
        guess(access)
    with pytest.raises(Throttled) as caught:
        access.login(token, address="10.0.0.1")
    wait = caught.value.context["retry_after"]
    assert isinstance(wait, int)
    clock.advance(wait)
    assert access.login(token, address="10.0.0.1")


def test_many_addresses_together_are_braked_too(clock: FakeClock) -> None:
    throttle = Throttle(clock=clock)
    for number in range(100):
        throttle.check(f"10.0.0.{number}")
        throttle.failed(f"10.0.0.{number}")
    with pytest.raises(Throttled):
        throttle.check("10.0.1.1")
    clock.advance(61)
    throttle.check("10.0.1.1")


def test_wrong_keys_are_braked_but_a_right_one_always_works(access: Access) -> None:
    """A program with an old key must not take the site down for those with good ones."""
    key = access.keys.create("ci")
    refused: list[type[Exception]] = []
    for _ in range(6):
        try:
            access.authenticate(session=None, bearer="skellig_wrong", address="10.0.0.1")
        except (Unauthenticated, Throttled) as exc:
            refused.append(type(exc))
    assert refused[0] is Unauthenticated
    assert refused[-1] is Throttled
    assert access.authenticate(session=None, bearer=key, address="10.0.0.1").name == "ci"
    assert access.login(access.tokens.issue(), address="10.0.0.1")


def test_every_decision_is_in_the_audit_log_without_the_secret(access: Access) -> None:
    with capture_logs() as lines:
        token = access.tokens.issue()
        guess(access)
        session = access.login(token, address="10.0.0.1")
        access.logout(session, address="10.0.0.1")
        key = access.keys.create("ci")
        access.keys.revoke("ci")
        with pytest.raises(Unauthenticated):
            access.authenticate(session=None, bearer="wrong", address="10.0.0.1")
    assert [line["event"] for line in lines] == [
        "token.issued", "login.refused", "login.granted", "logout", "key.created", "key.revoked", "key.refused",
    ]  # fmt: skip
    assert not any(secret in str(lines) for secret in (token, session, key))


def test_the_file_of_a_token_goes_with_its_use_and_with_no_other(connect: Connect, clock: FakeClock, tmp_path: Path) -> None:
    kept = tmp_path / "first-token"
    with closing(Access(connect, clock=clock, token_file=kept)) as access:
        first, second = access.tokens.issue(), access.tokens.issue()
        access.login(first, address="a")  # there is no file yet
        kept.write_text(f"{second}\n")
        access.login(access.tokens.issue(), address="a")
        assert kept.exists()
        access.login(second, address="a")
        assert not kept.exists()


def test_the_cookie_is_bound_to_this_origin_and_out_of_reach_of_scripts() -> None:
    assert cookie.granted("s") == "__Host-skellig=s; Path=/; Secure; HttpOnly; SameSite=Strict"
    assert "Max-Age=0" in cookie.withdrawn()


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ([], None),
        (["a=b"], None),
        (["a=b; __Host-skellig=s"], "s"),
        (["a=b", "__Host-skellig=s; c=d"], "s"),
        (["__Host-skellig="], None),
        (["x__Host-skellig=s"], None),
    ],
)
def test_the_session_is_found_among_other_cookies(headers: list[str], secret: str | None) -> None:
    assert cookie.sent(headers) == secret
