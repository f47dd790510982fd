from contextlib import closing

import pytest

from appliance.access.desk import Access
from appliance.access.sessions import Sessions
from appliance.errors import Unauthenticated
from tests.support.clock import FakeClock
from tests.unit.access.conftest import Connect

HOUR = 3600


def test_a_session_slides_with_its_use_and_ends_after_seven_days(access: Access, clock: FakeClock) -> None:
    secret = access.sessions.open("administrator")
    for _ in range(16):
        clock.advance(10 * HOUR)
        assert access.sessions.principal(secret).name == "administrator"
    clock.advance(9 * HOUR)
    with pytest.raises(Unauthenticated, match="run out"):
        access.sessions.principal(secret)


def test_a_session_that_is_not_used_ends_after_twelve_hours(access: Access, clock: FakeClock) -> None:
    secret = access.sessions.open("administrator")
    clock.advance(12 * HOUR + 1)
    with pytest.raises(Unauthenticated):
        access.sessions.principal(secret)


def test_setting_the_clock_back_revives_nothing(access: Access, clock: FakeClock) -> None:
    ran_out, from_the_future = access.sessions.open("a"), access.sessions.open("b")
    clock.set(13 * HOUR)
    with pytest.raises(Unauthenticated):
        access.sessions.principal(ran_out)
    clock.set(-23 * HOUR)
    for secret in (ran_out, from_the_future):
        with pytest.raises(Unauthenticated):
            access.sessions.principal(secret)


def test_after_logout_the_session_is_dead_on_the_server(access: Access) -> None:
    """A cookie that was copied before is worth nothing then."""
    mine, other = access.sessions.open("a"), access.sessions.open("b")
    access.logout(mine, address="::1")
    with pytest.raises(Unauthenticated):
        access.sessions.principal(mine)
    assert access.sessions.principal(other).name == "b"


def test_each_session_has_an_id_of_its_own_of_256_bits(access: Access) -> None:
    secrets = {access.sessions.open("a") for _ in range(20)}
    assert len(secrets) == 20
    assert all(len(secret) == 43 for secret in secrets)


def test_sessions_and_keys_survive_a_restart(access: Access, connect: Connect, clock: FakeClock) -> None:
    session, key = access.sessions.open("a"), access.keys.create("ci")
    with closing(Access(connect, clock=clock)) as again:
        assert again.sessions.principal(session).name == "a"
        assert again.keys.principal(key).name == "ci"


def test_all_sessions_can_be_ended(connect: Connect, clock: FakeClock) -> None:
    with closing(Sessions(connect(), clock=clock)) as sessions:
        secrets = [sessions.open("a"), sessions.open("b")]
        assert sessions.end_all() == 2
        for secret in secrets:
            with pytest.raises(Unauthenticated):
                sessions.principal(secret)
